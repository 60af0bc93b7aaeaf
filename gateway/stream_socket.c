#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/ssh/connect.h"
#include "gateway/ssh/resolve.h"
#include "gateway/ssh/stream.h"
#include "base/banned.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct socket_stream {
    struct stream stream;
    struct addrinfo *resolved;   /* NULL for a Unix socket */
    const struct addrinfo *next; /* the next address to try */
    const char *unix_path;       /* the destination's path; NULL: TCP */
    struct sockaddr_un unix_address;
    struct addrinfo unix_info; /* unix_address in the form of a resolved address, for connect_start */
    int fd;
};

static struct socket_stream *to_socket(const struct stream *st)
{
    return (struct socket_stream *)(uintptr_t)st;
}

static int socket_open(struct stream *st, struct err *err)
{
    struct socket_stream *s = to_socket(st);
    for (;;) {
        if (s->fd >= 0) {
            int rc = connect_check(s->fd, err);
            if (rc >= 0)
                return rc;
            fd_close(&s->fd);
        }
        if (!s->next)
            return s->unix_path ? err_wrap(err, "%s", s->unix_path) : -1;
        s->fd = connect_start(s->next, NULL, err);
        s->next = s->next->ai_next;
    }
}

static ssize_t stream_result(ssize_t n)
{
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? STREAM_AGAIN : STREAM_BROKEN;
}

static ssize_t socket_read(struct stream *st, void *p, size_t n)
{
    ssize_t got = recv(to_socket(st)->fd, p, n, 0);
    return got == 0 ? STREAM_EOF : stream_result(got);
}

static ssize_t socket_write(struct stream *st, const void *p, size_t n)
{
    return stream_result(send(to_socket(st)->fd, p, n, MSG_NOSIGNAL));
}

static int socket_finish(struct stream *st)
{
    shutdown(to_socket(st)->fd, SHUT_WR);
    return 1;
}

static int socket_close(struct stream *st)
{
    struct socket_stream *s = to_socket(st);
    fd_close(&s->fd);
    if (s->resolved)
        freeaddrinfo(s->resolved);
    free(s);
    return 1;
}

static void socket_discard(struct stream *st)
{
    socket_close(st);
}

static void socket_poll(const struct stream *st, bool want_read, bool want_write, struct pollfd *ret)
{
    /* If nothing is wanted, the descriptor is -1, because poll would still report an ended connection. */
    ret->fd = want_read || want_write ? to_socket(st)->fd : -1;
    ret->events = (short)((want_read ? POLLIN : 0) | (want_write ? POLLOUT : 0));
}

static const struct stream_type socket_type = {
    .open = socket_open,
    .read = socket_read,
    .write = socket_write,
    .finish = socket_finish,
    .close = socket_close,
    .discard = socket_discard,
    .poll = socket_poll,
};

static int prepare_tcp(struct socket_stream *s, const struct destination *to, int64_t deadline, int cancel_fd,
                       struct err *err)
{
    struct resolve_query query = {.host = to->host,
                                  .port = to->port,
                                  .family = AF_UNSPEC,
                                  .deadline = deadline,
                                  .cancel_fd = cancel_fd};
    if (resolve_host(&query, &s->resolved, err) < 0)
        return -1;
    s->next = s->resolved;
    return 0;
}

static int prepare_unix(struct socket_stream *s, const char *path, struct err *err)
{
    if (fd_unix_address(path, &s->unix_address, err) < 0)
        return -1;
    s->unix_info = (struct addrinfo){.ai_family = AF_UNIX,
                                     .ai_addr = (struct sockaddr *)&s->unix_address,
                                     .ai_addrlen = sizeof s->unix_address};
    s->unix_path = path;
    s->next = &s->unix_info;
    return 0;
}

struct stream *stream_socket(const struct destination *to, int64_t deadline, int cancel_fd, struct err *err)
{
    struct socket_stream *s = calloc(1, sizeof *s);
    if (!s) {
        err_nomem(err);
        return NULL;
    }
    s->stream.type = &socket_type;
    s->fd = -1;
    if ((to->unix_path ? prepare_unix(s, to->unix_path, err)
                       : prepare_tcp(s, to, deadline, cancel_fd, err)) == 0)
        return &s->stream;
    free(s);
    return NULL;
}
