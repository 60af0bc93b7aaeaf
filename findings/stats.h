/* Statistics of samples: shares, their standard errors, and the function that explains a difference best. */
#ifndef FINDINGS_STATS_H
#define FINDINGS_STATS_H

#include "proto/proto.h"

/* Returns part / whole; 0 if the whole is not positive. */
static inline double stats_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* Returns the standard error of a share of n samples. It is above 0 even for a share of 0, because one more
 * sample could change that share. */
double stats_standard_error(double share, double n);
/* Returns the sampling rate of a heap profile: the mean number of bytes for one sample. */
double stats_heap_rate(const struct profile *profile);
/* Converts a number to an integer, limited to the range of int64_t. */
int64_t stats_to_integer(double v);
/* Converts the growth within a time to the growth per hour; 0 if the time is unknown. */
double stats_per_hour(double grown, int64_t within_ns);
/* Returns whether a share of n samples is at least a percentage after subtracting two standard errors. */
bool stats_is_above(double share, uint64_t n, double percent);

/* Functions whose differences are at least this part of the largest one count as equal: only one of them is
 * reported. */
#define STATS_NEARLY_EQUAL 0.8
struct stats_candidate {
    bool is_runtime;
    double covers; /* the function's share or value: cum, or own */
    struct str name;
};
/* Returns whether a explains a difference better than b: a function outside the runtime is better than one of
 * the runtime. Otherwise the one that covers less is better, because it is closer to the cause. */
bool stats_is_better(const struct stats_candidate *a, const struct stats_candidate *b);

#endif
