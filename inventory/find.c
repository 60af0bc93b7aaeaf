#include "inventory/inventory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/banned.h"

#define SYSTEM_FILE "/etc/profgrab/inventory.yaml"

/* Returns whether the file may exist. Any error but "no such file" counts as existing; loading then reports
 * the error. */
static bool may_exist(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

static int use_named(const char *path, const char *origin, char **ret, struct err *err)
{
    if (!may_exist(path))
        return err_set(err, ERR_USAGE, "there is no inventory %s (from %s)", path, origin);
    char *copy = strdup(path);
    if (!copy)
        return err_nomem(err);
    *ret = copy;
    return 0;
}

/* Builds the path of the user's own file. *ret is NULL if its directory is unknown. Ignores relative
 * directories (XDG Base Directory Specification), because they would mean the working directory. */
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
        return use_named(option, "-i", ret, err);
    if (variable && *variable)
        return use_named(variable, "PROFGRAB_INVENTORY", ret, err);
    if (user_file(&path, err) < 0)
        return -1;
    if (path && may_exist(path)) {
        *ret = path;
        return 0;
    }
    free(path);
    path = NULL;
    if (may_exist(SYSTEM_FILE) && !(path = strdup(SYSTEM_FILE)))
        return err_nomem(err);
    *ret = path;
    return 0;
}
