/*
 * The bytes between libssh2 and a descriptor.
 *
 * libssh2 must never see a half-sent packet: while one is pending, every other call on the session fails. So
 * wire_send takes all output into `out` and sends what the descriptor accepts. The owner flushes the rest.
 * Data that arrives while libssh2 does not read goes into `in`, so that a closed or dead connection is
 * noticed at once.
 */
#ifndef GATEWAY_SSH_WIRE_H
#define GATEWAY_SSH_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

struct wire {
    int fd;
    struct buf out;        /* accepted from libssh2, not yet sent */
    struct buf in;         /* received before libssh2 requested it */
    bool eof;              /* the far end closed */
    int error;             /* errno of the first failure, 0 for none */
    size_t allowance;      /* bytes that wire_recv may return before it reads no more from the descriptor */
    uint64_t n_returned;   /* all bytes that wire_recv returned */
    int64_t last_received; /* clock_now() of the last received byte */
    struct buf preauth;    /* the first received bytes, raw, until wire_forget_preauth */
};

/* Takes ownership of a connected descriptor and makes it non-blocking. */
int wire_init(struct wire *w, int fd, struct err *err);
void wire_release(struct wire *w);

/* Frees `preauth` and stores no more bytes in it. */
void wire_forget_preauth(struct wire *w);

/* Limits wire_recv to n more bytes from the descriptor (one call may exceed it); then it returns -EAGAIN.
 * SIZE_MAX, the default, is no limit. */
void wire_limit_read(struct wire *w, size_t n);

/* Like recv(2) and send(2), but failures are returned as -errno. wire_send accepts everything, or nothing if
 * more than a few megabytes are queued (-EAGAIN). */
ssize_t wire_recv(struct wire *w, void *p, size_t n);
ssize_t wire_send(struct wire *w, const void *p, size_t n);

/* Sends queued bytes until the descriptor accepts no more. */
void wire_flush(struct wire *w);

/* Reads available data ahead, up to a small limit. */
void wire_read_ahead(struct wire *w);

/* Returns the poll(2) events to wait for. */
short wire_events(const struct wire *w);

/* Returns whether so many bytes wait in `out` that the session must accept no more data to send. */
bool wire_is_congested(const struct wire *w);

/* Makes every later call fail, so that libssh2 can be freed without waiting. */
void wire_abort(struct wire *w);

#endif
