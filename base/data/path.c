#include "base/data/path.h"

#include <string.h>

#include "base/banned.h"

bool path_is_clean(struct str path)
{
    size_t begin = 0;
    if (path.n == 0)
        return false;
    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/')
            continue;
        size_t n = i - begin;
        bool is_dots =
            (n == 1 && path.p[begin] == '.') || (n == 2 && path.p[begin] == '.' && path.p[begin + 1] == '.');
        if (is_dots || (n == 0 && i > 0))
            return false;
        begin = i + 1;
    }
    return true;
}

/* Removes the last element. Returns false if it is ".." or there is none. root_length: 1 for an absolute
 * path, else 0. */
static bool remove_last(const char *path, size_t *n, size_t root_length)
{
    size_t at = *n;
    while (at > root_length && path[at - 1] != '/')
        at--;
    if (*n == root_length || (*n - at == 2 && path[at] == '.' && path[at + 1] == '.'))
        return false;
    *n = at > root_length ? at - 1 : root_length;
    return true;
}

size_t path_clean(struct str path, char *to)
{
    size_t n = 0, root_length = path.n && path.p[0] == '/';
    if (root_length)
        to[n++] = '/';
    for (size_t begin = 0; begin < path.n;) {
        const char *slash = memchr(path.p + begin, '/', path.n - begin);
        size_t end = slash ? (size_t)(slash - path.p) : path.n, length = end - begin;
        bool is_empty_or_dot = length == 0 || (length == 1 && path.p[begin] == '.');
        bool is_dot_dot = length == 2 && path.p[begin] == '.' && path.p[begin + 1] == '.';
        if (!is_empty_or_dot && !(is_dot_dot && (remove_last(to, &n, root_length) || root_length))) {
            if (n > root_length)
                to[n++] = '/';
            memmove(to + n, path.p + begin, length);
            n += length;
        }
        begin = end + 1;
    }
    if (n == 0)
        to[n++] = '.';
    return n;
}

struct str path_base(struct str path)
{
    if (path.n == 0)
        return (struct str){".", 1};
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t at = path.n; at > 0; at--)
        if (path.p[at - 1] == '/' && path.n > 1)
            return (struct str){path.p + at, path.n - at};
    return path;
}

const char *colon_list_begin(const char *text)
{
    return text && *text ? text : NULL;
}

bool colon_list_next(const char **list, struct str *ret)
{
    if (!*list)
        return false;
    size_t n = strcspn(*list, ":");
    *ret = (struct str){*list, n};
    *list = (*list)[n] ? *list + n + 1 : NULL;
    return true;
}
