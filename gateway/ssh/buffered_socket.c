#include "gateway/ssh/buffered_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/banned.h"

#define OUT_MAX (4u << 20)
#define OUT_CONGESTED (256u << 10)
#define IN_MAX (64u << 10)
/* Room for a banner and the lists of algorithms, about 1200 bytes with OpenSSH. */
#define PREAUTH_MAX (8u << 10)

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

int buffered_socket_init(struct buffered_socket *w, int fd, struct err *err)
{
    *w = (struct buffered_socket){.fd = fd, .allowance = SIZE_MAX, .last_received = clock_now()};
    buf_init(&w->out, OUT_MAX);
    buf_init(&w->in, IN_MAX);
    buf_init(&w->preauth, PREAUTH_MAX);
#ifdef SO_NOSIGPIPE
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    return fd_set_nonblocking(fd, true, err);
}

void buffered_socket_release(struct buffered_socket *w)
{
    fd_close(&w->fd);
    buf_release(&w->out);
    buf_release(&w->in);
    buf_release(&w->preauth);
}

void buffered_socket_forget_preauth(struct buffered_socket *w)
{
    buf_release(&w->preauth);
    w->preauth.max = 0;
}

/*
 * sshd keeps Nagle's algorithm on for sessions without a terminal: its small packets wait for our
 * acknowledgement, which the kernel delays by 40 ms. TCP_QUICKACK does not last, so we set it again for each
 * small packet. The call fails harmlessly on other sockets.
 */
static void acknowledge_now(const struct buffered_socket *w, ssize_t got)
{
#ifdef TCP_QUICKACK
    if (got < 4096)
        setsockopt(w->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
#else
    (void)w;
    (void)got;
#endif
}

static ssize_t receive_bytes(struct buffered_socket *w, void *p, size_t n)
{
    if (w->error)
        return -w->error;
    if (w->eof)
        return 0;
    ssize_t got;
    do
        got = recv(w->fd, p, n, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return -EAGAIN;
    if (got < 0)
        return -(w->error = errno);
    if (got == 0) {
        w->eof = true;
        return 0;
    }
    w->last_received = clock_now();
    acknowledge_now(w, got);
    size_t room = w->preauth.max - w->preauth.len;
    if (room > 0)
        buf_add(&w->preauth, p, (size_t)got < room ? (size_t)got : room);
    return got;
}

void buffered_socket_limit_read(struct buffered_socket *w, size_t n)
{
    w->allowance = n;
}

static ssize_t read_buffered(struct buffered_socket *w, void *p, size_t n)
{
    size_t count = n < w->in.len ? n : w->in.len;
    memcpy(p, w->in.data, count);
    buf_consume(&w->in, count);
    return (ssize_t)count;
}

ssize_t buffered_socket_recv(struct buffered_socket *w, void *p, size_t n)
{
    if (w->in.len == 0 && w->allowance == 0)
        return -EAGAIN;
    ssize_t got = w->in.len > 0 ? read_buffered(w, p, n) : receive_bytes(w, p, n);
    if (got <= 0)
        return got;
    w->n_returned += (uint64_t)got;
    w->allowance -= (size_t)got < w->allowance ? (size_t)got : w->allowance;
    return got;
}

ssize_t buffered_socket_send(struct buffered_socket *w, const void *p, size_t n)
{
    if (w->error)
        return -w->error;
    if (w->out.len + n > w->out.max)
        return -EAGAIN;
    buf_add(&w->out, p, n);
    if (w->out.failed)
        return -(w->error = ENOMEM);
    buffered_socket_flush(w);
    return (ssize_t)n;
}

void buffered_socket_flush(struct buffered_socket *w)
{
    while (w->out.len > 0 && !w->error) {
        ssize_t sent = send(w->fd, w->out.data, w->out.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (sent < 0) {
            w->error = errno;
            return;
        }
        buf_consume(&w->out, (size_t)sent);
    }
}

void buffered_socket_read_ahead(struct buffered_socket *w)
{
    char chunk[4096];
    while (w->in.len + sizeof chunk <= w->in.max) {
        ssize_t got = receive_bytes(w, chunk, sizeof chunk);
        if (got <= 0)
            return;
        buf_add(&w->in, chunk, (size_t)got);
        if (w->in.failed) {
            w->error = ENOMEM;
            return;
        }
    }
}

short buffered_socket_events(const struct buffered_socket *w)
{
    bool reading = !w->eof && !w->error && w->in.len + 4096 <= w->in.max;
    return (short)((reading ? POLLIN : 0) | (w->out.len > 0 && !w->error ? POLLOUT : 0));
}

bool buffered_socket_is_congested(const struct buffered_socket *w)
{
    return w->out.len > OUT_CONGESTED;
}

void buffered_socket_abort(struct buffered_socket *w)
{
    w->error = ECONNRESET;
    buf_clear(&w->in);
    buf_clear(&w->out);
}
