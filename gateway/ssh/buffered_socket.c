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

int buffered_socket_init(struct buffered_socket *s, int fd, struct err *err)
{
    *s = (struct buffered_socket){.fd = fd, .allowance = SIZE_MAX, .last_received = clock_now()};
    buf_init(&s->out, OUT_MAX);
    buf_init(&s->in, IN_MAX);
    buf_init(&s->preauth, PREAUTH_MAX);
#ifdef SO_NOSIGPIPE
    setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    return fd_set_nonblocking(fd, true, err);
}

void buffered_socket_release(struct buffered_socket *s)
{
    fd_close(&s->fd);
    buf_release(&s->out);
    buf_release(&s->in);
    buf_release(&s->preauth);
}

void buffered_socket_forget_preauth(struct buffered_socket *s)
{
    buf_release(&s->preauth);
    s->preauth.max = 0;
}

/*
 * sshd keeps Nagle's algorithm on for sessions without a terminal: its small packets wait for our
 * acknowledgement, which the kernel delays by 40 ms. TCP_QUICKACK does not last, so we set it again for each
 * small packet. The call fails harmlessly on other sockets.
 */
static void acknowledge_now(const struct buffered_socket *s, ssize_t got)
{
#ifdef TCP_QUICKACK
    if (got < 4096)
        setsockopt(s->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));
#else
    (void)s;
    (void)got;
#endif
}

static ssize_t receive_bytes(struct buffered_socket *s, void *p, size_t n)
{
    if (s->error)
        return -s->error;
    if (s->eof)
        return 0;
    ssize_t got;
    do
        got = recv(s->fd, p, n, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return -EAGAIN;
    if (got < 0)
        return -(s->error = errno);
    if (got == 0) {
        s->eof = true;
        return 0;
    }
    s->last_received = clock_now();
    acknowledge_now(s, got);
    size_t room = s->preauth.max - s->preauth.len;
    if (room > 0)
        buf_add(&s->preauth, p, (size_t)got < room ? (size_t)got : room);
    return got;
}

void buffered_socket_limit_read(struct buffered_socket *s, size_t n)
{
    s->allowance = n;
}

static ssize_t read_buffered(struct buffered_socket *s, void *p, size_t n)
{
    size_t count = n < s->in.len ? n : s->in.len;
    memcpy(p, s->in.data, count);
    buf_consume(&s->in, count);
    return (ssize_t)count;
}

ssize_t buffered_socket_recv(struct buffered_socket *s, void *p, size_t n)
{
    if (s->in.len == 0 && s->allowance == 0)
        return -EAGAIN;
    ssize_t got = s->in.len > 0 ? read_buffered(s, p, n) : receive_bytes(s, p, n);
    if (got <= 0)
        return got;
    s->n_returned += (uint64_t)got;
    s->allowance -= (size_t)got < s->allowance ? (size_t)got : s->allowance;
    return got;
}

ssize_t buffered_socket_send(struct buffered_socket *s, const void *p, size_t n)
{
    if (s->error)
        return -s->error;
    if (s->out.len + n > s->out.max)
        return -EAGAIN;
    buf_add(&s->out, p, n);
    if (s->out.failed)
        return -(s->error = ENOMEM);
    buffered_socket_flush(s);
    return (ssize_t)n;
}

void buffered_socket_flush(struct buffered_socket *s)
{
    while (s->out.len > 0 && !s->error) {
        ssize_t sent = send(s->fd, s->out.data, s->out.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (sent < 0) {
            s->error = errno;
            return;
        }
        buf_consume(&s->out, (size_t)sent);
    }
}

void buffered_socket_read_ahead(struct buffered_socket *s)
{
    char chunk[4096];
    while (s->in.len + sizeof chunk <= s->in.max) {
        ssize_t got = receive_bytes(s, chunk, sizeof chunk);
        if (got <= 0)
            return;
        buf_add(&s->in, chunk, (size_t)got);
        if (s->in.failed) {
            s->error = ENOMEM;
            return;
        }
    }
}

short buffered_socket_events(const struct buffered_socket *s)
{
    bool reading = !s->eof && !s->error && s->in.len + 4096 <= s->in.max;
    return (short)((reading ? POLLIN : 0) | (s->out.len > 0 && !s->error ? POLLOUT : 0));
}

bool buffered_socket_is_congested(const struct buffered_socket *s)
{
    return s->out.len > OUT_CONGESTED;
}

void buffered_socket_abort(struct buffered_socket *s)
{
    s->error = ECONNRESET;
    buf_clear(&s->in);
    buf_clear(&s->out);
}
