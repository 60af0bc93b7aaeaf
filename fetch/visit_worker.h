/*
 * One item of a service in progress, for the files that fetch it: visit_fetch.c runs the items in order or
 * side by side, visit_attempts.c retries one item, visit_meet.c waits for the other targets.
 */
#ifndef FETCH_VISIT_WORKER_H
#define FETCH_VISIT_WORKER_H

#include "fetch/visit.h"

/* One item in progress; only the thread that fetches it uses this. */
struct worker {
    struct visit *visit;
    struct transfer *transfer;
    size_t at; /* index in the plan */
    const char *beside;
    const char *waiting; /* the reason for waiting; NULL: it does not wait */
    bool meeting;        /* it waits for the other targets */
    struct sync_start start;
    bool beside_others;     /* the starter of this group has waited for the other targets */
    unsigned sent;          /* the number of requests */
    unsigned counts;        /* the number of the request whose result is kept */
    int64_t way_ms;         /* the one-way time of a request */
    bool session_gone;      /* it was lost, and reconnecting failed */
    struct err unreachable; /* why there is no connection; ERR_NONE: there is one */
};

const struct plan_item *visit_planned(const struct worker *w);

/* Reports the worker's state to the observer: item_context's `progress`, with the worker as ctx. */
void visit_tell_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms);

/* Describes the result in *ret in every case. The caller releases it. */
void visit_attempts(struct worker *w, struct fetch_item *ret);

/* Waits at the barrier and sets w->start and w->way_ms; starts at once if waiting fails. */
void visit_meet(struct worker *w);

/* Whether item i begins together with the other targets' items. */
bool visit_meets(const struct visit *v, size_t i);

/* Waits for the common start and counts the request: item_context's `ready`, with the worker as ctx. */
void visit_await_start(void *ctx);

#endif
