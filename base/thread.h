/* Threads: started with every signal blocked (signals belong to main) and a small stack. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

#include "base/err.h"

/* Bytes of stack: a thousand hosts are a thousand threads. Sanitizers need more and get the default. */
#define THREAD_STACK (256u * 1024)

int thread_start(pthread_t *ret, void *(*run)(void *), void *ctx, struct err *err);

#endif
