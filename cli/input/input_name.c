/* Names of inputs: which file a name means, and its size. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/input.h"
#include "base/banned.h"

static int get_max(uint64_t default_bytes, uint64_t *ret, struct err *err)
{
    const char *value = getenv("PROFGRAB_PPROF_MAX");
    *ret = default_bytes;
    return value && text_to_bytes(value, ret) < 0
               ? err_set(err, ERR_USAGE, "PROFGRAB_PPROF_MAX needs a size such as 8GB, not \"%s\"", value)
               : 0;
}

int input_max_bytes(uint64_t *ret, struct err *err)
{
    return get_max(UINT64_C(4) << 30, ret, err);
}

int input_max_of_unknown_size(uint64_t *ret, struct err *err)
{
    return get_max(INPUT_UNKNOWN_SIZE_MAX, ret, err);
}

int input_hint_unknown_size(struct err *err)
{
    return err_hint(err,
                    "PROFGRAB_PPROF_MAX=8GB accepts larger profiles from a URL or a pipe; a file needs no "
                    "such setting");
}

bool input_is_stdin(const char *name)
{
    return strcmp(name, "-") == 0;
}

char *input_bundle_of(const char *name, const char **ret_member)
{
    struct stat st;
    for (const char *colon = strchr(name, ':'); colon; colon = strchr(colon + 1, ':')) {
        char *path = strndup(name, (size_t)(colon - name));
        if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            *ret_member = colon + 1;
            return path;
        }
        free(path);
    }
    return NULL;
}

bool input_exists(const char *name)
{
    const char *member;
    struct stat st;
    if (input_is_stdin(name) || stat(name, &st) == 0)
        return true;
    char *bundle = input_bundle_of(name, &member);
    free(bundle);
    return bundle != NULL;
}

const char *input_title(const char *name)
{
    const char *member = NULL;
    char *bundle = file_exists(name) ? NULL : input_bundle_of(name, &member);
    const char *title = bundle ? name + (file_base(bundle) - bundle) : file_base(name);
    free(bundle);
    return title;
}

uint64_t input_size(const char *name)
{
    const char *member;
    if (input_is_stdin(name))
        return fd_bytes_on_disk(STDIN_FILENO);
    char *bundle = file_exists(name) ? NULL : input_bundle_of(name, &member);
    uint64_t bytes = file_bytes_on_disk(bundle ? bundle : name);
    free(bundle);
    return bytes;
}
