/*
 * Two snapshots of one process: what happened in between. Counters that run since the process began
 * (allocations, contentions, delays) are subtracted, which leaves what was counted in between; what is there
 * at a moment (memory in use, goroutines) has grown, or shrunk.
 *
 * Two profiles of two processes have no growth. That it is another process is told by another build, and by
 * counters that are smaller than they were: those of one process never are.
 */
#ifndef REPORT_GROWTH_H
#define REPORT_GROWTH_H

#include "proto/proto.h"

enum { GROWTH_BEFORE, GROWTH_NOW };

struct growth {
    struct profile *both; /* sample types: n_types before, then the same now. No labels */
    size_t n_types;
    bool rebuilt;       /* they are of two builds */
    int64_t between_ns; /* by the target's own clock; 0: not known */
};

/* Both profiles are changed, and good for nothing but profile_free then. ERR_FAILED: they have other types.
 */
int growth_make(struct growth *g, struct profile *before, struct profile *now, struct err *err);
void growth_release(struct growth *g);

/* Why these are not of one process; NULL: nothing speaks against it. */
const char *growth_restarted(const struct growth *g);

/* Makes `both` the growth alone, in n_types sample types, fit to be drawn; its duration is the time between.
 * Nothing but growth_release is due then. */
void growth_subtract(struct growth *g);

#endif
