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
 * Converts a value to another unit, or, if `to` is "minimum" or "auto", to the largest unit in which the
 * value is at least 1. *ret_unit is the unit's usual name; it is empty for "count" and similar units. A value
 * with an unknown unit is not changed.
 */
double measure_scale(int64_t value, struct str from, struct str to, struct str *ret_unit);

/* Returns whether two units are of one type, such as bytes or times. */
bool measure_are_compatible(struct str a, struct str b);

/* Writes the scaled value as "1.50kB": at most two digits after the point; "0" without a unit. Cuts a text
 * that does not fit into dst. */
void measure_label(char dst[MEASURE_TEXT], int64_t value, struct str from, struct str to);

/* Writes the share of the total as " 5.03%": at least five characters and the percent sign. */
void measure_percentage(char dst[MEASURE_TEXT], int64_t value, int64_t total);

/* Arithmetic in two's complement, like Go's, because numbers of a hostile profile may overflow. */
int64_t measure_abs(int64_t v);
static inline int64_t measure_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
/* Returns v unchanged if `by` is 0. */
int64_t measure_divide(int64_t v, int64_t by);

#endif
