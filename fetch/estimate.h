/*
 * Estimates the size of an item before its request: roughly, from its kind and the counts of the index page.
 * The estimate distinguishes kilobytes from gigabytes, which is enough for a budget. The received body may be
 * ten times smaller or larger, most of all a trace, whose size depends on the load of the process.
 */
#ifndef FETCH_ESTIMATE_H
#define FETCH_ESTIMATE_H

#include <stdint.h>

#include "fetch/body/index.h"
#include "fetch/plan.h"

/* Returns the estimated bytes of the item's body, never more than the item's limit. `index` is NULL if the
 * service has none: then returns the smallest size of such a body. */
uint64_t estimate_bytes(const struct plan_item *item, const struct index_page *index);

/* Returns the number of records that the index lists for the item's profile; -1: not known. */
int64_t estimate_records(const struct plan_item *item, const struct index_page *index);

#endif
