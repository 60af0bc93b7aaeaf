/* Ends work on a bundle early: at a signal, or at a limit of processor time. */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct stop {
    int cancel_fd;   /* readable: the user cancels; or -1 */
    int64_t cpu_ms;  /* limit of processor time; 0: none */
    int64_t cpu_end; /* as in proc_cpu_ms */
};

/* Starts counting the time. */
struct stop stop_new(int cancel_fd, int64_t cpu_ms);

/* 0: continue. Else ERR_CANCELLED or ERR_LIMIT. A call takes about 2 us: call it once for each piece of
 * input, at most some hundred kB. */
int stop_check(const struct stop *s, struct err *err);

/* Returns the remaining processor time in milliseconds, at least 1; 0: no limit. */
int64_t stop_left(const struct stop *s);

/* Returns whether the processor time is used up. */
bool stop_is_late(const struct stop *s);

#endif
