/*
 * A hash table of names and their values. The names may be untrusted, so the hash has a random seed
 * (base/data/finder.h). The table owns neither names nor values; both must outlive it.
 */
#ifndef BASE_DATA_NAMES_H
#define BASE_DATA_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"
#include "base/data/finder.h"
#include "base/data/text.h"

struct names_entry {
    const char *name;
    const void *value;
};

struct names {
    struct names_entry *entries; /* in the order they were added */
    size_t n;
    size_t cap;
    struct finder by_name; /* numbers are indices of `entries` */
    bool ignore_case; /* names that differ only by case are equal, as in DNS; set before the first name */
};

/* Adds a new name; the value must not be NULL. */
int names_add(struct names *t, const char *name, const void *value, struct err *err);

/* Adds a name or replaces its value. */
int names_set(struct names *t, const char *name, const void *value, struct err *err);

/* Returns the value of a name, or NULL if the table does not contain it. */
const void *names_get(const struct names *t, const char *name);

/* Returns whether two names are equal without regard to case: ASCII letters only, in every locale. */
bool names_equal_ignoring_case(const char *a, const char *b);

/* Adds every name, in the order they were added, to the candidates of `near` (nearest_add). */
void names_add_to_nearest(const struct names *t, struct nearest *near);

void names_release(struct names *t);

#endif
