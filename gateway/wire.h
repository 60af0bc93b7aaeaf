/*
 * The bytes between libssh2 and a descriptor.
 *
 * libssh2 must never see a half-sent packet: while one is pending, every other call on the session fails. So
 * what it sends always goes into `out`, which the owner flushes; what arrives while nobody reads is kept in
 * `in`, so that a closed or dead connection is noticed at once, whatever the session is doing.
 */
#ifndef GATEWAY_WIRE_H
#define GATEWAY_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

struct wire {
    int fd;
    struct buf out;      /* accepted from libssh2, not yet sent */
    struct buf in;       /* received while libssh2 did not ask */
    bool eof;            /* the far end closed */
    int error;           /* errno of the first failure, 0 for none */
    size_t allowance;    /* what wire_recv may still read from the descriptor */
    uint64_t given;      /* bytes that wire_recv ever gave out */
    int64_t last_rx;     /* clock_now() of the last byte that came */
    struct buf greeting; /* the first bytes that ever came, raw, until they are forgotten */
};

/* Takes over a connected descriptor and makes it non-blocking. */
int wire_init(struct wire *w, int fd, struct err *err);
void wire_release(struct wire *w);

/* Frees `greeting` and keeps no more. */
void wire_forget_greeting(struct wire *w);

/* From now on wire_recv reads n bytes from the descriptor, or one call's worth more, and then says -EAGAIN.
 * SIZE_MAX, as at first, is no bound. */
void wire_allow(struct wire *w, size_t n);

/* As recv(2) and send(2), but failures are returned as -errno. Sending takes everything, or nothing when more
 * than a few megabytes wait to be sent (-EAGAIN). */
ssize_t wire_recv(struct wire *w, void *p, size_t n);
ssize_t wire_send(struct wire *w, const void *p, size_t n);

/* Sends what waits, as far as the descriptor takes it. */
void wire_flush(struct wire *w);

/* Reads ahead what is there, up to a small limit. */
void wire_fill(struct wire *w);

/* poll(2) events the owner should wait for. */
short wire_events(const struct wire *w);

/* Whether so much waits to be sent that no more data should be given to the session. */
bool wire_congested(const struct wire *w);

/* From now on every call fails: libssh2 can be torn down without waiting for anyone. */
void wire_kill(struct wire *w);

#endif
