/*
 * A byte buffer with a mandatory maximum and a sticky failure: add many pieces, check once.
 *
 * After a piece did not fit (over the maximum, or no memory) the buffer keeps what it has, takes nothing
 * more, and buf_check says so. `data` is always NUL-terminated once something was added; it may be NULL
 * before. Zero-initialised with BUF_INIT or buf_init; buf_release is fine on either.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max; /* the most bytes `len` may reach */
    bool failed;
    bool starved; /* it failed for want of memory, not of room */
    bool secret;  /* set by the owner before anything is added: memory is wiped before it is given back */
};

#define BUF_INIT(maximum)                                                                                    \
    {                                                                                                        \
        .max = (maximum)                                                                                     \
    }

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);

void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
/* As a value in a URL: all but unreserved characters percent-escaped (RFC 3986). */
void buf_add_escaped(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Room for at most n more bytes (and *n says how many) behind the others, for somebody else to write there;
 * buf_came counts what was written. NULL: there is none. */
char *buf_room(struct buf *b, size_t *n);
void buf_came(struct buf *b, size_t n);

/* Empties the buffer, forgets a failure, keeps the memory. */
void buf_clear(struct buf *b);

/* Removes the first n bytes (n <= len). */
void buf_consume(struct buf *b, size_t n);

/* 0, or -1 with "<what> is larger than N bytes" or "out of memory". */
int buf_check(const struct buf *b, const char *what, struct err *err);

/* The text as a C string, "" when nothing was added. Valid until the next change. */
const char *buf_str(const struct buf *b);

/* Hands the bytes over: the caller frees them. NULL if the buffer failed or holds nothing. */
char *buf_take(struct buf *b);

#endif
