/* Ends work on a bundle early: at a signal, or when it has taken too much processor time. */
#ifndef BUNDLE_STOP_H
#define BUNDLE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct stop {
    int cancel_fd;   /* readable: the user ends it; or -1 */
    int64_t cpu_ms;  /* processor time that it may take; 0: any */
    int64_t cpu_end; /* by proc_cpu_ms */
};

/* The time counts from now on. */
struct stop stop_new(int cancel_fd, int64_t cpu_ms);

/* 0: work may go on. ERR_CANCELLED; ERR_LIMIT. A call takes about 2 us: callers check once for each piece of
 * the input, of at most some hundred kB. */
int stop_check(const struct stop *s, struct err *err);

/* Processor time that is left, in milliseconds, at least 1; 0: there is no bound. */
int64_t stop_left(const struct stop *s);

/* Whether the time is over. */
bool stop_is_late(const struct stop *s);

#endif
