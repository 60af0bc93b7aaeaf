/*
 * A TCP destination is a stdio forwarding of the master. The master reads from one socketpair and writes to
 * another, so that each direction can end separately. Older OpenSSH cannot forward a Unix socket in this way:
 * the master listens on a local socket instead, and we connect to it.
 *
 * Each stream has its own connection to the master, and sends requests only when it opens and when it closes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/ssh/destination.h"
#include "gateway/openssh/openssh_internal.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/open_failure.h"
#include "base/banned.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

enum { REQUEST_OPEN = 1, REQUEST_CLOSE };

struct openssh_stream {
    struct stream stream;
    struct openssh *master;
    const struct destination *to;
    struct mux mux;
    int in, out;   /* data from and to the SSH server; for a Unix socket the same descriptor */
    bool awaiting; /* a Unix socket: the SSH server has not answered yet */
    bool open;
    uint32_t end_check; /* the number of the alive check sent at the end of the connection; 0: not ended */
    char *local_path;   /* a Unix socket: where the master listens; NULL while it does not */
};

static struct openssh_stream *to_openssh(const struct stream *st)
{
    return (struct openssh_stream *)(uintptr_t)st;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Sets the error of a refused opening. Only our own master has a log with the server's answer. */
static int set_refusal(struct openssh_stream *s, const struct mux_message *m, struct err *err)
{
    char text[160], name[DESTINATION_NAME];
    openssh_read_output(s->master);
    if (ssh_log_pop_refusal(&s->master->ssh_log, s->to, text, sizeof text))
        return open_failure_set(s->to, text, err);
    destination_name(s->to, name);
    if (m->type == MUX_PERMISSION_DENIED)
        return failure_set(FAILURE_MASTER_FORBIDS, FAILURE_DETAILS(s->master->path, name, m->reason), err);
    return failure_set(FAILURE_MASTER_UNREACHED, FAILURE_DETAILS(name, s->master->path, m->reason), err);
}

static int connect_local(struct openssh_stream *s, struct err *err)
{
    struct sockaddr_un address;
    if (fd_unix_address(s->local_path, &address, err) < 0)
        return -1;
    s->in = fd_socket(AF_UNIX, err);
    if (s->in < 0 || fd_set_nonblocking(s->in, true, err) < 0)
        return -1;
    s->out = s->in;
    if (connect(s->in, (struct sockaddr *)&address, sizeof address) < 0)
        return err_sys(err, "cannot connect to ssh's forwarding socket %s", s->local_path);
    return 0;
}

static int finish_opening(struct openssh_stream *s, const struct mux_message *m, struct err *err)
{
    if (m->type == MUX_FAILURE || m->type == MUX_PERMISSION_DENIED)
        return set_refusal(s, m, err);
    if (m->id != REQUEST_OPEN || m->type != (s->to->unix_path ? MUX_OK : MUX_SESSION_OPENED))
        return failure_set(FAILURE_MASTER_ANSWER, FAILURE_DETAILS(s->master->path), err);
    if (s->to->unix_path && connect_local(s, err) < 0)
        return -1;
    /* The SSH server connects to its Unix socket only after we connect. Only our own master reports the
     * result.
     */
    s->awaiting = s->to->unix_path && s->master->pid;
    s->open = !s->awaiting;
    return s->open;
}

/* Checks whether the SSH server has accepted the connection. Only the log has its answer. */
static int check_answer(struct openssh_stream *s, struct err *err)
{
    char text[160] = "connect failed", byte;
    openssh_read_output(s->master);
    if (ssh_log_pop_confirmation(&s->master->ssh_log, s->to)) {
        s->open = true;
        return 1;
    }
    if (!ssh_log_pop_refusal(&s->master->ssh_log, s->to, text, sizeof text) &&
        recv(s->in, &byte, 1, MSG_PEEK) != 0)
        return 0;
    return open_failure_set(s->to, text, err);
}

static int openssh_open(struct stream *st, struct err *err)
{
    struct openssh_stream *s = to_openssh(st);
    struct mux_message m;
    int rc;
    if (s->awaiting)
        return check_answer(s, err);
    while ((rc = mux_read(&s->mux, &m, err)) == 1)
        if (m.type != MUX_HELLO)
            return finish_opening(s, &m, err);
    return rc;
}

/* ---- data ---------------------------------------------------------------------------------------------- */

/*
 * A connection that ends together with the master may be cut. A dying process closes its descriptors in an
 * unknown order, so we ask the master: if it answers after the end of the connection, the connection ended
 * normally.
 */
static ssize_t check_end(struct openssh_stream *s, bool failed)
{
    if (!s->end_check)
        s->end_check = openssh_send_alive_check(s->master);
    if (openssh_is_disconnected(s->master))
        return STREAM_BROKEN;
    if (s->master->checks_answered < s->end_check)
        return STREAM_AGAIN;
    return failed ? STREAM_BROKEN : STREAM_EOF;
}

static ssize_t openssh_read(struct stream *st, void *p, size_t n)
{
    struct openssh_stream *s = to_openssh(st);
    ssize_t got = recv(s->in, p, n, 0);
    if (got > 0) {
        cpu_budget_add(&s->master->cpu, got);
        return got;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return STREAM_AGAIN;
    return check_end(s, got < 0);
}

static ssize_t openssh_write(struct stream *st, const void *p, size_t n)
{
    struct openssh_stream *s = to_openssh(st);
    ssize_t sent = send(s->out, p, n, MSG_NOSIGNAL);
    if (sent >= 0) {
        cpu_budget_add(&s->master->cpu, sent);
        return sent;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? STREAM_AGAIN : STREAM_BROKEN;
}

static int openssh_finish(struct stream *st)
{
    shutdown(to_openssh(st)->out, SHUT_WR);
    return 1;
}

/* Stops the master's listener, then unlinks its socket. While the master listens, it grants another client's
 * request for the same path without creating a socket, so that client would find none. */
static void stop_listening(struct openssh_stream *s)
{
    mux_add_unix_forward(&s->mux.out, MUX_CLOSE_FORWARD, REQUEST_CLOSE, s->local_path, s->to->unix_path);
    mux_send(&s->mux, NULL);
    unlink(s->local_path);
}

static int openssh_close_stream(struct stream *st)
{
    struct openssh_stream *s = to_openssh(st);
    if (s->local_path)
        stop_listening(s);
    if (s->out == s->in)
        s->out = -1;
    fd_close(&s->in);
    fd_close(&s->out);
    mux_close(&s->mux);
    free(s->local_path);
    free(s);
    return 1;
}

static void openssh_discard(struct stream *st)
{
    openssh_close_stream(st);
}

static void openssh_poll(const struct stream *st, bool want_read, bool want_write,
                         struct pollfd ret[STREAM_POLLS])
{
    const struct openssh_stream *s = to_openssh(st);
    if (!s->open) {
        ret[0] = (struct pollfd){.fd = s->awaiting ? s->in : s->mux.fd, .events = POLLIN};
        ret[1] = (struct pollfd){.fd = s->awaiting ? s->master->log_fd : -1, .events = POLLIN};
        return;
    }
    if (want_read)
        ret[0] = (struct pollfd){.fd = s->end_check ? s->master->control.fd : s->in, .events = POLLIN};
    if (want_write)
        ret[1] = (struct pollfd){.fd = s->out, .events = POLLOUT};
}

static const struct stream_type openssh_type = {
    .open = openssh_open,
    .read = openssh_read,
    .write = openssh_write,
    .finish = openssh_finish,
    .close = openssh_close_stream,
    .discard = openssh_discard,
    .poll = openssh_poll,
};

/* ---- the request to the master ------------------------------------------------------------------------- */

static int request_tcp(struct openssh_stream *s, struct err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, rc = -1;
    mux_add_stdio_forward(&s->mux.out, REQUEST_OPEN, s->to->host, s->to->port);
    if (fd_socketpair(in, err) == 0 && fd_socketpair(out, err) == 0 &&
        fd_set_nonblocking(in[0], true, err) == 0 && fd_set_nonblocking(out[0], true, err) == 0 &&
        mux_send(&s->mux, err) == 0 && mux_send_fd(&s->mux, out[1], err) == 0 &&
        mux_send_fd(&s->mux, in[1], err) == 0) {
        s->in = in[0];
        s->out = out[0];
        in[0] = out[0] = -1;
        rc = 0;
    }
    for (int i = 0; i < 2; i++) {
        fd_close(&in[i]);
        fd_close(&out[i]);
    }
    return rc;
}

static int request_unix(struct openssh_stream *s, struct err *err)
{
    if (openssh_socket_name(s->master, &s->local_path, err) < 0)
        return -1;
    mux_add_unix_forward(&s->mux.out, MUX_OPEN_FORWARD, REQUEST_OPEN, s->local_path, s->to->unix_path);
    return mux_send(&s->mux, err);
}

struct stream *stream_openssh(struct openssh *o, const struct destination *to, struct err *err)
{
    struct openssh_stream *s = calloc(1, sizeof *s);
    if (!s) {
        err_nomem(err);
        return NULL;
    }
    s->stream.type = &openssh_type;
    s->master = o;
    s->to = to;
    s->in = s->out = -1;
    if (mux_connect(&s->mux, o->path, err) == 0) {
        mux_add_hello(&s->mux.out);
        if ((to->unix_path ? request_unix(s, err) : request_tcp(s, err)) == 0)
            return &s->stream;
    } else if (openssh_is_disconnected(o)) {
        failure_set(FAILURE_SESSION_LOST, FAILURE_DETAILS(NULL), err);
    }
    openssh_close_stream(&s->stream);
    return NULL;
}
