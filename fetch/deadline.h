/*
 * The deadline of a whole run: a descriptor that becomes readable when it is over, or when the run is
 * cancelled by whoever called it. Everything below watches that one; what it then says of an interruption is
 * put right here.
 */
#ifndef FETCH_DEADLINE_H
#define FETCH_DEADLINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fetch/fetch.h"

struct deadline {
    const struct fetch_grab *grab; /* the caller's */
    int64_t at;                    /* clock_now() */
    int bell[2];                   /* of what is fetched */
    int stop[2];                   /* of the watching thread */
    pthread_t thread;
    atomic_bool over, cancelled; /* by the caller, before it was over */
};

/* *ret: the grab with what the deadline makes of it; `d` must stay where it is until deadline_release. A grab
 * without a deadline is left as it is. */
int deadline_init(struct deadline *d, const struct fetch_grab *grab, struct fetch_grab *ret, struct err *err);
void deadline_release(struct deadline *d);

bool deadline_is_over(struct deadline *d);

/* Says of an interruption by the deadline that it was one; other errors are left, and without a deadline
 * (NULL) all of them. */
void deadline_explain(struct deadline *d, struct err *err);

#endif
