#include "base/data/path.h"

#include <string.h>

#include "base/banned.h"

bool path_is_clean(struct str s)
{
    size_t begin = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && s.p[i] != '/')
            continue;
        size_t n = i - begin;
        bool dots = (n == 1 && s.p[begin] == '.') || (n == 2 && s.p[begin] == '.' && s.p[begin + 1] == '.');
        if (dots || (n == 0 && i > 0))
            return false;
        begin = i + 1;
    }
    return true;
}

/* Removes the last element. Returns false if that is ".." or missing. */
static bool remove_last(const char *to, size_t *n, size_t root)
{
    size_t at = *n;
    while (at > root && to[at - 1] != '/')
        at--;
    if (*n == root || (*n - at == 2 && to[at] == '.' && to[at + 1] == '.'))
        return false;
    *n = at > root ? at - 1 : root;
    return true;
}

size_t path_clean(struct str s, char *to)
{
    size_t n = 0, root = s.n && s.p[0] == '/';
    if (root)
        to[n++] = '/';
    for (size_t begin = 0; begin < s.n;) {
        const char *slash = memchr(s.p + begin, '/', s.n - begin);
        size_t end = slash ? (size_t)(slash - s.p) : s.n, length = end - begin;
        bool same = length == 0 || (length == 1 && s.p[begin] == '.');
        bool parent = length == 2 && s.p[begin] == '.' && s.p[begin + 1] == '.';
        if (!same && !(parent && (remove_last(to, &n, root) || root))) {
            if (n > root)
                to[n++] = '/';
            memmove(to + n, s.p + begin, length);
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

const char *path_list_begin(const char *text)
{
    return text && *text ? text : NULL;
}

bool path_list_next(const char **list, struct str *ret)
{
    if (!*list)
        return false;
    size_t n = strcspn(*list, ":");
    *ret = (struct str){*list, n};
    *list = (*list)[n] ? *list + n + 1 : NULL;
    return true;
}
