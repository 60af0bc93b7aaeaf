#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/connect.h"
#include "gateway/stream.h"
#include "base/banned.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct tcp_stream {
    struct stream stream;
    struct addrinfo *all;
    const struct addrinfo *next; /* to be tried when the one under way fails */
    int fd;
};

static struct tcp_stream *self(const struct stream *st)
{
    return (struct tcp_stream *)(uintptr_t)st;
}

static int tcp_open(struct stream *st, struct err *err)
{
    struct tcp_stream *t = self(st);
    for (;;) {
        if (t->fd >= 0) {
            int rc = connect_check(t->fd, err);
            if (rc >= 0)
                return rc;
            fd_close(&t->fd);
        }
        if (!t->next)
            return -1;
        t->fd = connect_start(t->next, err);
        t->next = t->next->ai_next;
    }
}

static ssize_t result(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? STREAM_AGAIN : STREAM_BROKEN;
}

static ssize_t tcp_read(struct stream *st, void *p, size_t n)
{
    ssize_t got = recv(self(st)->fd, p, n, 0);
    return got == 0 ? STREAM_EOF : result(got);
}

static ssize_t tcp_write(struct stream *st, const void *p, size_t n)
{
    return result(send(self(st)->fd, p, n, MSG_NOSIGNAL));
}

static int tcp_finish(struct stream *st)
{
    shutdown(self(st)->fd, SHUT_WR);
    return 1;
}

static int tcp_close(struct stream *st)
{
    struct tcp_stream *t = self(st);
    fd_close(&t->fd);
    freeaddrinfo(t->all);
    free(t);
    return 1;
}

static void tcp_discard(struct stream *st)
{
    tcp_close(st);
}

static void tcp_poll(const struct stream *st, bool want_read, bool want_write, struct pollfd *ret)
{
    /* A connection that ended is told of whether it is asked for or not. */
    ret->fd = want_read || want_write ? self(st)->fd : -1;
    ret->events = (short)((want_read ? POLLIN : 0) | (want_write ? POLLOUT : 0));
}

static const struct stream_type tcp_type = {
    .open = tcp_open,
    .read = tcp_read,
    .write = tcp_write,
    .finish = tcp_finish,
    .close = tcp_close,
    .discard = tcp_discard,
    .poll = tcp_poll,
};

struct stream *stream_tcp(const struct destination *to, struct err *err)
{
    struct tcp_stream *t = calloc(1, sizeof *t);
    if (!t) {
        err_nomem(err);
        return NULL;
    }
    t->stream.type = &tcp_type;
    t->fd = -1;
    if (connect_resolve(to->host, to->port, &t->all, err) < 0) {
        free(t);
        return NULL;
    }
    t->next = t->all;
    return &t->stream;
}
