/*
 * Counts by function over the chosen samples of a profile. Functions of the same name are counted as one, as
 * in pprof's reports by function.
 */
#ifndef FINDINGS_TALLY_H
#define FINDINGS_TALLY_H

#include "findings/functions.h"
#include "proto/proto.h"

#define TALLY_NONE UINT32_MAX

/* The counts of one function name in a profile. */
struct tally_count {
    int64_t flat, cum;
    int64_t own;     /* samples whose innermost function of the program is this one */
    int64_t objects; /* like own, in the sample type that counts objects; 0 without one */
    size_t seen;     /* the last sample that was counted, from 1 */
};

#define STACK_FILTER_LISTS 64

/* For each sample: the lists of functions of which the sample's stack has one. Computed once for all rules.
 */
struct stack_filter {
    const struct profile *profile;
    unsigned char *origins; /* by the string of the function's name */
    const char *const *lists[STACK_FILTER_LISTS];
    size_t n_lists;
    uint64_t *of; /* by sample, one bit for each list; NULL: no lists */
};

/* Matches the n lists, and those of findings/functions.h. A list may be NULL. Call stack_filter_release even
 * after a failure. */
int stack_filter_init(struct stack_filter *s, const struct profile *p, const char *const *const *lists,
                      size_t n, struct err *err);
void stack_filter_release(struct stack_filter *s);

struct tally {
    const struct stack_filter *filter;
    const struct profile *profile;
    size_t type, counts;    /* sample types: of the values, and of their number or TALLY_NONE */
    int64_t total, objects; /* of the counted samples */
    int64_t in_runtime;     /* the part of total whose leaves are the runtime's */
    int64_t profilers;      /* the part of total that the profilers spent, see below */
    struct tally_count *of; /* by the string of the name */
};

/*
 * Samples that pass through any function of `in` and none of `out`, anywhere on the stack. NULL `in` means
 * all samples, NULL `out` excludes none.
 *
 * A sample with a profiler on its stack is the cost of taking profiles, so no function of the service gets
 * it. No `in` matches such a sample. All of it counts for one function, the outermost profiler
 * (runtime/pprof.StartCPUProfile). Only tally_top_profilers returns that function.
 */
struct tally_choice {
    const char *const *in, *const *out;
};

/* Sample types: of the values, and of their number or TALLY_NONE. */
struct tally_types {
    size_t values, counts;
};

/* Counts the chosen samples. Negative values count as zero. Call tally_release even after a failure. */
int tally_make(struct tally *t, const struct stack_filter *s, struct tally_types types,
               const struct tally_choice *choice, struct err *err);
/* Returns the sum of the chosen samples' values. */
int64_t tally_sum(const struct tally *like, const struct tally_choice *choice);
void tally_release(struct tally *t);

/* Returns the index of the sample type with that name and unit, or TALLY_NONE. */
size_t tally_type(const struct profile *p, const char *type, const char *unit);

/* Returns the function with the largest own or flat (of origin at_least or later), as a string; TALLY_NONE if
 * all are 0. */
uint32_t tally_top_own(const struct tally *t);
uint32_t tally_top_profilers(const struct tally *t);
uint32_t tally_top_flat(const struct tally *t, enum functions_origin at_least);
/* Among the program's functions that cover at least half, returns the one with the smallest cum; else the one
 * with the largest cum. */
uint32_t tally_top_cum(const struct tally *t);

#endif
