module ailing

go 1.19
