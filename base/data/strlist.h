/* A growing list that owns its strings. Zero-initialise; strlist_release accepts an empty list. */
#ifndef BASE_DATA_STRLIST_H
#define BASE_DATA_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"

struct strlist {
    char **items;
    size_t n;
    size_t cap;
};

/* Appends a copy of s; strlist_addn copies only its first n bytes. */
int strlist_add(struct strlist *l, const char *s, struct err *err);
int strlist_addn(struct strlist *l, const char *s, size_t n, struct err *err);

/* Splits `s` at commas and appends the parts without the blanks around them. An empty part is ERR_USAGE. */
int strlist_split(struct strlist *l, const char *s, struct err *err);

bool strlist_has(const struct strlist *l, const char *s);
void strlist_release(struct strlist *l);

#endif
