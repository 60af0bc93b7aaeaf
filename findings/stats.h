/* Statistics of samples: shares, their errors, and which function explains a difference best. */
#ifndef FINDINGS_STATS_H
#define FINDINGS_STATS_H

#include "proto/proto.h"

/* Returns a part of a whole; 0 if the whole is 0. */
static inline double stats_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}
/* Returns one standard error of a share of n samples. It is not 0 for a share of 0, because one more sample
 * could change that share. */
double stats_error(double share, double n);
/* Returns the sampling rate of a heap profile: the mean number of bytes for one sample. */
double stats_heap_rate(const struct profile *p);
/* Returns a computed figure as an integer, within the range of int64_t. */
int64_t stats_whole(double v);
/* Returns the growth in an hour, from the growth within a time; 0 if the time is unknown. */
double stats_per_hour(double grown, int64_t within_ns);
/* Returns whether a share of n samples is at least a percentage after subtracting two standard errors. */
bool stats_above(double share, uint64_t n, double percent);

/* Functions whose difference is at least this part of the largest difference count as equal; only one is
 * reported. */
#define STATS_NEARLY 0.8
struct stats_candidate {
    bool runtime;
    double covers; /* a share, or a value */
    struct str name;
};
/* Returns whether a explains more than b. A function outside the runtime explains more than one of the
 * runtime. Otherwise the one that covers less explains more. */
bool stats_explains_more(const struct stats_candidate *a, const struct stats_candidate *b);

#endif
