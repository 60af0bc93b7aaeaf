/*
 * One item of a service that is being fetched, for the files that fetch it: service_run_fetch.c runs the
 * items in order or side by side, service_run_attempts.c retries one item, and service_run_worker.c makes the
 * items of all targets start at the same time.
 */
#ifndef FETCH_SERVICE_RUN_WORKER_H
#define FETCH_SERVICE_RUN_WORKER_H

#include "fetch/service_run.h"

/* One item in progress; only the thread that fetches it uses this. */
struct worker {
    struct service_run *run;
    struct transfer *transfer;
    size_t index;                 /* index in the plan */
    const char *concurrent_kinds; /* the kinds fetched at the same time; NULL: none */
    const char *waiting;          /* the reason for waiting; NULL: it does not wait */
    bool at_barrier;              /* it waits for the other targets */
    struct sync_start start;
    bool group_has_waited; /* items side by side: one thread has waited for the other targets on behalf of all
                            */
    unsigned n_requests;   /* requests sent so far */
    unsigned kept_attempt; /* the number of the request whose result is kept */
    int64_t send_ahead_ms; /* how long before start.at the request is sent, so that it arrives at start.at */
    bool session_unrecoverable; /* the session was lost, and reconnecting failed */
    struct err unreachable;     /* why there is no connection; ERR_NONE: there is one */
};

const struct plan_item *worker_planned(const struct worker *w);

/* Reports the worker's state to the observer. The callback `progress` of item_context; ctx: the worker. */
void worker_report_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms);

/* Fetches the item, with retries. Describes the result in *ret in every case; the caller releases it. */
void service_run_attempts(struct worker *w, struct fetch_item *ret);

/* Waits at the barrier and sets w->start and w->send_ahead_ms. If waiting fails, the item starts at once. */
void worker_join_barrier(struct worker *w);

/* Returns whether item i begins together with the other targets' items. */
bool service_run_starts_together(const struct service_run *run, size_t i);

/* Waits for the common start and counts the request. The callback `ready` of item_context; ctx: the worker.
 */
void worker_await_start(void *ctx);

#endif
