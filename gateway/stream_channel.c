#include <stdlib.h>
#include <string.h>

#include "gateway/refusal.h"
#include "gateway/session.h"
#include "gateway/stream.h"
#include "base/banned.h"

/* The first libssh2 that has libssh2_channel_direct_streamlocal_ex. */
#define UNIX_SOCKETS_SINCE 0x010b00

struct channel_stream {
    struct stream stream;
    struct session *session;
    LIBSSH2_CHANNEL *channel;
    const struct destination *to;
    bool opening; /* libssh2 is in the middle of it and cannot be stopped */
    bool settled; /* opened or refused */
};

static struct channel_stream *self(const struct stream *st)
{
    return (struct channel_stream *)(uintptr_t)st;
}

/* libssh2 drops the server's own text and keeps the kind of answer. */
static int refused(const struct channel_stream *c, int rc, struct err *err)
{
    char *text = NULL;
    libssh2_session_last_error(c->session->ssh, &text, NULL, 0);
    if (rc != LIBSSH2_ERROR_CHANNEL_FAILURE || !text)
        return session_error(c->session, rc, "cannot open a channel", err);
    return refusal_set(c->to, text, err);
}

/* The originator's address is required by the protocol and means nothing here. */
static LIBSSH2_CHANNEL *go_on(const struct channel_stream *c)
{
    LIBSSH2_SESSION *ssh = c->session->ssh;
#if LIBSSH2_VERSION_NUM >= UNIX_SOCKETS_SINCE
    if (c->to->unix_path)
        return libssh2_channel_direct_streamlocal_ex(ssh, c->to->unix_path, "127.0.0.1", 0);
#endif
    return libssh2_channel_direct_tcpip_ex(ssh, c->to->host, (int)c->to->port, "127.0.0.1", 0);
}

static int channel_open(struct stream *st, struct err *err)
{
    struct channel_stream *c = self(st);
    if (c->session->opening && c->session->opening != c)
        return 0;
    c->session->opening = c;
    c->opening = true;
    c->channel = go_on(c);
    int rc = c->channel ? 0 : libssh2_session_last_errno(c->session->ssh);
    if (!c->channel && rc == LIBSSH2_ERROR_EAGAIN)
        return 0;
    c->opening = false;
    c->settled = true;
    c->session->opening = NULL;
    return c->channel ? 1 : refused(c, rc, err);
}

static ssize_t result(const struct channel_stream *c, ssize_t n)
{
    session_note(c->session, n);
    return n == LIBSSH2_ERROR_EAGAIN ? STREAM_AGAIN : n < 0 ? STREAM_BROKEN : n;
}

static ssize_t channel_read(struct stream *st, void *p, size_t n)
{
    struct channel_stream *c = self(st);
    ssize_t got = libssh2_channel_read(c->channel, p, n);
    if (got == 0)
        return libssh2_channel_eof(c->channel) ? STREAM_EOF : STREAM_AGAIN;
    return result(c, got);
}

static ssize_t channel_write(struct stream *st, const void *p, size_t n)
{
    struct channel_stream *c = self(st);
    if (wire_congested(&c->session->wire))
        return STREAM_AGAIN;
    ssize_t put = libssh2_channel_write(c->channel, p, n);
    return put == 0 ? STREAM_AGAIN : result(c, put);
}

static int channel_finish(struct stream *st)
{
    return libssh2_channel_send_eof(self(st)->channel) == LIBSSH2_ERROR_EAGAIN ? 0 : 1;
}

static void channel_discard(struct stream *st)
{
    /* The session frees its channels with itself. */
    if (self(st)->session->opening == self(st))
        self(st)->session->opening = NULL;
    free(st);
}

static int channel_close(struct stream *st)
{
    struct channel_stream *c = self(st);
    if (c->opening && channel_open(st, NULL) == 0)
        return 0;
    if (c->channel && libssh2_channel_free(c->channel) == LIBSSH2_ERROR_EAGAIN)
        return 0;
    channel_discard(st);
    return 1;
}

static void channel_poll(const struct stream *st, bool want_read, bool want_write, struct pollfd *ret)
{
    (void)st;
    (void)want_read;
    (void)want_write;
    ret->fd = -1;
}

static const struct stream_type channel_type = {
    .open = channel_open,
    .read = channel_read,
    .write = channel_write,
    .finish = channel_finish,
    .close = channel_close,
    .discard = channel_discard,
    .poll = channel_poll,
};

/* It is what we were built with that counts: with an older one there is no call in the program. */
static int check_supported(const struct destination *to, struct err *err)
{
    if (!to->unix_path || LIBSSH2_VERSION_NUM >= UNIX_SOCKETS_SINCE)
        return 0;
    err_set(err, ERR_FAILED, "libssh2 %s cannot open Unix sockets on the far side", LIBSSH2_VERSION);
    return err_hint(
        err,
        "that takes libssh2 1.11; or let OpenSSH forward it, `ssh -N -L /LOCAL.sock:%s HOST`, and "
        "name a host with `connect: direct` and a service with `unix: /LOCAL.sock`",
        to->unix_path);
}

struct stream *stream_channel(struct session *session, const struct destination *to, struct err *err)
{
    if (check_supported(to, err) < 0)
        return NULL;
    struct channel_stream *c = calloc(1, sizeof *c);
    if (!c) {
        err_nomem(err);
        return NULL;
    }
    c->stream.type = &channel_type;
    c->session = session;
    c->to = to;
    return &c->stream;
}
