/*
 * What one process may be asked for: bytes, and time for which it profiles itself. A budget is shared by all
 * services at one destination, which are one process. What does not fit by estimate is left out of the plan;
 * what really comes is counted.
 */
#ifndef FETCH_BUDGET_H
#define FETCH_BUDGET_H

#include <pthread.h>

#include "fetch/fetch.h"
#include "fetch/index.h"
#include "fetch/plan.h"

struct budget {
    const struct fetch_grab *grab;
    pthread_mutex_t mutex; /* of the rest */
    uint64_t taken;        /* bytes that came */
    uint64_t expected;     /* bytes of what was planned and has not come */
    int64_t profiled_ms;   /* planned */
};

void budget_init(struct budget *b, const struct fetch_grab *grab);
void budget_release(struct budget *b);

/* Leaves out of the plan, in its order, what does not fit in what is left. What is there already costs
 * nothing. */
void budget_apply(struct budget *b, struct plan *plan, const struct index_page *index);

/* Counts bytes that came: -1 with err if there are more than the budget has. */
int budget_take(struct budget *b, uint64_t n, struct err *err);

/* Counts an attempt more at what profiles the process for that long, 0 for what does not: -1 with err if
 * there is no time left for it. */
int budget_repeat(struct budget *b, int64_t timed_ms, struct err *err);

/* Whether there is anything left to take; if not, err says so. */
int budget_check(struct budget *b, struct err *err);

#endif
