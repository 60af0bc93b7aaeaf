/* Samples read or counted by two threads, each its half, where that pays. */
#ifndef BASE_HALVES_H
#define BASE_HALVES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Does the samples from begin up to end, for what ctx is. */
typedef int halves_fn(void *ctx, size_t begin, size_t end, struct err *err);

/* Whether samples with so many locations on their stacks are worth two threads. threads: 1 or 2 decides it;
 * 0: more than a few hundred thousand are, where two processors are ours. */
bool halves_pay(size_t n_locations, unsigned threads);

/* Calls fn for the first half with one ctx and for the second with the other, at the same time; with NULL as
 * the other, for all with the one. The first half's failure is the one that is told. */
int halves_run(halves_fn *fn, void *first, void *second, size_t n_samples, struct err *err);

#endif
