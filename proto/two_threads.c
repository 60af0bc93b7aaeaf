#include "proto/two_threads.h"

#include "base/base.h"
#include "base/banned.h"

/* Below this number of locations, starting a thread costs more time than it saves. */
enum { MIN_LOCATIONS = 300000 };

struct half {
    two_threads_fn *fn;
    void *ctx;
    size_t begin, end;
    struct err err;
    int rc;
};

static void *run_half(void *ctx)
{
    struct half *h = ctx;
    h->rc = h->fn(h->ctx, h->begin, h->end, &h->err);
    return NULL;
}

bool two_threads_are_faster(size_t n_locations, unsigned threads)
{
    if (threads)
        return threads > 1;
    return n_locations > MIN_LOCATIONS && thread_has_second_processor();
}

int two_threads_run(two_threads_fn *fn, void *first, void *second, size_t n_samples, struct err *err)
{
    pthread_t thread;
    if (!second)
        return fn(first, 0, n_samples, err);
    struct half half = {.fn = fn, .ctx = second, .begin = n_samples / 2, .end = n_samples, .err = ERR_INIT};
    if (thread_start(&thread, run_half, &half, err) < 0)
        return -1;
    int rc = fn(first, 0, n_samples / 2, err);
    pthread_join(thread, NULL);
    if (rc == 0 && half.rc < 0) {
        *err = half.err;
        rc = -1;
    }
    return rc;
}
