#include "gateway/link.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/ssh/destination.h"
#include "gateway/listener.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* How long we wait for the stream to confirm the end of a connection. */
#define CLOSE_TIMEOUT_MS 30000

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct link *link_new(int fd, const struct destination *to, struct err *err)
{
    struct link *l = calloc(1, sizeof *l);
    if (!l) {
        fd_close(&fd);
        err_nomem(err);
        return NULL;
    }
    l->fd = fd;
    l->reply_fd = -1;
    l->up.data = malloc(LINK_BUFFER);
    l->down.data = malloc(LINK_BUFFER);
    if (!l->up.data || !l->down.data)
        err_nomem(err);
    else if (destination_copy(to, &l->to, err) == 0 && fd_set_nonblocking(fd, true, err) == 0)
        return l;
    link_free(l);
    return NULL;
}

void link_free(struct link *l)
{
    if (l->stream)
        l->stream->type->discard(l->stream);
    destination_release(&l->to);
    fd_close(&l->fd);
    fd_close(&l->reply_fd);
    free(l->up.data);
    free(l->down.data);
    free(l);
}

void link_start(struct link *l, struct stream *stream, int64_t deadline)
{
    l->stream = stream;
    l->deadline = deadline;
}

/* Reports the opening (ERR_NONE) or its error to the dialler. A pipe transfers a struct err in one piece. */
static void send_reply(struct link *l, const struct err *why)
{
    if (l->reply_fd >= 0 && write(l->reply_fd, why, sizeof *why) < 0)
        l->peer_closed = true;
    fd_close(&l->reply_fd);
}

static void set_state(struct link *l, enum link_state next)
{
    if (l->state == LINK_OPENING && l->listener)
        listener_count_opening(l->listener, -1);
    l->state = next;
}

/* Closes the local end and reports the end of the link. `why` is NULL if nothing failed, or if the local peer
 * has closed its end. */
static void begin_closing(struct link *l, const struct err *why)
{
    struct gateway_end end = {.sent = l->up.n_moved, .received = l->down.n_moved, .failure = why};
    fd_close(&l->fd);
    l->deadline = clock_deadline(CLOSE_TIMEOUT_MS);
    if (l->watch.ended)
        l->watch.ended(l->watch.ctx, &end);
    set_state(l, l->stream ? LINK_CLOSING : LINK_GONE);
}

void link_fail(struct link *l, const struct err *why)
{
    send_reply(l, why);
    if (l->listener && !l->peer_closed)
        listener_set_failure(l->listener, why);
    l->broken = false;
    if (l->state == LINK_OPENING || l->state == LINK_OPEN)
        begin_closing(l, l->peer_closed ? NULL : why);
}

static bool advance_opening(struct link *l)
{
    struct err why = ERR_INIT;
    int rc = l->stream->type->open(l->stream, &why);
    if (rc == 0 && clock_now() > l->deadline) {
        char name[DESTINATION_NAME];
        rc = failure_set(FAILURE_FORWARD_SLOW, FAILURE_DETAILS(destination_name(&l->to, name)), &why);
    }
    if (rc < 0) {
        link_fail(l, &why);
        return true;
    }
    if (rc == 0)
        return false;
    set_state(l, LINK_OPEN);
    l->was_open = true;
    send_reply(l, &(struct err)ERR_INIT);
    return true;
}

static ssize_t local_read(struct link *l, void *p, size_t n)
{
    ssize_t got = recv(l->fd, p, n, 0);
    if (got == 0)
        return STREAM_EOF;
    return got > 0 ? got : errno == EAGAIN || errno == EINTR ? STREAM_AGAIN : STREAM_BROKEN;
}

static ssize_t local_write(struct link *l, const void *p, size_t n)
{
    ssize_t sent = send(l->fd, p, n, MSG_NOSIGNAL);
    return sent >= 0 ? sent : errno == EAGAIN || errno == EINTR ? STREAM_AGAIN : STREAM_BROKEN;
}

/* Records that the local peer has closed its end, so that the link ends without an error. Returns -1. */
static int set_peer_closed(struct link *l)
{
    l->peer_closed = true;
    return -1;
}

/* Moves data from the local peer to the stream. Returns -1 if the link is broken. */
static int move_up(struct link *l, bool *progress)
{
    struct link_flow *f = &l->up;
    if (f->from == f->to && !f->source_ended) {
        ssize_t n = local_read(l, f->data, LINK_BUFFER);
        if (n == STREAM_BROKEN)
            return set_peer_closed(l);
        f->source_ended = n == STREAM_EOF;
        f->from = 0;
        f->to = n > 0 ? (size_t)n : 0;
    }
    if (f->from < f->to) {
        ssize_t n = l->stream->type->write(l->stream, f->data + f->from, f->to - f->from);
        if (n == STREAM_BROKEN) {
            /* The far end has stopped reading, but may still send, for example its reason. move_down decides
             * how the connection ended. */
            f->from = f->to;
            f->source_ended = f->end_sent = true;
            *progress = true;
        }
        if (n > 0) {
            f->from += (size_t)n;
            f->n_moved += (uint64_t)n;
            *progress = true;
        }
    }
    if (f->from == f->to && f->source_ended && !f->end_sent) {
        if (l->peer_closed)
            return -1;
        f->end_sent = l->stream->type->finish(l->stream) == 1;
        *progress = *progress || f->end_sent;
    }
    return 0;
}

/* Moves data from the stream to the local peer. Returns -1 if the link is broken. */
static int move_down(struct link *l, bool *progress)
{
    struct link_flow *f = &l->down;
    if (f->from == f->to && !f->source_ended) {
        ssize_t n = l->stream->type->read(l->stream, f->data, LINK_BUFFER);
        if (n == STREAM_BROKEN)
            return -1;
        f->source_ended = n == STREAM_EOF;
        f->from = 0;
        f->to = n > 0 ? (size_t)n : 0;
    }
    if (f->from < f->to) {
        ssize_t n = local_write(l, f->data + f->from, f->to - f->from);
        if (n == STREAM_BROKEN)
            return set_peer_closed(l);
        if (n > 0) {
            f->from += (size_t)n;
            f->n_moved += (uint64_t)n;
            *progress = true;
        }
    }
    if (f->from == f->to && f->source_ended && !f->end_sent) {
        shutdown(l->fd, SHUT_WR);
        f->end_sent = *progress = true;
    }
    return 0;
}

bool link_advance(struct link *l)
{
    bool progress = false;
    switch (l->state) {
    case LINK_OPENING:
        return advance_opening(l);
    case LINK_OPEN:
        if (l->broken)
            return false;
        l->broken = move_up(l, &progress) < 0 || move_down(l, &progress) < 0;
        if (!l->broken && l->up.end_sent && l->down.end_sent)
            begin_closing(l, NULL);
        return progress || l->state != LINK_OPEN;
    case LINK_CLOSING:
        if (l->stream->type->close(l->stream) == 0) {
            /* Wait for an opening in progress without a deadline, because libssh2 cannot cancel it. */
            if (!l->was_open || clock_now() < l->deadline)
                return false;
            l->stream->type->discard(l->stream);
        }
        l->stream = NULL;
        l->state = LINK_GONE;
        return true;
    case LINK_GONE:
        break;
    }
    return false;
}

bool link_is_reading_session(const struct link *l)
{
    if (l->state != LINK_OPEN)
        return l->state != LINK_GONE;
    return l->up.from < l->up.to || (l->down.from == l->down.to && !l->down.source_ended);
}

void link_poll_entries(const struct link *l, struct pollfd ret[LINK_POLLS])
{
    ret[0] = (struct pollfd){.fd = l->fd};
    for (size_t i = 1; i < LINK_POLLS; i++)
        ret[i] = (struct pollfd){.fd = -1};
    bool up_waits = l->up.from < l->up.to, down_waits = l->down.from < l->down.to;
    bool is_open = l->state == LINK_OPEN;
    if (is_open)
        ret[0].events = (short)((!up_waits && !l->up.source_ended ? POLLIN : 0) | (down_waits ? POLLOUT : 0));
    /* Poll would report the closed peer repeatedly while the remaining data is sent. */
    if (l->peer_closed && !(ret[0].events & POLLIN))
        ret[0].fd = -1;
    if (l->stream)
        l->stream->type->poll(l->stream, is_open && !down_waits && !l->down.source_ended,
                              l->state == LINK_OPENING || up_waits, &ret[1]);
}

void link_process_polled(struct link *l, const struct pollfd polled[LINK_POLLS])
{
    if (!(polled[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
        return;
    l->peer_closed = true;
    /* Stop if no data of the peer remains to be sent. */
    bool sending = l->up.from < l->up.to || (polled[0].revents & POLLIN);
    if (l->state == LINK_OPENING || (l->state == LINK_OPEN && !sending))
        begin_closing(l, NULL);
}
