/*
 * Values with units, as pprof shows them: 1.50kB, 230ms, 0.5%.
 *
 * Source: google/pprof internal/measurement.
 */
#ifndef REPORT_MEASURE_H
#define REPORT_MEASURE_H

#include "proto/proto.h"

#define MEASURE_TEXT 128

/*
 * The value in another unit, which may be "minimum" or "auto": the largest in which it is at least 1.
 * *ret_unit: the unit's usual name; empty if it says nothing ("count"). A unit nobody knows is left as it is.
 */
double measure_scale(int64_t value, struct str from, struct str to, struct str *ret_unit);

/* Whether values of these units can be compared: bytes with bytes, times with times. */
bool measure_compatible(struct str a, struct str b);

/* "1.50kB": the value scaled, at most two digits behind the point, "0" without a unit. Cut at the end of dst.
 */
void measure_label(char dst[MEASURE_TEXT], int64_t value, struct str from, struct str to);

/* " 5.03%": of the total, always of at least five characters and the sign. */
void measure_percentage(char dst[MEASURE_TEXT], int64_t value, int64_t total);

/* Numbers of a hostile profile may run over: these do then what Go's do, in two's complement. */
int64_t measure_abs(int64_t v);
static inline int64_t measure_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}
/* v itself if there is nothing to divide by. */
int64_t measure_divide(int64_t v, int64_t by);

#endif
