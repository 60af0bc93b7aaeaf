/* The items of a run, counted by their states. How a run ends follows from these counts alone. */
#ifndef CAPTURE_COUNTS_H
#define CAPTURE_COUNTS_H

#include "fetch/fetch.h"

struct capture_counts {
    size_t complete;  /* complete items; in a resumed run also those of the earlier runs */
    size_t damaged;   /* items with a damaged body in the bundle */
    size_t missing;   /* items, services and hosts without any file in the bundle */
    size_t permanent; /* of damaged and missing: a retry cannot succeed, so resume cannot fetch them */
    size_t unusable;  /* of missing: the request itself is wrong, such as an unknown kind */
};

/* Counts an item that is not complete. The caller sets `complete`. */
void counts_add_item(struct capture_counts *c, const struct fetch_item *item);
/* Counts a host or a service that failed. */
void counts_add_failure(struct capture_counts *c, const struct err *failure);

#endif
