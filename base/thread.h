/* Threads. Each starts with all signals blocked (the main thread handles signals) and a small stack. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/data/err.h"

/* Stack size in bytes. A thousand hosts need a thousand threads. Builds with sanitizers need more and use the
 * default size. */
#define THREAD_STACK (256u * 1024)

/* Returns whether this process may use a second processor. */
bool thread_has_second_processor(void);

/* Starts a thread; the caller joins it. */
int thread_start(pthread_t *ret, void *(*run)(void *), void *ctx, struct err *err);

#endif
