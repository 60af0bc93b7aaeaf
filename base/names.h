/*
 * A table of names with a value for each, found by hash (base/finder.h). The names come from inventories,
 * sources of services and bundles, so the hash has the finder's random seed. The table owns neither names nor
 * values; both must outlive it.
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/finder.h"
#include "base/text.h"

struct names_entry {
    const char *name;
    const void *value;
};

struct names {
    struct names_entry *entries; /* in the order they were added */
    size_t n;
    size_t cap;
    struct finder by_name; /* numbers are indices of `entries` */
    bool fold; /* set before the first is added: names that differ only by case are one, as in DNS */
};

/* Adds a name that is not there yet; the value must not be NULL. */
int names_add(struct names *t, const char *name, const void *value, struct err *err);

/* The same for a name that may be there: its value is replaced. */
int names_set(struct names *t, const char *name, const void *value, struct err *err);

/* The value behind a name, NULL if it is not there. */
const void *names_get(const struct names *t, const char *name);

/* Whether two names are one where case does not count: ASCII's letters, whatever the locale. */
bool names_fold_equal(const char *a, const char *b);

/* Offers every name to `near`, in the order they were added. */
void names_offer(const struct names *t, struct nearest *near);

void names_release(struct names *t);

#endif
