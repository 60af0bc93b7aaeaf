/* Redaction of the labels of a profile in memory. */
#ifndef TESTS_UNIT_PROFILES_H
#define TESTS_UNIT_PROFILES_H

#include "bundle/redact/redact.h"
#include "proto/proto.h"

struct bytes {
    const void *p;
    size_t n;
    size_t times; /* how often feed_bytes has read them */
};

/* A profile_source_fn. It passes pieces of seven bytes, so that fields are cut. */
static inline int feed_bytes(void *ctx, gunzip_sink_fn *sink, void *sink_ctx, struct err *err)
{
    struct bytes *b = ctx;
    b->times++;
    for (size_t at = 0, n; at < b->n; at += n) {
        n = b->n - at < 7 ? b->n - at : 7;
        if (sink(sink_ctx, (const char *)b->p + at, n, err) < 0)
            return -1;
    }
    return 0;
}

static inline bool is_label_replaced(void *ctx, const char *key, size_t n)
{
    return redact_is_secret_label(ctx, key, n);
}

static inline int add_to_buf(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "it", err);
}

/* Redacts the labels of an encoded profile like bundle_copy. Adds the new profile to `ret`, or nothing
 * if no label changes. *ret_labels is the number of changed labels. */
static inline int relabel(struct bytes *in, struct buf *ret, uint64_t *ret_labels, struct err *err)
{
    struct profile_relabelled result;
    struct profile_relabel options = {.is_replaced = is_label_replaced,
                                      .text = REDACTED,
                                      .source = feed_bytes,
                                      .source_ctx = in,
                                      .sink = add_to_buf,
                                      .sink_ctx = ret};
    if (profile_relabel(&options, &result, err) < 0)
        return -1;
    *ret_labels = result.labels;
    return 0;
}

#endif
