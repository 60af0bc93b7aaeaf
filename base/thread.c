#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#include "base/banned.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMALL_STACK 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SMALL_STACK 0
#endif
#endif
#ifndef SMALL_STACK
#define SMALL_STACK 1
#endif

int thread_start(pthread_t *ret, void *(*run)(void *), void *ctx, struct err *err)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        return err_nomem(err);
    if (SMALL_STACK)
        pthread_attr_setstacksize(&attr, THREAD_STACK);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(ret, &attr, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        errno = rc;
        return err_sys(err, "cannot start a thread");
    }
    return 0;
}

bool thread_has_second_processor(void)
{
    cpu_set_t ours;
    return sched_getaffinity(0, sizeof ours, &ours) == 0 && CPU_COUNT(&ours) > 1;
}
