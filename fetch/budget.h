/*
 * The limits for one process: fetched bytes, the time for which it profiles itself, and this machine's
 * processor time for checking its bodies. All services at one destination are one process and share a budget.
 * The plan leaves out items whose estimate does not fit; the budget counts the received bytes.
 */
#ifndef FETCH_BUDGET_H
#define FETCH_BUDGET_H

#include <pthread.h>

#include "fetch/fetch.h"
#include "fetch/body/check_limit.h"
#include "fetch/body/index.h"
#include "fetch/plan.h"

struct budget {
    const struct fetch_job *grab;
    struct check_limit check; /* processor time for checking bodies */
    pthread_mutex_t mutex;    /* guards the members below */
    uint64_t received;        /* bytes */
    uint64_t expected;        /* estimated bytes of the current plan's items */
    int64_t profiled_ms;      /* the profiling time of the planned items and of repeated attempts */
};

void budget_init(struct budget *b, const struct fetch_job *grab);
void budget_release(struct budget *b);

/* Goes through the items in the plan's order, and leaves out each item that does not fit in the rest of the
 * budget. Items that an earlier run has fetched cost nothing. */
void budget_apply(struct budget *b, struct plan *plan, const struct index_page *index);

/* Counts received bytes: -1 with err if the budget has fewer bytes left. */
int budget_count_bytes(struct budget *b, uint64_t n, struct err *err);

/* Counts one more attempt that profiles the process for `timed_ms`, 0 for a snapshot: -1 with err if the
 * budget has no time left for it. */
int budget_count_attempt(struct budget *b, int64_t timed_ms, struct err *err);

/* Returns 0 if the budget has bytes left, else -1 with err. */
int budget_check(struct budget *b, struct err *err);

#endif
