/*
 * Two snapshots of one process. Counters since the start of the process (allocations, contentions, delays)
 * are subtracted, which gives the activity between the snapshots. For values of one moment (memory in use,
 * goroutines) the difference is the growth.
 *
 * Two different processes have no growth. A different build, or smaller counters, prove a different process:
 * the counters of one process never shrink.
 */
#ifndef FINDINGS_GROWTH_H
#define FINDINGS_GROWTH_H

#include "proto/proto.h"

enum { GROWTH_BEFORE, GROWTH_NOW };

struct growth {
    struct profile *both; /* sample types: n_types before, then the same now; no labels */
    size_t n_types;
    bool rebuilt;       /* the two have different builds */
    int64_t between_ns; /* time between the snapshots by the target's clock; 0: unknown */
};

/* The caller prunes both profiles first (report_prune). Changes both profiles. The caller may only free them
 * afterwards. ERR_FAILED: their sample types differ. */
int growth_make(struct growth *g, struct profile *before, struct profile *now, struct err *err);
void growth_release(struct growth *g);

/* Returns the evidence that the process was restarted, or NULL. */
const char *growth_restarted(const struct growth *g);

/* Replaces the values of `both` by the growth, with n_types sample types. The duration becomes the time
 * between the snapshots. Only growth_release may follow. */
void growth_subtract(struct growth *g);

#endif
