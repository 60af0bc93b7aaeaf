/* Splits work on samples between two threads if that is faster. */
#ifndef PROTO_TWO_THREADS_H
#define PROTO_TWO_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* Processes the samples from begin to before end. */
typedef int two_threads_fn(void *ctx, size_t begin, size_t end, struct err *err);

/* Returns whether two threads process samples faster than one. `n_locations`: the sum of the depths of all
 * their stacks. `threads`: 1 or 2 forces the result; 0 chooses two threads for more than 300,000 locations,
 * if two processors are available. */
bool two_threads_are_faster(size_t n_locations, unsigned threads);

/* Calls fn for the first half with `first` and for the second half with `second`, in parallel. With a NULL
 * `second`, calls fn once for all samples with `first`. If both fail, returns the first half's error. */
int two_threads_run(two_threads_fn *fn, void *first, void *second, size_t n_samples, struct err *err);

#endif
