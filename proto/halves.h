/* Splits work on samples between two threads if that is faster. */
#ifndef PROTO_HALVES_H
#define PROTO_HALVES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* Processes the samples from begin to before end. */
typedef int halves_fn(void *ctx, size_t begin, size_t end, struct err *err);

/* Returns whether to use two threads for samples whose stacks have n_locations in total. `threads` 1 or 2
 * forces the result. 0 chooses two threads for more than a few hundred thousand locations, if two processors
 * are available. */
bool halves_are_faster(size_t n_locations, unsigned threads);

/* Calls fn for the first half with `first` and for the second half with `second`, in parallel. With a NULL
 * `second`, calls fn once for all samples with `first`. If both halves fail, returns the first half's error.
 * */
int halves_run(halves_fn *fn, void *first, void *second, size_t n_samples, struct err *err);

#endif
