#include "findings/stats.h"

#include <math.h>

#include "base/banned.h"

/* Go's default sampling rate of the heap, for profiles that do not give one. */
#define DEFAULT_HEAP_RATE 524288

bool stats_is_above(double share, uint64_t n, double percent)
{
    if (n == 0)
        return false;
    return share - 2 * sqrt(share * (1 - share) / (double)n) >= percent / 100;
}

double stats_standard_error(double share, double n)
{
    double p = (share * n + 1) / (n + 2);
    return sqrt(p * (1 - p) / n);
}

double stats_heap_rate(const struct profile *profile)
{
    return profile->period > 0 ? (double)profile->period : DEFAULT_HEAP_RATE;
}

int64_t stats_to_integer(double v)
{
    return v >= 0x1p63 ? INT64_MAX : v > -0x1p63 ? (int64_t)v : INT64_MIN;
}

double stats_per_hour(double grown, int64_t within_ns)
{
    return within_ns > 0 ? grown * 3600e9 / (double)within_ns : 0;
}

bool stats_is_better(const struct stats_candidate *a, const struct stats_candidate *b)
{
    if (a->is_runtime != b->is_runtime)
        return !a->is_runtime;
    return a->covers != b->covers ? a->covers < b->covers : str_compare(a->name, b->name) < 0;
}
