/*
 * Sums the chosen samples of a profile by function. Functions of the same name are counted as one, as in
 * pprof's reports by function.
 */
#ifndef FINDINGS_TALLY_H
#define FINDINGS_TALLY_H

#include "findings/functions.h"
#include "proto/proto.h"

#define TALLY_NONE UINT32_MAX

/* The counts of one function name in a profile. */
struct tally_count {
    int64_t flat, cum;
    int64_t own;        /* of the samples on whose stack this is the program's innermost function */
    int64_t objects;    /* like own, in the sample type that counts objects; 0 without one */
    size_t last_sample; /* number of the last counted sample with this function, from 1 */
};

#define STACK_FILTER_LISTS 64

/* Stores for each sample which lists of function names (findings/functions.h) match a function on its stack.
 * It is made once for all rules. */
struct stack_filter {
    const struct profile *profile;
    unsigned char *origins; /* enum functions_origin; the index is that of the function's name in the
                               profile's strings */
    const char *const *lists[STACK_FILTER_LISTS];
    size_t n_lists;
    uint64_t *matches; /* by sample: one bit for each list */
};

/* Matches the samples with the n lists and with those of findings/functions.h. A NULL list is ignored. Call
 * stack_filter_release even after a failure. */
int stack_filter_init(struct stack_filter *filter, const struct profile *profile,
                      const char *const *const *lists, size_t n, struct err *err);
void stack_filter_release(struct stack_filter *filter);

struct tally {
    const struct stack_filter *filter;
    const struct profile *profile;
    size_t value_type;           /* the sample type of the values */
    size_t count_type;           /* the sample type that counts objects or events, or TALLY_NONE */
    int64_t total, objects;      /* of the counted samples */
    int64_t in_runtime;          /* the part of total in samples whose leaf is a function of the runtime */
    int64_t profilers;           /* the part of total that the profilers spent, see struct tally_choice */
    struct tally_count *by_name; /* the index is that of the function's name in the profile's strings */
};

/*
 * Chooses the samples with a function of `in` and none of `out` anywhere on the stack. NULL `in` chooses all
 * samples, NULL `out` excludes none.
 *
 * A sample with a profiler on its stack is the cost of taking profiles. A list in `in` never chooses such a
 * sample; NULL `in` does. Such a sample counts for the outermost profiler on its stack
 * (runtime/pprof.StartCPUProfile), not for functions of the service. Only tally_top_profiler returns a
 * profiler.
 */
struct tally_choice {
    const char *const *in, *const *out;
};

/* The value_type and count_type of a tally. */
struct tally_types {
    size_t values, counts;
};

/* Counts the chosen samples. Negative values count as zero. Call tally_release even after a failure. */
int tally_make(struct tally *tally, const struct stack_filter *filter, struct tally_types types,
               const struct tally_choice *choice, struct err *err);
/* Returns the sum of the chosen samples' values, in the profile and sample type of `tally`. */
int64_t tally_sum(const struct tally *tally, const struct tally_choice *choice);
void tally_release(struct tally *tally);

/* Returns the index of the sample type with that name and unit, or TALLY_NONE. */
size_t tally_find_type(const struct profile *profile, const char *type, const char *unit);

/* Returns the function with the largest own, except the profilers: the index of its name in the profile's
 * strings, or TALLY_NONE if all values are 0. The next three functions also return such an index. */
uint32_t tally_top_own(const struct tally *tally);
/* Returns the profiler with the largest own. */
uint32_t tally_top_profiler(const struct tally *tally);
/* Returns the function with the largest flat, of those whose origin is `at_least` or stands after it in enum
 * functions_origin. */
uint32_t tally_top_flat(const struct tally *tally, enum functions_origin at_least);
/* Returns the program's function with the smallest cum of at least half of the total; if there is none, the
 * one with the largest cum. */
uint32_t tally_top_cum(const struct tally *tally);

#endif
