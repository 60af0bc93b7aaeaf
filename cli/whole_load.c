/* Getting the rest of the program, for the file that is started. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"
#include "cli/whole.h"
#include "base/banned.h"

static const char together[] = "it belongs to this program: install both files of one build";

/* lib/profgrab/profgrab.so beside the directory of this program, wherever the two are. A new string. */
static char *library_path(struct err *err)
{
    char *program = program_path();
    char *bin = program ? file_dir(program) : NULL, *prefix = bin ? file_dir(bin) : NULL;
    char *ret = prefix ? file_join(prefix, "lib/profgrab/profgrab.so") : NULL;
    if (!program)
        err_set(err, ERR_NOT_FOUND, "it cannot be told where this program lies: is there a /proc?");
    else if (!ret)
        err_nomem(err);
    free(program);
    free(bin);
    free(prefix);
    return ret;
}

/* Not by dlopen's `now`: the libraries that come along bind as they would at a start, ours as it was linked.
 * It stays until the process ends. */
static const struct whole *load(const char *path, struct err *err)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    const struct whole_library *library = handle ? dlsym(handle, "profgrab_library") : NULL;
    if (!library) {
        err_set(err, ERR_NOT_FOUND, "cannot load %s", dlerror());
        err_hint(err, together);
        return NULL;
    }
    if (strncmp(library->build, PROFGRAB_BUILD, sizeof library->build) != 0) {
        err_set(err, ERR_UNSUPPORTED, "%s is of another build", path);
        err_hint(err, together);
        return NULL;
    }
    return library->get(err);
}

const struct whole *whole_get(struct err *err)
{
    char *path = library_path(err);
    const struct whole *ret = path ? load(path, err) : NULL;
    free(path);
    return ret;
}
