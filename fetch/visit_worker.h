/*
 * One item of a visit under way, for the files that fetch it: visit_fetch.c takes one after the other or side
 * by side, visit_attempts.c goes on until it has come or there is nothing more to try, visit_meet.c waits for
 * the other targets.
 */
#ifndef FETCH_VISIT_WORKER_H
#define FETCH_VISIT_WORKER_H

#include "fetch/visit.h"

/* One item under way, by the thread that fetches it. */
struct worker {
    struct visit *visit;
    struct transfer *transfer;
    size_t at; /* of the plan */
    const char *beside;
    const char *waiting; /* for what; NULL: it does not */
    bool meeting;        /* it waits for the other targets */
    struct sync_start start;
    bool beside_others;     /* whoever began all of them has waited for the other targets */
    unsigned sent;          /* how often it was asked for */
    unsigned counts;        /* which of these times brought what there is of it */
    int64_t way_ms;         /* of a request */
    bool session_gone;      /* it was lost, and another could not be opened */
    struct err unreachable; /* why there is no connection to ask over; ERR_NONE: there is */
};

const struct plan_item *visit_planned(const struct worker *w);

/* Tells the observer what the worker in `ctx` is doing, as item_context's `progress`. */
void visit_tell_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms);

/* The caller releases *ret, which says in every case what came of it. */
void visit_attempts(struct worker *w, struct fetch_item *ret);

/* Waits for the others, of whom who cannot begins at once: w->start and w->way_ms are what comes of it. */
void visit_meet(struct worker *w);

/* Whether item i is to begin when the others' does. */
bool visit_meets(const struct visit *v, size_t i);

/* Waits until it is time to send what is to begin in step with others, and counts what is sent:
 * item_context's `ready`, whose ctx is the worker. */
void visit_await_start(void *ctx);

#endif
