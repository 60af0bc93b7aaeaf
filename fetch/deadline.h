/*
 * The deadline of a whole run: a descriptor that becomes readable at the deadline, or when the caller cancels
 * the run. Every wait in this folder also ends when this descriptor becomes readable. deadline_explain
 * corrects the errors of these waits.
 */
#ifndef FETCH_DEADLINE_H
#define FETCH_DEADLINE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fetch/fetch.h"

struct deadline {
    const struct fetch_job *grab; /* the caller's */
    int64_t at;                   /* the deadline (clock_now) */
    int wake_pipe[2];             /* readable at the deadline; the fetching threads poll it */
    int stop_pipe[2];             /* ends the watching thread */
    pthread_t thread;
    atomic_bool over, cancelled; /* `cancelled`: by the caller, before the deadline */
};

/* Sets *ret to the grab with the descriptor of the deadline as its cancel_fd. `d` must not move until
 * deadline_release. A grab without a deadline is copied unchanged. */
int deadline_init(struct deadline *d, const struct fetch_job *grab, struct fetch_job *ret, struct err *err);
void deadline_release(struct deadline *d);

bool deadline_is_over(struct deadline *d);

/* Names the deadline in an error that the deadline caused. Leaves other errors unchanged, and all errors if
 * there is no deadline (`d` is NULL). */
void deadline_explain(struct deadline *d, struct err *err);

#endif
