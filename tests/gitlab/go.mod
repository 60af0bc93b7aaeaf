module gitlab

go 1.19
