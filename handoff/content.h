/*
 * The bytes of an attachment as Request Tracker tells them: base64 (RFC 4648) in a JSON string under the key
 * "Content". They may be hundreds of megabytes, so they are taken out of the answer as it comes, in constant
 * memory; the rest of the answer is skipped, and need not even be JSON.
 */
#ifndef HANDOFF_CONTENT_H
#define HANDOFF_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct content {
    /* Takes the decoded bytes; -1 ends it with err as it was left. */
    int (*take)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    enum content_at {
        CONTENT_OUTSIDE, /* between strings */
        CONTENT_STRING,  /* in another string */
        CONTENT_KEY_END, /* behind a string that is "Content", so perhaps the key */
        CONTENT_COLON,   /* behind its colon */
        CONTENT_INSIDE,
        CONTENT_DONE,
    } at;
    bool escaped;      /* behind a backslash */
    unsigned matched;  /* letters of the key that this string has so far; beyond its length: another string */
    uint32_t bits;     /* of base64, not decoded yet */
    unsigned n_digits; /* of these four */
    unsigned n_pads;
};

/* A piece of the answer. ERR_FAILED for what is no base64. */
int content_add(struct content *c, const void *p, size_t n, struct err *err);
/* It has ended: ERR_FAILED if the content did not end, or there was none. */
int content_end(const struct content *c, struct err *err);

#endif
