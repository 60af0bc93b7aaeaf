/*
 * Values with units, as pprof shows them: 1.50kB, 230ms, 0.5%.
 *
 * Source: google/pprof internal/measurement.
 */
#ifndef PROTO_MEASURE_H
#define PROTO_MEASURE_H

#include "base/base.h"

#define MEASURE_TEXT 128

/*
 * Converts a value to another unit, or for "minimum" and "auto" to the largest unit in which it is at least
 * 1. *ret_unit is the unit's usual name, or empty for units such as "count". A value with an unknown unit
 * stays unchanged.
 */
double measure_scale(int64_t value, struct str from, struct str to, struct str *ret_unit);

/* Returns whether two units are of one type, such as bytes or times. */
bool measure_compatible(struct str a, struct str b);

/* Writes the scaled value as "1.50kB": at most two digits after the point; "0" without a unit. Cuts at the
 * end of dst. */
void measure_label(char dst[MEASURE_TEXT], int64_t value, struct str from, struct str to);

/* Writes " 5.03%" of the total: at least five characters and the sign. */
void measure_percentage(char dst[MEASURE_TEXT], int64_t value, int64_t total);

/* Arithmetic in two's complement, like Go's, because numbers of a hostile profile may overflow. */
int64_t measure_abs(int64_t v);
static inline int64_t measure_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
/* Returns v itself if `by` is 0. */
int64_t measure_divide(int64_t v, int64_t by);

#endif
