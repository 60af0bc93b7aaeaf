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

/* A decoder. The caller sets the first two members, and zeroes the others. */
struct content_decoder {
    /* Receives the decoded bytes. If it returns -1, decoding ends with its error. */
    int (*receive)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    enum content_state {
        CONTENT_OUTSIDE, /* between strings */
        CONTENT_STRING,  /* in a string that is not the content */
        CONTENT_KEY_END, /* after the string "Content", which is the key if a colon follows */
        CONTENT_COLON,   /* after the colon of the key */
        CONTENT_INSIDE,  /* in the content */
        CONTENT_DONE,    /* after the content */
    } state;
    bool escaped;      /* after a backslash */
    unsigned matched;  /* characters of "Content" that match; above seven: the string differs */
    uint32_t bits;     /* the bits of the base64 digits that are not decoded yet */
    unsigned n_digits; /* the number of these digits, below four */
    unsigned n_pads;   /* the number of `=` */
};

/* Adds a piece of the answer. ERR_FAILED if the content is not base64. */
int content_add(struct content_decoder *c, const void *p, size_t n, struct err *err);
/* Call it at the end of the answer. ERR_FAILED if the content is incomplete or missing. */
int content_end(const struct content_decoder *c, struct err *err);

#endif
