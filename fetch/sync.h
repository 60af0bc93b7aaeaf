/*
 * `sync`: the timed profiles of all processes begin at one instant. The time stamps in the profiles show how
 * far each start was from the instant.
 */
#ifndef FETCH_SYNC_H
#define FETCH_SYNC_H

#include <pthread.h>

#include "fetch/barrier.h"
#include "fetch/fetch.h"
#include "fetch/plan.h"

struct sync {
    struct barrier *barrier; /* NULL: each process begins when it is ready */
    pthread_mutex_t mutex;   /* guards the members below */
    int64_t *abs_skews;      /* absolute skews from good clocks, in milliseconds */
    size_t n, cap;
};

/* Prepares for this number of processes. Does nothing without `sync` in the grab. */
int sync_init(struct sync *s, const struct fetch_job *grab, size_t processes, struct err *err);
void sync_release(struct sync *s);

/* The common start of an item. */
struct sync_start {
    int64_t at;  /* clock_now(); 0: not synchronised */
    int64_t utc; /* the same instant in UTC milliseconds */
    bool late;
};

/* Records how far a fetched item missed the instant, and adds a finding if it was late. `clock_skew_ms`: of
 * its target's clock, 0 if unknown. */
void sync_record(struct sync *s, const struct sync_start *start, const struct plan_item *plan,
                 int64_t clock_skew_ms, struct fetch_item *item);

/* Sets the sync_ members of *ret; nothing without `sync`. */
void sync_summarize(struct sync *s, struct fetch_outcome *ret);

#endif
