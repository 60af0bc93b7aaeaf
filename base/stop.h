/* The condition that ends work on a bundle early: a cancellation, or a limit of CPU time. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/err.h"

struct stop {
    int cancel_fd;      /* readable: the work is cancelled; -1: none */
    int64_t cpu_ms;     /* limit of CPU time; 0: none */
    int64_t cpu_end_ms; /* the value of proc_cpu_ms at the limit */
};

/* Returns a stop condition, and starts counting the CPU time for it. */
struct stop stop_begin(int cancel_fd, int64_t cpu_ms);

/* Returns 0 to continue, or -1 with ERR_CANCELLED or ERR_LIMIT. A call takes about 2 us: call it once for
 * each piece of input of up to some hundred kB. */
int stop_check(const struct stop *s, struct err *err);

/* Returns the remaining CPU time in milliseconds, at least 1; 0: no limit. */
int64_t stop_remaining_ms(const struct stop *s);

/* Returns whether the limit of CPU time is reached. */
bool stop_is_out_of_time(const struct stop *s);

#endif
