/* Profiles in memory, for profile_relabel. */
#ifndef TESTS_UNIT_PROFILES_H
#define TESTS_UNIT_PROFILES_H

#include "proto/proto.h"

struct bytes {
    const void *p;
    size_t n;
    size_t times; /* that they were given */
};

/* A profile_source_fn: in pieces that end in the middle of things. */
static inline int give_bytes(void *ctx, gunzip_sink_fn *take, void *take_ctx, struct err *err)
{
    struct bytes *b = ctx;
    b->times++;
    for (size_t at = 0, n; at < b->n; at += n) {
        n = b->n - at < 7 ? b->n - at : 7;
        if (take(take_ctx, (const char *)b->p + at, n, err) < 0)
            return -1;
    }
    return 0;
}

#endif
