/*
 * The far end of a link: an SSH channel, or a socket of our own on a direct route. All calls are non-blocking
 * and made by the hub's thread only. The destination that a stream is made for must outlive it.
 */
#ifndef GATEWAY_STREAM_H
#define GATEWAY_STREAM_H

#include <poll.h>
#include <sys/types.h>

#include "base/base.h"
#include "gateway/gateway.h"

/* What read and write return beside byte counts. */
enum { STREAM_AGAIN = -1, STREAM_EOF = -2, STREAM_BROKEN = -3 };

/* How many descriptors a stream may have. */
#define STREAM_POLLS 2

struct stream;

struct stream_type {
    /* Goes on opening: 1 it is open, 0 not yet, -1 refused (err says why). */
    int (*open)(struct stream *st, struct err *err);
    /* Bytes moved, STREAM_AGAIN, STREAM_EOF (read only) or STREAM_BROKEN. */
    ssize_t (*read)(struct stream *st, void *p, size_t n);
    ssize_t (*write)(struct stream *st, const void *p, size_t n);
    /* Says that nothing more will be written: 1 done, 0 call again. */
    int (*finish)(struct stream *st);
    /* Closes and frees, whatever state it is in: 1 it is gone, 0 call again. */
    int (*close)(struct stream *st);
    /* Frees at once what close has not yet; the session below is about to end. */
    void (*discard)(struct stream *st);
    /* Fills in descriptors of its own to wait for, one for each direction where those are two; what is not
     * to be waited for is left with fd at -1. */
    void (*poll)(const struct stream *st, bool want_read, bool want_write, struct pollfd ret[STREAM_POLLS]);
};

struct stream {
    const struct stream_type *type;
};

struct session;

/* An SSH channel of type direct-tcpip (RFC 4254 section 7.2), or direct-streamlocal@openssh.com (OpenSSH's
 * PROTOCOL file, section 2.4). What is under way to us is bounded by its window, which grows on a long line
 * (window.h). Only one of a session's channels can be opening at a time; the others wait their turn. */
struct stream *stream_channel(struct session *session, const struct destination *to, struct err *err);

/* A TCP connection, or one to a Unix socket of this workstation; resolving the name is the one thing here
 * that blocks. */
struct stream *stream_socket(const struct destination *to, int64_t deadline, int cancel_fd, struct err *err);

#endif
