/*
 * What an item will cost before it is asked for: rough, from its kind and what the index page counts. Good
 * enough to say that a capture takes kilobytes or gigabytes, and to keep one within a budget; what really
 * comes may be a tenth of it or ten times as much, most of all of a trace, whose size is how busy the process
 * is.
 */
#ifndef FETCH_ESTIMATE_H
#define FETCH_ESTIMATE_H

#include <stdint.h>

#include "fetch/index.h"
#include "fetch/plan.h"

/* Bytes of its body as it comes, never more than the item may have at all. `index` is NULL where there is
 * none: then the least that such a body has. */
uint64_t estimate_bytes(const struct plan_item *item, const struct index_page *index);

/* How many records the index counts of its profile; -1 where it does not. */
int64_t estimate_records(const struct plan_item *item, const struct index_page *index);

#endif
