#include "base/data/strlist.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/array.h"
#include "base/banned.h"

int strlist_addn(struct strlist *l, const char *s, size_t n, struct err *err)
{
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, err) < 0)
        return -1;
    char *copy = strndup(s, n);
    if (!copy)
        return err_nomem(err);
    l->items[l->n++] = copy;
    return 0;
}

int strlist_add(struct strlist *l, const char *s, struct err *err)
{
    return strlist_addn(l, s, strlen(s), err);
}

int strlist_split(struct strlist *l, const char *s, struct err *err)
{
    for (const char *p = s;; p++) {
        size_t n = strcspn(p, ",");
        const char *from = p + strspn(p, " ");
        const char *to = p + n;
        while (to > from && to[-1] == ' ')
            to--;
        if (from >= to)
            return err_set(err, ERR_USAGE, "empty entry in the list \"%s\"", s);
        if (strlist_addn(l, from, (size_t)(to - from), err) < 0)
            return -1;
        p += n;
        if (!*p)
            return 0;
    }
}

bool strlist_has(const struct strlist *l, const char *s)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], s) == 0)
            return true;
    return false;
}

void strlist_release(struct strlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (struct strlist){0};
}
