/* The far end of a link: an SSH channel, a connection through a master of ssh(1) (stream_openssh in
 * gateway/openssh/openssh.h), or a socket on a direct route. Only the hub's thread calls these functions.
 * They never block, except for the lookup of a name in stream_socket. The destination must outlive the
 * stream. */
#ifndef GATEWAY_SSH_STREAM_H
#define GATEWAY_SSH_STREAM_H

#include <poll.h>
#include <sys/types.h>

#include "base/base.h"
#include "gateway/ssh/ssh.h"

/* The results of stream_type.read and write besides byte counts. */
enum { STREAM_AGAIN = -1, STREAM_EOF = -2, STREAM_BROKEN = -3 };

/* The most descriptors that a stream polls. */
#define STREAM_POLLS 2

struct stream;

struct stream_type {
    /* Continues the opening: 1 open, 0 not yet, -1 refused (see err). */
    int (*open)(struct stream *st, struct err *err);
    /* Both return the number of bytes moved, STREAM_AGAIN or STREAM_BROKEN; read also STREAM_EOF. */
    ssize_t (*read)(struct stream *st, void *p, size_t n);
    ssize_t (*write)(struct stream *st, const void *p, size_t n);
    /* Sends the end of the data: 1 done, 0 call again. */
    int (*finish)(struct stream *st);
    /* Closes and frees the stream in any state: 1 freed, 0 call again. */
    int (*close)(struct stream *st);
    /* Frees the stream at once, also if close has not finished; the session is about to end. */
    void (*discard)(struct stream *st);
    /* Fills in the descriptors to poll: one, or one for each direction. The fd of unused entries is -1. */
    void (*poll)(const struct stream *st, bool want_read, bool want_write, struct pollfd ret[STREAM_POLLS]);
};

struct stream {
    const struct stream_type *type;
};

struct session;

/*
 * Creates an SSH channel of type direct-tcpip (RFC 4254 section 7.2), or direct-streamlocal@openssh.com
 * (OpenSSH's PROTOCOL file, section 2.4). The channel's window limits the data in flight and grows with the
 * round-trip time (window.h). Only one channel of a session can be opening at a time; the others wait.
 */
struct stream *stream_channel(struct session *session, const struct destination *to, struct err *err);

/* Creates a stream to a TCP address or a local Unix socket. This function resolves the name, for which it
 * blocks until `deadline` at most; the stream's `open` connects. */
struct stream *stream_socket(const struct destination *to, int64_t deadline, int cancel_fd, struct err *err);

#endif
