/* Finds programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "base/banned.h"

bool proc_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *proc_find_program(const char *name)
{
    const char *at = getenv("PATH");
    for (size_t n; at && *at; at += n + (at[n] == ':')) {
        char *path = NULL;
        n = strcspn(at, ":");
        if (*at != '/' || asprintf(&path, "%.*s/%s", (int)n, at, name) < 0)
            continue;
        if (proc_is_program(path))
            return path;
        free(path);
    }
    return NULL;
}
