/*
 * Compares the profiles of two sides, all of one kind: those of the target processes and those of the
 * baseline processes. The profiles of a side are merged. Each stack has one value for each side.
 *
 * Sides can have different sizes. Therefore values are scaled by a factor for each sample type and side. The
 * basis of the factor is one of these:
 *
 * - share: the part of the side's total. For CPU time, and for counters that began when the process started,
 *   because the start of the process is unknown.
 *
 * - second: the amount per second of a process. For counters of profiles that are differences over time.
 *
 * - process: the amount per process. For values of one moment, such as memory in use and goroutines, unless
 *   the profiles are differences over time.
 */
#ifndef FINDINGS_COMPARISON_H
#define FINDINGS_COMPARISON_H

#include "proto/proto.h"

enum comparison_side { COMPARISON_TARGET, COMPARISON_BASELINE };

enum comparison_basis { COMPARISON_SHARE, COMPARISON_SECOND, COMPARISON_PROCESS };

/* A profile's further sample types are ignored. */
#define COMPARISON_MAX_TYPES 8
/* parts[i] has the merged profiles of 2^i processes. The last part has those of any number of processes. */
#define COMPARISON_PARTS 48

struct comparison_profiles {
    size_t n_processes;  /* processes whose profiles are merged */
    size_t n_left_out;   /* processes whose profiles are missing; the caller sets it */
    size_t n_timed;      /* processes whose profiles have a duration */
    int64_t duration_ns; /* the sum of these durations */
    struct profile *parts[COMPARISON_PARTS];
};

/* Begins as {0}. All members are read-only. */
struct comparison {
    /* Both sides merged, without labels; NULL until comparison_finish, and if a side is empty. Its sample
     * types are the n_types of the target, then the same n_types of the baseline. */
    struct profile *all;
    size_t n_types, default_type;
    struct comparison_profiles sides[2]; /* by enum comparison_side */
};

/* Adds the profile of a process. Changes the profile: afterwards the caller may only free it. ERR_FAILED: its
 * sample types are missing or differ from those of the other profiles, or the side has more than 250,000
 * stacks or ten million frames. */
int comparison_add(struct comparison *comparison, enum comparison_side side, struct profile *profile,
                   struct err *err);
/* Merges both sides. Call it once, after all comparison_add. */
int comparison_finish(struct comparison *comparison, struct err *err);
void comparison_release(struct comparison *comparison);

/* Returns whether both sides have profiles. */
bool comparison_has_both(const struct comparison *comparison);

/* Returns the index of a side's sample type in `all`. `type` is below n_types. */
static inline size_t comparison_column(const struct comparison *comparison, size_t type,
                                       enum comparison_side side)
{
    return side * comparison->n_types + type;
}

/* Returns the basis of a sample type, by its name and by the durations of the profiles. */
enum comparison_basis comparison_basis_of(const struct comparison *comparison, size_t type);
/* Returns the factor that makes a value comparable; 0 for a side without values. */
double comparison_scale(const struct comparison *comparison, size_t type, enum comparison_side side);

#endif
