/*
 * Compares two snapshots of one process. The difference of a counter (allocations, contentions, delays) is
 * the activity between the snapshots. The difference of a value of one moment (memory in use, goroutines) is
 * its growth.
 *
 * Snapshots of two processes are not compared. Another build ID proves another process. Smaller counters
 * prove it too, because the counters of one process only grow (apart from sampling errors).
 */
#ifndef FINDINGS_GROWTH_H
#define FINDINGS_GROWTH_H

#include "proto/proto.h"

enum { GROWTH_BEFORE, GROWTH_NOW };

struct growth {
    /* Both snapshots merged, without labels. Its sample types are the n_types before, then the same n_types
     * now. */
    struct profile *merged;
    size_t n_types;
    bool is_rebuilt;    /* the snapshots have different build IDs */
    int64_t between_ns; /* time between the snapshots by the target's clock; 0: unknown */
};

/* Merges two profiles, which the caller has pruned (report_prune). Changes them: afterwards the caller may
 * only free them. ERR_FAILED: their sample types differ. */
int growth_make(struct growth *growth, struct profile *before, struct profile *now, struct err *err);
void growth_release(struct growth *growth);

/* Returns the evidence that the process was restarted in between, or NULL. */
const char *growth_find_restart(const struct growth *growth);

/* Replaces the values of `merged` by the growth: n_types sample types remain. The duration becomes the time
 * between the snapshots. Only growth_release may follow. */
void growth_subtract(struct growth *growth);

#endif
