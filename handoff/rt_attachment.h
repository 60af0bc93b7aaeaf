/*
 * Decodes the bytes of an attachment in an answer of Request Tracker: base64 (RFC 4648) in a JSON string
 * under the key "Content". An attachment may have hundreds of megabytes, so the answer is decoded as a
 * stream, in constant memory. The rest of the answer is skipped and need not be valid JSON.
 */
#ifndef HANDOFF_RT_ATTACHMENT_H
#define HANDOFF_RT_ATTACHMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* A decoder. The caller sets the first two members, and zeroes the others. */
struct rt_attachment_decoder {
    /* Receives the decoded bytes. If it returns -1, decoding ends with its error. */
    int (*receive)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    enum rt_attachment_state {
        RT_ATTACHMENT_OUTSIDE, /* between strings */
        RT_ATTACHMENT_STRING,  /* in a string that is not the content */
        RT_ATTACHMENT_KEY_END, /* after the string "Content", which is the key if a colon follows */
        RT_ATTACHMENT_COLON,   /* after the colon of the key */
        RT_ATTACHMENT_INSIDE,  /* in the content */
        RT_ATTACHMENT_DONE,    /* after the content */
    } state;
    bool escaped;      /* after a backslash */
    unsigned matched;  /* characters of "Content" that match; above seven: the string differs */
    uint32_t bits;     /* the bits of the base64 digits that are not decoded yet */
    unsigned n_digits; /* the number of these digits, below four */
    unsigned n_pads;   /* the number of `=` */
};

/* Adds a piece of the answer. ERR_FAILED if the content is not base64. */
int rt_attachment_add(struct rt_attachment_decoder *c, const void *p, size_t n, struct err *err);
/* Call it at the end of the answer. ERR_FAILED if the content is incomplete or missing. */
int rt_attachment_end(const struct rt_attachment_decoder *c, struct err *err);

#endif
