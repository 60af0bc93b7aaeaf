/* Shortens the names of source files: removes the parts that depend on the machine that compiled them. */
#include <string.h>

#include "pprof/filter.h"
#include "pprof/source_path.h"
#include "base/banned.h"

/* The position after `/NAME/` in a path, or NULL. */
static const char *find_after(struct str path, struct str name)
{
    for (size_t at = 0; at + name.n + 2 <= path.n; at++)
        if (path.p[at] == '/' && path.p[at + name.n + 1] == '/' &&
            memcmp(path.p + at + 1, name.p, name.n) == 0)
            return path.p + at + name.n + 2;
    return NULL;
}

/* The length of a prefix of the path, with its slash; 0 if it is no prefix. */
static size_t prefix_length(struct str path, struct str trim)
{
    bool slash = trim.n && trim.p[trim.n - 1] == '/';
    if (path.n < trim.n + !slash || memcmp(path.p, trim.p, trim.n) != 0 || (!slash && path.p[trim.n] != '/'))
        return 0;
    return trim.n + !slash;
}

struct str source_trim(struct str path, const char *trim_path, const char *source_path)
{
    static const char usual[] = "/proc/self/cwd/./:/proc/self/cwd/";
    struct str piece;
    const char *rest = path_list(trim_path) ? NULL : path_list(source_path);
    while (path_list_next(&rest, &piece)) {
        const char *found = find_after(path, path_base(piece));
        if (found)
            return (struct str){found, path.n - (size_t)(found - path.p)};
    }
    for (int i = 0; i < 2; i++)
        for (rest = i ? usual : path_list(trim_path); path_list_next(&rest, &piece);) {
            size_t n = prefix_length(path, piece);
            if (n)
                return (struct str){path.p + n, path.n - n};
        }
    return path;
}

int trim_paths(struct job *j)
{
    struct profile *p = j->profile;
    for (size_t i = 0; i < p->n_functions; i++) {
        struct str whole = profile_str(p, p->functions[i].filename);
        struct str cut = source_trim(whole, j->settings->trim_path, j->settings->source_path);
        if (cut.n != whole.n && profile_intern(p, cut.p, cut.n, &p->functions[i].filename, j->err) < 0)
            return -1;
    }
    return 0;
}
