#include "inventory/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

#define SYSTEM_FILE "/etc/profgrab/inventory.yaml"

/* Anything but "there is none" counts as there: loading it then says what is wrong with it. */
static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static int named(const char *path, const char *by, char **ret, struct err *err)
{
    if (!is_there(path))
        return err_set(err, ERR_USAGE, "there is no inventory %s (from %s)", path, by);
    char *copy = strdup(path);
    if (!copy)
        return err_nomem(err);
    *ret = copy;
    return 0;
}

/* The user's own file; *ret is NULL when no directory is known. Relative directories are ignored (XDG Base
 * Directory Specification): they would mean the working directory. */
static int user_file(char **ret, struct err *err)
{
    const char *set = getenv("XDG_CONFIG_HOME");
    char *path = NULL;
    if (set && *set == '/') {
        path = file_join(set, "profgrab/inventory.yaml");
        if (!path)
            return err_nomem(err);
    } else {
        path = file_expand_home("~/.config/profgrab/inventory.yaml");
    }
    if (path && *path != '/') {
        free(path);
        path = NULL;
    }
    *ret = path;
    return 0;
}

int inventory_find(const char *option, char **ret, struct err *err)
{
    const char *variable = getenv("PROFGRAB_INVENTORY");
    char *path = NULL;
    if (option)
        return named(option, "-i", ret, err);
    if (variable && *variable)
        return named(variable, "PROFGRAB_INVENTORY", ret, err);
    if (user_file(&path, err) < 0)
        return -1;
    if (path && is_there(path)) {
        *ret = path;
        return 0;
    }
    free(path);
    path = NULL;
    if (is_there(SYSTEM_FILE) && !(path = strdup(SYSTEM_FILE)))
        return err_nomem(err);
    *ret = path;
    return 0;
}
