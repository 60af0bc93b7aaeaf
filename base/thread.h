/* Threads: started with every signal blocked (signals belong to main) and a small stack. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"

/* Bytes of stack: a thousand hosts are a thousand threads. Sanitizers need more and get the default. */
#define THREAD_STACK (256u * 1024)

/* Whether a second thread could run at the same time: two processors are ours. */
bool thread_pays(void);

int thread_start(pthread_t *ret, void *(*run)(void *), void *ctx, struct err *err);

#endif
