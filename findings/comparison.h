/*
 * Compares two sides for one kind of profile: the target processes and the baseline processes. The profiles
 * of a side are merged. Each stack has one value for each side.
 *
 * Sides can have different sizes. Therefore values are scaled by a factor for each sample type and side. The
 * basis of the factor is one of:
 *
 * - share: the part of the side's total. For CPU time, and for counters since the unknown start of a process.
 *
 * - second: the amount in each second of a process. For counters of profiles that are differences over time.
 *
 * - process: the amount in each process. For values of one moment, such as memory in use and goroutines,
 * unless the profiles are differences.
 */
#ifndef FINDINGS_COMPARISON_H
#define FINDINGS_COMPARISON_H

#include "proto/proto.h"

enum comparison_side { COMPARISON_TARGET, COMPARISON_BASELINE };

enum comparison_basis { COMPARISON_SHARE, COMPARISON_SECOND, COMPARISON_PROCESS };

/* Further sample types are ignored. */
#define COMPARISON_MAX_TYPES 8
/* Part i merges 2^i processes; the last part merges any number. */
#define COMPARISON_PARTS 48

struct comparison_half {
    size_t processes;
    size_t left_out;     /* number of processes of this side whose profiles are missing; the caller sets it */
    size_t timed;        /* processes whose profiles have a duration */
    int64_t duration_ns; /* the sum of these durations */
    struct profile *parts[COMPARISON_PARTS]; /* merged profiles: of one, two, four, … processes */
};

/* Begins as {0}. All members are read-only. */
struct comparison {
    struct profile *all; /* sample types: n_types of the target, then the same of the baseline; no labels;
                            NULL until comparison_finish */
    size_t n_types, default_type;
    struct comparison_half of[2];
};

/* Adds the profile of a process. The caller may only free the profile afterwards. ERR_FAILED: its sample
 * types differ from those of the other profiles, or the side has too many stacks (250,000). */
int comparison_add(struct comparison *s, enum comparison_side side, struct profile *p, struct err *err);
/* Merges both sides. Call it once, after all comparison_add. */
int comparison_finish(struct comparison *s, struct err *err);
void comparison_release(struct comparison *s);

/* Returns whether both sides have profiles. */
bool comparison_has_both(const struct comparison *s);

/* Returns the sample type in `all` of a type and side. */
static inline size_t comparison_column(const struct comparison *s, size_t type, enum comparison_side side)
{
    return side * s->n_types + type;
}

enum comparison_basis comparison_basis_of(const struct comparison *s, size_t type);
/* Returns the factor that makes a value comparable; 0 for a side without values. */
double comparison_scale(const struct comparison *s, size_t type, enum comparison_side side);

#endif
