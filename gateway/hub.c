/*
 * One turn of the loop: take what is in the mailbox, accept on the listeners, move every link until none can
 * move any more (libssh2 reads packets of all channels when asked for one, and poll does not tell of those),
 * send keepalives, wait.
 */
#include "gateway/hub.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/session.h"
#include "base/banned.h"

/* After so many rounds without waiting, the mailbox and the listeners get their turn. */
#define ROUNDS_MAX 64

struct hub {
    pthread_t thread;
    struct session *session;
    struct gateway_options options;
    struct link *links;
    struct gateway_listener *listeners;
    struct pollfd *polled;
    size_t cap_polled;
    int64_t next_keepalive;
    struct err fate; /* why the session ended; ERR_NONE while it lives */

    pthread_mutex_t mutex; /* of what follows */
    struct link *new_links;
    struct gateway_listener *new_listeners;
    bool stopping;
    int wake[2];
};

static void wake(struct hub *h)
{
    /* A full pipe wakes it just as well. */
    while (write(h->wake[1], "", 1) < 0 && errno == EINTR)
        ;
}

void hub_add_link(struct hub *h, struct link *l)
{
    pthread_mutex_lock(&h->mutex);
    l->next = h->new_links;
    h->new_links = l;
    pthread_mutex_unlock(&h->mutex);
    wake(h);
}

void hub_add_listener(struct hub *h, struct gateway_listener *l)
{
    pthread_mutex_lock(&h->mutex);
    l->next = h->new_listeners;
    h->new_listeners = l;
    pthread_mutex_unlock(&h->mutex);
    wake(h);
}

int hub_dial(struct hub *h, const struct destination *to, int *ret_fd, struct err *err)
{
    int pair[2] = {-1, -1}, answer[2] = {-1, -1}, rc = -1;
    struct err why = ERR_INIT;
    struct link *l = NULL;
    if (fd_socketpair(pair, err) < 0 || fd_pipe(answer, err) < 0)
        goto out;
    l = link_new(pair[1], to, err);
    pair[1] = -1;
    if (!l)
        goto out;
    l->reply_fd = answer[1];
    answer[1] = -1;
    hub_add_link(h, l);
    /* The thread has a deadline of its own for this and always answers; ours is behind it. */
    if (fd_wait(answer[0], POLLIN, clock_deadline(h->options.step_timeout_ms + 2000), h->options.cancel_fd,
                err) < 0)
        goto out;
    if (read(answer[0], &why, sizeof why) != (ssize_t)sizeof why)
        err_set(&why, ERR_FAILED, "the gateway was closed");
    if (why.kind != ERR_NONE) {
        if (err)
            *err = why;
        goto out;
    }
    *ret_fd = pair[0];
    pair[0] = -1;
    rc = 0;
out:
    for (int i = 0; i < 2; i++) {
        fd_close(&pair[i]);
        fd_close(&answer[i]);
    }
    return rc;
}

/* Gives a new link its stream and puts it among the others. */
static void begin(struct hub *h, struct link *l)
{
    struct err why = h->fate;
    struct stream *stream = NULL;
    if (h->fate.kind == ERR_NONE)
        stream = h->session ? stream_channel(h->session, &l->to, &why) : stream_socket(&l->to, &why);
    l->next = h->links;
    h->links = l;
    if (stream)
        link_start(l, stream, clock_deadline(h->options.step_timeout_ms));
    else
        link_fail(l, &why);
}

/* False when it is time to stop. */
static bool open_mailbox(struct hub *h)
{
    char drained[64];
    while (read(h->wake[0], drained, sizeof drained) > 0)
        ;
    pthread_mutex_lock(&h->mutex);
    struct link *links = h->new_links;
    struct gateway_listener *listeners = h->new_listeners;
    bool stopping = h->stopping;
    h->new_links = NULL;
    h->new_listeners = NULL;
    pthread_mutex_unlock(&h->mutex);
    while (links) {
        struct link *next = links->next;
        begin(h, links);
        links = next;
    }
    while (listeners) {
        struct gateway_listener *next = listeners->next;
        listeners->next = h->listeners;
        h->listeners = listeners;
        listeners = next;
    }
    return !stopping;
}

static void accept_all(struct hub *h)
{
    for (struct gateway_listener *listener = h->listeners; listener; listener = listener->next) {
        int fd;
        while ((fd = listener_accept(listener)) >= 0) {
            struct err why = ERR_INIT;
            struct link *l = link_new(fd, &listener->to, &why);
            if (!l) {
                listener_set_failure(listener, &why);
                continue;
            }
            l->listener = listener;
            begin(h, l);
        }
    }
}

static bool advance_links(struct hub *h)
{
    bool progress = false;
    uint64_t given = h->session ? h->session->wire.given : 0;
    for (struct link **at = &h->links; *at;) {
        struct link *l = *at;
        progress = link_advance(l) || progress;
        if (l->state == LINK_GONE) {
            *at = l->next;
            link_free(l);
        } else {
            at = &l->next;
        }
    }
    /* What the last link had libssh2 read may be the first one's. */
    return progress || (h->session && h->session->wire.given != given);
}

/* The session is over: every link ends with the reason, and so does each that still comes. */
static void die(struct hub *h)
{
    for (struct link *l = h->links; l; l = l->next)
        link_fail(l, &h->fate);
    while (h->links) {
        struct link *next = h->links->next;
        link_free(h->links);
        h->links = next;
    }
}

/* Finds out whether the session still lives, and keeps it alive. */
static void check_session(struct hub *h)
{
    if (!h->session || h->fate.kind != ERR_NONE)
        return;
    struct wire *w = &h->session->wire;
    int64_t now = clock_now();
    wire_flush(w);
    /* While nobody takes what came there is no telling whether more would come. */
    if (!(wire_events(w) & POLLIN))
        w->last_rx = now;
    if (w->error || (w->eof && w->in.len == 0) || h->session->disconnect[0]) {
        session_error(h->session, LIBSSH2_ERROR_SOCKET_DISCONNECT, "the SSH session was lost", &h->fate);
    } else if (now - w->last_rx > 3 * h->options.keepalive_ms) {
        err_set(&h->fate, ERR_TIMEOUT, "the SSH session is dead: nothing came for %lld s",
                (long long)(now - w->last_rx) / 1000);
    } else if (now >= h->next_keepalive) {
        int ignored;
        libssh2_keepalive_send(h->session->ssh, &ignored);
        h->next_keepalive = now + h->options.keepalive_ms;
    }
    if (h->fate.kind != ERR_NONE)
        die(h);
}

/* Links whose stream failed, while the session lives: it was their own connection that ended. */
static void fail_broken(struct hub *h)
{
    struct err why = ERR_INIT;
    err_set(&why, ERR_FAILED, "the connection was closed in the middle");
    for (struct link *l = h->links; l; l = l->next)
        if (l->broken)
            link_fail(l, &why);
}

/* Fills h->polled: the mailbox, the session, the listeners, two for each link. Returns how many, 0 without
 * memory. */
static size_t gather(struct hub *h)
{
    size_t n = 2, need = 2;
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        need++;
    for (const struct link *l = h->links; l; l = l->next)
        need += 2;
    if (array_reserve((void **)&h->polled, &h->cap_polled, need, sizeof *h->polled, NULL) < 0)
        return 0;
    h->polled[0] = (struct pollfd){.fd = h->wake[0], .events = POLLIN};
    /* A descriptor nothing is wanted of is left out: poll tells of its end again and again. */
    short events = 0;
    if (h->session && h->fate.kind == ERR_NONE)
        events = wire_events(&h->session->wire);
    h->polled[1] = (struct pollfd){.fd = events ? h->session->wire.fd : -1, .events = events};
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        h->polled[n++] = (struct pollfd){.fd = listener->rest_until ? -1 : listener->fd, .events = POLLIN};
    for (const struct link *l = h->links; l; l = l->next, n += 2)
        link_poll(l, &h->polled[n]);
    return n;
}

static int64_t next_deadline(const struct hub *h)
{
    int64_t deadline = CLOCK_NEVER;
    if (h->session && h->fate.kind == ERR_NONE)
        deadline = h->next_keepalive;
    for (const struct link *l = h->links; l; l = l->next)
        if (l->state == LINK_OPENING && l->deadline + 1 < deadline)
            deadline = l->deadline + 1;
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        if (listener->rest_until && listener->rest_until < deadline)
            deadline = listener->rest_until;
    return deadline;
}

static void wait_for_work(struct hub *h)
{
    size_t n = gather(h);
    int timeout = n > 0 ? clock_poll_timeout(next_deadline(h)) : 100;
    if (poll(h->polled, (nfds_t)n, timeout) <= 0)
        return;
    size_t at = n;
    for (const struct link *l = h->links; l; l = l->next)
        at -= 2;
    for (struct link *l = h->links; l; l = l->next, at += 2)
        link_polled(l, &h->polled[at]);
    /* Where links read, libssh2 takes the bytes from the descriptor itself, without a copy on the way. While
     * the wire is congested a link that only writes does not get as far as libssh2. */
    bool read = false;
    for (const struct link *l = h->links; l; l = l->next)
        read = read || (link_reads(l) && !(h->session && wire_congested(&h->session->wire)));
    if ((h->polled[1].revents & (POLLIN | POLLHUP | POLLERR)) && !read)
        wire_fill(&h->session->wire);
}

static void *run(void *ctx)
{
    struct hub *h = ctx;
    while (open_mailbox(h)) {
        accept_all(h);
        bool busy = true;
        for (int i = 0; busy && i < ROUNDS_MAX; i++)
            busy = advance_links(h);
        check_session(h);
        fail_broken(h);
        if (!busy)
            wait_for_work(h);
    }
    err_set(&h->fate, ERR_CANCELLED, "the gateway was closed");
    die(h);
    return NULL;
}

int hub_start(struct session *session, const struct gateway_options *options, struct hub **ret,
              struct err *err)
{
    struct hub *h = calloc(1, sizeof *h);
    if (!h) {
        session_close(session);
        return err_nomem(err);
    }
    *h = (struct hub){.session = session, .options = *options, .wake = {-1, -1}};
    h->next_keepalive = clock_now() + options->keepalive_ms;
    if (session)
        libssh2_keepalive_config(session->ssh, 1, 1);
    pthread_mutex_init(&h->mutex, NULL);
    if (fd_pipe(h->wake, err) == 0 && fd_set_nonblocking(h->wake[0], true, err) == 0 &&
        fd_set_nonblocking(h->wake[1], true, err) == 0 && thread_start(&h->thread, run, h, err) == 0) {
        *ret = h;
        return 0;
    }
    fd_close(&h->wake[0]);
    fd_close(&h->wake[1]);
    pthread_mutex_destroy(&h->mutex);
    session_close(session);
    free(h);
    return -1;
}

void hub_stop(struct hub *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->mutex);
    h->stopping = true;
    pthread_mutex_unlock(&h->mutex);
    wake(h);
    pthread_join(h->thread, NULL);
    /* What came into the mailbox after the thread's last look. */
    open_mailbox(h);
    die(h);
    while (h->listeners) {
        struct gateway_listener *next = h->listeners->next;
        listener_free(h->listeners);
        h->listeners = next;
    }
    session_close(h->session);
    fd_close(&h->wake[0]);
    fd_close(&h->wake[1]);
    pthread_mutex_destroy(&h->mutex);
    free(h->polled);
    free(h);
}
