#include "cli/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "base/banned.h"

static const char together[] = "it belongs to this program: install all files of one build";

/* A new string: beside the directory of this program, wherever the two are. */
static char *library_path(const char *name, struct err *err)
{
    char *program = program_path();
    char *bin = program ? file_dir(program) : NULL, *prefix = bin ? file_dir(bin) : NULL;
    char *dir = prefix ? file_join(prefix, "lib/profgrab") : NULL, *ret = dir ? file_join(dir, name) : NULL;
    if (!program)
        err_set(err, ERR_NOT_FOUND, "it cannot be told where this program lies: is there a /proc?");
    else if (!ret)
        err_nomem(err);
    free(program);
    free(bin);
    free(prefix);
    free(dir);
    return ret;
}

/* Not by dlopen's `now`: the libraries that come along bind as they would at a start, ours as it was linked.
 */
static const void *load(const char *path, const char *exported, const char *build, struct err *err)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const struct library_mark *mark = handle ? dlsym(handle, exported) : NULL;
    if (!mark) {
        err_set(err, ERR_NOT_FOUND, "cannot load %s", dlerror());
        err_hint(err, together);
        return NULL;
    }
    if (strncmp(mark->build, build, sizeof mark->build) != 0) {
        err_set(err, ERR_UNSUPPORTED, "%s is of another build", path);
        err_hint(err, together);
        return NULL;
    }
    return mark;
}

const void *library_load(const char *name, const char *exported, const char *build, struct err *err)
{
    char *path = library_path(name, err);
    const void *ret = path ? load(path, exported, build, err) : NULL;
    free(path);
    return ret;
}
