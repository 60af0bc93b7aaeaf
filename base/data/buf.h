/*
 * A byte buffer with a mandatory maximum and a sticky failure: add many pieces, check once.
 *
 * A piece that exceeds the maximum or the available memory makes the buffer fail. A failed buffer keeps its
 * bytes and ignores further pieces, and buf_check returns the error. `data` is NULL until the first byte is
 * added, then NUL-terminated. Initialise with BUF_INIT or buf_init; buf_release accepts both.
 */
#ifndef BASE_DATA_BUF_H
#define BASE_DATA_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"

struct buf {
    char *data;
    size_t len;
    size_t cap;
    size_t max; /* limit of `len`, in bytes */
    bool failed;
    bool out_of_memory; /* the buffer failed because an allocation failed */
    bool secret;        /* set before adding bytes: the memory is wiped before it is freed */
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
/* Appends s as a value in a URL: percent-escapes all but unreserved characters (RFC 3986). */
void buf_add_percent_encoded(struct buf *b, const char *s);
/* Appends s as the text of an HTML element, or as an attribute's value between double quotes. */
void buf_add_html_escaped(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Returns writable memory for up to *n bytes after the last byte, and sets *n to its size. The caller writes
 * there, then adds the written bytes with buf_commit. NULL: the buffer is full or failed. */
char *buf_reserve(struct buf *b, size_t *n);
void buf_commit(struct buf *b, size_t n);

/* Empties the buffer, clears a failure and keeps the allocated memory. */
void buf_clear(struct buf *b);

/* Removes the first n bytes (n <= len). */
void buf_consume(struct buf *b, size_t n);

/* Returns 0, or -1 with "<what> is larger than N bytes" or "out of memory". */
int buf_check(const struct buf *b, const char *what, struct err *err);

/* Returns the text as a C string, "" if the buffer is empty. Valid until the next change. */
const char *buf_str(const struct buf *b);

/* Returns the bytes, which the caller frees, and empties the buffer. NULL if the buffer failed or is empty.
 */
char *buf_detach(struct buf *b);

#endif
