/*
 * Limits of processor time for checking bodies. A few bytes of gzip inflate to gigabytes, so a hostile
 * service could keep a capture busy for minutes.
 *
 * A body may take 2 s plus 0.25 s for each MB received so far. All bodies of one process of the target may
 * take 10 s plus 0.1 s for each MB, but no more than 60 s. Real profiles inflate 3 to 10 times and take 0.02
 * to 0.07 s for each MB, with sanitizers 0.03 to 0.1 s.
 */
#ifndef FETCH_BODY_CHECK_LIMIT_H
#define FETCH_BODY_CHECK_LIMIT_H

#include <pthread.h>
#include <stdint.h>

#include "base/base.h"

/* The limit for all bodies of one process. Several threads may check its bodies at once. */
struct check_limit {
    pthread_mutex_t mutex; /* guards the members below */
    uint64_t bytes;        /* received */
    int64_t used_ns;       /* processor time */
};

void check_limit_init(struct check_limit *limit);
void check_limit_release(struct check_limit *limit);

/* The time of one body. Starts as {.limit = ...}; without a limit, the functions do nothing. */
struct check_time {
    struct check_limit *limit; /* NULL: none */
    uint64_t bytes;
    int64_t used_ns;
    int64_t counted_ns; /* the thread's processor time up to which used_ns counts it */
};

/* Call it before checking the next `bytes` bytes of the body. */
void check_time_begin(struct check_time *time, uint64_t bytes);

/* Counts the processor time of this thread since the last call of either function. Returns 0, or -1 with
 * ERR_FAILED if a limit is exceeded. */
int check_time_count(struct check_time *time, struct err *err);

#endif
