/*
 * Decodes the bytes of an attachment in an answer of Request Tracker: base64 (RFC 4648) in a JSON string
 * under the key "Content". They may be hundreds of megabytes, so this decodes the answer as a stream, in
 * constant memory. It skips the rest of the answer, which need not be JSON.
 */
#ifndef HANDOFF_CONTENT_H
#define HANDOFF_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct content {
    /* Receives the decoded bytes; -1 stops, with its err. */
    int (*take)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    enum content_at {
        CONTENT_OUTSIDE, /* between strings */
        CONTENT_STRING,  /* in another string */
        CONTENT_KEY_END, /* after a string that is "Content", which may be the key */
        CONTENT_COLON,   /* after its colon */
        CONTENT_INSIDE,
        CONTENT_DONE,
    } at;
    bool escaped;      /* after a backslash */
    unsigned matched;  /* matched letters of the key; beyond its length: another string */
    uint32_t bits;     /* of base64, not decoded yet */
    unsigned n_digits; /* of these four */
    unsigned n_pads;
};

/* Adds a piece of the answer. ERR_FAILED if the content is not base64. */
int content_add(struct content *c, const void *p, size_t n, struct err *err);
/* Call it at the end of the answer. ERR_FAILED if the content is cut or missing. */
int content_end(const struct content *c, struct err *err);

#endif
