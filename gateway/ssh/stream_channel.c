/*
 * We write the open request ourselves: libssh2's own function for forwarding takes no window size, and before
 * 1.11 libssh2 has no function for Unix sockets.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/open_failure.h"
#include "gateway/ssh/session.h"
#include "keys/keys.h"
#include "gateway/ssh/stream.h"
#include "gateway/ssh/window.h"
#include "base/banned.h"

#define MESSAGE_MAX 8192

struct channel_stream {
    struct stream stream;
    struct session *session;
    LIBSSH2_CHANNEL *channel;
    const struct destination *to;
    struct buf message; /* the open request; libssh2 does not copy it */
    int64_t since;      /* when the request was sent */
    struct window window;
    uint32_t enlargement; /* the window adjustment in progress */
    bool opening;         /* libssh2 has begun to open the channel and must finish */
};

static struct channel_stream *to_channel(const struct stream *st)
{
    return (struct channel_stream *)(uintptr_t)st;
}

/* Sets the error of a refused opening. libssh2 keeps the kind of answer, but not the server's text. */
static int set_open_failure(const struct channel_stream *c, int rc, struct err *err)
{
    char *text = NULL;
    libssh2_session_last_error(session_libssh2(c->session), &text, NULL, 0);
    if (rc != LIBSSH2_ERROR_CHANNEL_FAILURE || !text)
        return session_set_error(c->session, rc, "cannot open a channel", err);
    return open_failure_set(c->to, text, err);
}

/* Writes the part of the open request that follows the window size. RFC 4254 requires the originator's
 * address, which has no meaning here. */
static void write_message(const struct destination *to, struct buf *b)
{
    const char *name = to->unix_path ? to->unix_path : to->host;
    ssh_add_string(b, name, strlen(name));
    if (to->unix_path) {
        ssh_add_string(b, "", 0);
        ssh_add_u32(b, 0);
    } else {
        ssh_add_u32(b, to->port);
        ssh_add_string(b, "127.0.0.1", 9);
        ssh_add_u32(b, 0);
    }
}

static LIBSSH2_CHANNEL *continue_opening(const struct channel_stream *c)
{
    const char *type = c->to->unix_path ? "direct-streamlocal@openssh.com" : "direct-tcpip";
    return libssh2_channel_open_ex(session_libssh2(c->session), type, (unsigned)strlen(type), c->window.size,
                                   LIBSSH2_CHANNEL_PACKET_DEFAULT, c->message.data, (unsigned)c->message.len);
}

static int channel_open(struct stream *st, struct err *err)
{
    struct channel_stream *c = to_channel(st);
    if (!session_begin_opening(c->session, c))
        return 0;
    if (!c->opening) {
        c->opening = true;
        c->since = clock_now();
        window_init(&c->window, session_rtt(c->session), c->since);
    }
    c->channel = continue_opening(c);
    int rc = c->channel ? 0 : libssh2_session_last_errno(session_libssh2(c->session));
    if (!c->channel && rc == LIBSSH2_ERROR_EAGAIN)
        return 0;
    session_record_result(c->session, rc);
    /* The session is lost: the hub ends all its links, also this one. */
    if (!c->channel && session_is_over(c->session))
        return 0;
    session_record_round_trip(c->session, clock_now() - c->since);
    c->opening = false;
    session_end_opening(c->session, c);
    return c->channel ? 1 : set_open_failure(c, rc, err);
}

static ssize_t stream_result(const struct channel_stream *c, ssize_t n)
{
    session_record_result(c->session, n);
    return n == LIBSSH2_ERROR_EAGAIN ? STREAM_AGAIN : n < 0 ? STREAM_BROKEN : n;
}

/* Enlarges the window, because libssh2 itself only restores the window's initial size. If libssh2 has begun
 * to send the message, we must request the same enlargement again until the message is sent. */
static int enlarge_window(struct channel_stream *c)
{
    if (!c->enlargement)
        c->enlargement =
            window_enlargement(&c->window, libssh2_channel_window_read_ex(c->channel, NULL, NULL));
    if (!c->enlargement)
        return 0;
    int rc = libssh2_channel_receive_window_adjust2(c->channel, c->enlargement, 1, NULL);
    if (rc != LIBSSH2_ERROR_EAGAIN)
        c->enlargement = 0;
    return rc;
}

static ssize_t channel_read(struct stream *st, void *p, size_t n)
{
    struct channel_stream *c = to_channel(st);
    ssize_t got = enlarge_window(c);
    if (got < 0)
        return stream_result(c, got);
    got = session_read_channel(c->session, c->channel, p, n);
    if (got == 0)
        return libssh2_channel_eof(c->channel) ? STREAM_EOF : STREAM_AGAIN;
    if (got > 0)
        window_record_read(&c->window, (size_t)got, clock_now());
    return stream_result(c, got);
}

static ssize_t channel_write(struct stream *st, const void *p, size_t n)
{
    struct channel_stream *c = to_channel(st);
    if (session_is_congested(c->session))
        return STREAM_AGAIN;
    ssize_t sent = session_write_channel(c->session, c->channel, p, n);
    return sent == 0 ? STREAM_AGAIN : stream_result(c, sent);
}

static int channel_finish(struct stream *st)
{
    return libssh2_channel_send_eof(to_channel(st)->channel) == LIBSSH2_ERROR_EAGAIN ? 0 : 1;
}

static void channel_discard(struct stream *st)
{
    /* The session frees its channels itself. */
    session_end_opening(to_channel(st)->session, to_channel(st));
    buf_release(&to_channel(st)->message);
    free(st);
}

static int channel_close(struct stream *st)
{
    struct channel_stream *c = to_channel(st);
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

struct stream *stream_channel(struct session *session, const struct destination *to, struct err *err)
{
    struct channel_stream *c = calloc(1, sizeof *c);
    if (!c) {
        err_nomem(err);
        return NULL;
    }
    c->stream.type = &channel_type;
    c->session = session;
    c->to = to;
    buf_init(&c->message, MESSAGE_MAX);
    write_message(to, &c->message);
    if (buf_check(&c->message, "the destination's name", err) == 0)
        return &c->stream;
    channel_discard(&c->stream);
    return NULL;
}
