/*
 * The buffers between libssh2 and the descriptor of a session.
 *
 * libssh2 must never see a half-sent packet: while one is pending, every other call on the session fails. So
 * buffered_socket_send takes all output into `out` and sends what the descriptor accepts. The owner flushes
 * the rest. Data that arrives while libssh2 does not read goes into `in`, so that a closed or dead connection
 * is noticed at once.
 */
#ifndef GATEWAY_SSH_BUFFERED_SOCKET_H
#define GATEWAY_SSH_BUFFERED_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/base.h"

struct buffered_socket {
    int fd;
    struct buf out;        /* accepted from libssh2, not yet sent */
    struct buf in;         /* received before libssh2 requested it */
    bool eof;              /* the far end closed */
    int error;             /* errno of the first failure, 0 for none */
    size_t allowance;      /* bytes that buffered_socket_recv may return before it reads no more from the
                              descriptor */
    uint64_t n_returned;   /* all bytes that buffered_socket_recv returned */
    int64_t last_received; /* clock_now() of the last received byte */
    struct buf preauth;    /* the first received bytes, raw, until buffered_socket_forget_preauth */
};

/* Takes ownership of a connected descriptor and makes it non-blocking. */
int buffered_socket_init(struct buffered_socket *s, int fd, struct err *err);
void buffered_socket_release(struct buffered_socket *s);

/* Frees `preauth` and stores no more bytes in it. */
void buffered_socket_forget_preauth(struct buffered_socket *s);

/* Limits buffered_socket_recv to n more bytes from the descriptor (one call may exceed it); then it returns
 * -EAGAIN. SIZE_MAX, the default, is no limit. */
void buffered_socket_limit_read(struct buffered_socket *s, size_t n);

/* Like recv(2) and send(2), but failures are returned as -errno. buffered_socket_send accepts everything, or
 * nothing if more than a few megabytes are queued (-EAGAIN). */
ssize_t buffered_socket_recv(struct buffered_socket *s, void *p, size_t n);
ssize_t buffered_socket_send(struct buffered_socket *s, const void *p, size_t n);

/* Sends queued bytes until the descriptor accepts no more. */
void buffered_socket_flush(struct buffered_socket *s);

/* Reads available data ahead, up to a small limit. */
void buffered_socket_read_ahead(struct buffered_socket *s);

/* Returns the poll(2) events to wait for. */
short buffered_socket_events(const struct buffered_socket *s);

/* Returns whether so many bytes wait in `out` that the session must accept no more data to send. */
bool buffered_socket_is_congested(const struct buffered_socket *s);

/* Makes every later call fail, so that libssh2 can be freed without waiting. */
void buffered_socket_abort(struct buffered_socket *s);

#endif
