/*
 * One item of a service that is being fetched, for the files that fetch it: service_run_items.c runs the
 * items in order or side by side, item_run_retry.c retries one item, and item_run.c makes the items of all
 * targets start at the same time.
 */
#ifndef FETCH_ITEM_RUN_H
#define FETCH_ITEM_RUN_H

#include "fetch/service_run.h"

/* One item in progress; only the thread that fetches it uses this. */
struct item_run {
    struct service_run *run;
    struct transfer *transfer;
    size_t index;                 /* index in the plan */
    const char *concurrent_kinds; /* the kinds fetched at the same time; NULL: none */
    const char *waiting;          /* the reason for waiting; NULL: it does not wait */
    bool at_barrier;              /* it waits for the other targets */
    struct sync_start start;
    bool group_has_waited; /* items side by side: one thread has waited at the barrier for all of them */
    unsigned n_requests;   /* requests sent so far */
    unsigned kept_attempt; /* the number of the request whose result is kept */
    int64_t send_ahead_ms; /* how long before start.at the request is sent, so that it arrives at start.at */
    bool session_unrecoverable; /* the session was lost, and reconnecting failed */
    struct err unreachable;     /* why there is no connection; ERR_NONE: there is one */
};

const struct plan_item *item_run_planned(const struct item_run *r);

/* Reports the item's state to the observer. The callback `progress` of item_context; ctx: the item_run. */
void item_run_report_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms);

/* Fetches the item, with retries. Describes the result in *ret in every case; the caller releases it. */
void item_run_with_retries(struct item_run *r, struct fetch_item *ret);

/* Waits at the barrier and sets r->start and r->send_ahead_ms. If waiting fails, the item starts at once. */
void item_run_join_barrier(struct item_run *r);

/* Returns whether item i begins together with the other targets' items. */
bool service_run_starts_together(const struct service_run *run, size_t i);

/* Waits for the common start and counts the request. The callback `ready` of item_context; ctx: item_run. */
void item_run_await_start(void *ctx);

#endif
