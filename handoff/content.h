/*
 * Decodes the bytes of an attachment in an answer of Request Tracker: base64 (RFC 4648) in a JSON string
 * under the key "Content". An attachment may have hundreds of megabytes, so the answer is decoded as a
 * stream, in constant memory. The rest of the answer is skipped and need not be valid JSON.
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
    enum content_state {
        CONTENT_OUTSIDE, /* between strings */
        CONTENT_STRING,  /* in a string that is not the content */
        CONTENT_KEY_END, /* after a string that is "Content", which may be the key */
        CONTENT_COLON,   /* after its colon */
        CONTENT_INSIDE,  /* in the content */
        CONTENT_DONE,
    } state;
    bool escaped;      /* after a backslash */
    unsigned matched;  /* matched characters of "Content"; above its length: the string differs */
    uint32_t bits;     /* the bits of digits that are not decoded yet */
    unsigned n_digits; /* the number of these digits, below four */
    unsigned n_pads;
};

/* Adds a piece of the answer. ERR_FAILED if the content is not base64. */
int content_add(struct content *c, const void *p, size_t n, struct err *err);
/* Call it at the end of the answer. ERR_FAILED if the content is cut or missing. */
int content_end(const struct content *c, struct err *err);

#endif
