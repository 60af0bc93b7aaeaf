/* Iterates over the stacks of a profile, for the formats of other tools. The value of a stack is the sum of
 * the samples that have exactly this stack. */
#ifndef PPROF_STACKS_H
#define PPROF_STACKS_H

#include "pprof/graph/graph.h"
#include "pprof/report.h"

struct stacks {
    struct report *report;
    struct graph g; /* a call tree */
    uint32_t *path; /* the current stack: nodes from the root on */
    size_t n_path, cap_path;
    int64_t value;
};

/* Makes the call tree. Call stacks_release even after a failure. */
int stacks_init(struct stacks *s, struct report *report);
void stacks_release(struct stacks *s);
/* Advances to the next stack whose value is not 0; *at starts at 0. Sets path and value, which is divided by
 * -divide_by. Returns 1, 0 at the end, -1 on failure. */
int stacks_next(struct stacks *s, size_t *at);

#endif
