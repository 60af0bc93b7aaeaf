/* The number of items of a run in each state. The exit code depends on these numbers. */
#ifndef CAPTURE_COUNTS_H
#define CAPTURE_COUNTS_H

#include "fetch/fetch.h"

struct capture_counts {
    size_t complete;       /* complete items; in a resumed run also those of the earlier runs */
    size_t damaged;        /* items with a damaged body in the bundle */
    size_t missing;        /* items, services and hosts without any file in the bundle */
    size_t permanent;      /* damaged or missing items, services and hosts for which a retry cannot succeed */
    size_t wrong_requests; /* services and hosts whose request is wrong, such as an unknown kind */
};

/* Counts an item as damaged or missing; ignores a complete item. The caller sets `complete`. */
void counts_add_item(struct capture_counts *c, const struct fetch_item *item);
/* Counts a failed host or service. */
void counts_add_failure(struct capture_counts *c, const struct err *failure);

#endif
