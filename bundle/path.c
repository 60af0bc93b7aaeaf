#include "bundle/path.h"

#include <string.h>

#include "base/banned.h"

enum { MAX_PATH = 1024, MAX_COMPONENT = 255 };

/* Returns the fault in the component of n bytes at p, or NULL. */
static const char *find_component_fault(const char *p, size_t n)
{
    if (n == 0)
        return "an empty component";
    if (n > MAX_COMPONENT)
        return "too long a component";
    if (p[0] == '.' && (n == 1 || (n == 2 && p[1] == '.')))
        return n == 1 ? "a component \".\"" : "a component \"..\"";
    for (size_t i = 0; i < n; i++)
        if (p[i] < ' ' || p[i] > '~' || p[i] == '\\')
            return "a character that is not printable ASCII, or a backslash";
    return NULL;
}

static const char *find_path_fault(const char *path)
{
    if (path[0] == '/')
        return "a slash at its beginning";
    if (strlen(path) > MAX_PATH)
        return "too many bytes";
    int depth = 0;
    for (const char *p = path;; p++) {
        if (++depth > PATH_MAX_DEPTH)
            return "too many components";
        size_t n = strcspn(p, "/");
        const char *why = find_component_fault(p, n);
        if (why)
            return why;
        p += n;
        if (!*p)
            return NULL;
    }
}

int path_check(const char *path, struct err *err)
{
    const char *why = find_path_fault(path);
    if (!why)
        return 0;
    char shown[128];
    return err_set(err, ERR_FAILED, "the path \"%s\" is not safe: it has %s",
                   text_printable(shown, sizeof shown, path, strlen(path)), why);
}

int path_add_length(size_t *total, const char *path, struct err *err)
{
    *total += strlen(path);
    return *total <= BUNDLE_MAX_PATHS
               ? 0
               : err_set(err, ERR_FAILED, "the paths of all members have more than %d bytes",
                         BUNDLE_MAX_PATHS);
}

size_t path_count_new_directories(const char *previous, const char *path)
{
    size_t same = 0, n = 0;
    for (size_t i = 0; previous && path[i] && previous[i] == path[i]; i++)
        if (path[i] == '/')
            same = i + 1;
    for (const char *p = path + same; (p = strchr(p, '/')); p++)
        n++;
    return n;
}
