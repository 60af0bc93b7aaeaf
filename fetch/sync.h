/*
 * `sync`: the timed profiles of all processes begin at one instant, and how far they missed it is measured by
 * what the profiles say themselves.
 */
#ifndef FETCH_SYNC_H
#define FETCH_SYNC_H

#include <pthread.h>

#include "fetch/barrier.h"
#include "fetch/fetch.h"
#include "fetch/plan.h"

struct sync {
    struct barrier *barrier; /* NULL: everyone begins when it is ready */
    pthread_mutex_t mutex;   /* of the rest */
    int64_t *sizes;          /* of the skews that count, in milliseconds */
    size_t n, cap;
};

/* For so many processes, if the grab is to be in step. */
int sync_init(struct sync *s, const struct fetch_grab *grab, size_t processes, struct err *err);
void sync_release(struct sync *s);

/* The instant an item was to begin at. */
struct sync_start {
    int64_t at;  /* clock_now(); 0: it is not in step */
    int64_t utc; /* the same instant */
    bool late;
};

/* Says of an item that came how far it missed the instant. `clock_skew_ms`: of its target's clock, 0 where it
 * is not known. Its verdict, if it is late, is there too. */
void sync_note(struct sync *s, const struct sync_start *start, const struct plan_item *plan,
               int64_t clock_skew_ms, struct fetch_item *item);

void sync_sum_up(struct sync *s, struct fetch_outcome *ret);

#endif
