/*
 * Each iteration of the loop reads the mailbox, accepts on the listeners, moves every link until none can
 * move, sends keepalives, and waits. All links move repeatedly, because libssh2 may read packets of other
 * channels when it reads for one channel, and poll does not report packets that are already read.
 */
#include "gateway/hub.h"

#include <stdlib.h>

#include "gateway/hub_internal.h"
#include "gateway/openssh/openssh.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/session.h"
#include "base/banned.h"

/* After this many rounds without a wait, the loop handles the mailbox and the listeners again. */
#define ROUNDS_MAX 64

/* Creates the stream of a new link to its destination. */
static struct stream *new_stream(const struct hub *h, const struct link *l, int64_t deadline, struct err *err)
{
    if (h->session)
        return stream_channel(h->session, &l->to, err);
    if (h->openssh)
        return stream_openssh(h->openssh, &l->to, err);
    return stream_socket(&l->to, deadline, h->limits.cancel_fd, err);
}

/* Gives a new link its stream and adds the link to the list. */
static void start_link(struct hub *h, struct link *l)
{
    struct err why = h->unusable_reason;
    struct stream *stream = NULL;
    int64_t deadline = clock_deadline(h->limits.step_timeout_ms);
    if (h->carrier_error.kind == ERR_NONE && !h->stuck)
        stream = new_stream(h, l, deadline, &why);
    l->next = h->links;
    h->links = l;
    if (stream)
        link_start(l, stream, deadline);
    else
        link_fail(l, &why);
}

/* Starts the links from the mailbox. Returns false when the hub must stop. */
static bool start_new_links(struct hub *h)
{
    struct link *links = NULL;
    bool running = hub_read_mailbox(h, &links);
    while (links) {
        struct link *next = links->next;
        start_link(h, links);
        links = next;
    }
    return running;
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
            listener_count_opening(listener, 1);
            start_link(h, l);
        }
    }
}

static bool advance_links(struct hub *h)
{
    bool progress = false;
    uint64_t received = h->session ? session_bytes_read(h->session) : 0;
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
    /* A read for one channel may queue data for another channel. */
    return progress || (h->session && session_bytes_read(h->session) != received);
}

/* Ends all links with the carrier's error. Links that are added later fail with the same error. */
static void end_links(struct hub *h)
{
    hub_set_state(h, HUB_ENDED, &h->carrier_error);
    for (struct link *l = h->links; l; l = l->next)
        link_fail(l, &h->carrier_error);
    while (h->links) {
        struct link *next = h->links->next;
        link_free(h->links);
        h->links = next;
    }
}

/* Checks whether the session is alive, and sends keepalives. */
static void check_session(struct hub *h)
{
    int64_t now = clock_now();
    if (session_check(h->session, &h->carrier_error) == 0 && now >= h->next_keepalive) {
        session_send_keepalive(h->session);
        h->next_keepalive = now + h->limits.keepalive_ms;
    }
}

static void check_carrier(struct hub *h)
{
    if (h->carrier_error.kind != ERR_NONE)
        return;
    if (h->session)
        check_session(h);
    else if (h->openssh)
        openssh_has_ended(h->openssh, &h->carrier_error);
    if (h->carrier_error.kind != ERR_NONE)
        end_links(h);
}

static bool is_idle(const struct hub *h)
{
    bool idle = true;
    for (const struct link *l = h->links; l; l = l->next)
        idle = idle && l->state != LINK_OPENING && l->state != LINK_OPEN;
    return idle;
}

/* Fails the links with a broken stream. The session is alive; only their connections have ended. Returns true
 * if there was such a link, because the next iteration must close its stream. */
static bool fail_broken_links(struct hub *h)
{
    struct err why = ERR_INIT;
    bool any = false;
    failure_set(FAILURE_FORWARD_CUT, FAILURE_DETAILS(NULL), &why);
    for (struct link *l = h->links; l; l = l->next)
        if (l->broken) {
            link_fail(l, &why);
            any = true;
        }
    return any;
}

/* Returns the entry of the carrier for poll(2). */
static struct pollfd carrier_poll_entry(const struct hub *h)
{
    if (h->carrier_error.kind != ERR_NONE || (!h->session && !h->openssh))
        return (struct pollfd){.fd = -1};
    if (h->openssh)
        return (struct pollfd){.fd = openssh_fd(h->openssh), .events = POLLIN};
    return session_poll_entry(h->session);
}

/* Fills h->polled: the mailbox, the carrier, the listeners, LINK_POLLS for each link. Returns the number of
 * entries, 0 without memory. */
static size_t gather_polls(struct hub *h)
{
    size_t n = 2, need = 2;
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        need++;
    for (const struct link *l = h->links; l; l = l->next)
        need += LINK_POLLS;
    if (array_reserve((void **)&h->polled, &h->cap_polled, need, sizeof *h->polled, NULL) < 0)
        return 0;
    h->polled[0] = (struct pollfd){.fd = h->wake[0], .events = POLLIN};
    h->polled[1] = carrier_poll_entry(h);
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        h->polled[n++] = (struct pollfd){.fd = listener->accept_after ? -1 : listener->fd, .events = POLLIN};
    for (const struct link *l = h->links; l; l = l->next, n += LINK_POLLS)
        link_poll_entries(l, &h->polled[n]);
    return n;
}

static int64_t next_deadline(const struct hub *h)
{
    int64_t deadline = CLOCK_NEVER;
    if (h->session && h->carrier_error.kind == ERR_NONE)
        deadline = h->next_keepalive;
    if (h->openssh && h->carrier_error.kind == ERR_NONE)
        deadline = clock_deadline(OPENSSH_CHECK_MS);
    const struct link *opening = NULL;
    if (!h->stuck)
        deadline = clock_min(deadline, open_queue_deadline(h, &opening));
    for (const struct link *l = h->links; l; l = l->next)
        if (l->state == LINK_OPENING)
            deadline = clock_min(deadline, l->deadline + 1);
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        if (listener->accept_after)
            deadline = clock_min(deadline, listener->accept_after);
    return deadline;
}

static void wait_for_work(struct hub *h)
{
    size_t n = gather_polls(h);
    int timeout = n > 0 ? clock_poll_timeout(next_deadline(h)) : 100;
    if (poll(h->polled, (nfds_t)n, timeout) <= 0)
        return;
    size_t at = n;
    for (const struct link *l = h->links; l; l = l->next)
        at -= LINK_POLLS;
    for (struct link *l = h->links; l; l = l->next, at += LINK_POLLS)
        link_process_polled(l, &h->polled[at]);
    /* Usually a reading link makes libssh2 read the socket. If no link does so, or the session is congested,
     * read ahead here. */
    bool read = false;
    for (const struct link *l = h->links; l; l = l->next)
        read = read || (link_is_reading_session(l) && !(h->session && session_is_congested(h->session)));
    if (h->session && (h->polled[1].revents & (POLLIN | POLLHUP | POLLERR)) && !read)
        session_read_ahead(h->session);
}

/*
 * Lets libssh2 read while there are no links, so that it answers the server's requests (a keepalive, new
 * keys). libssh2 needs a channel for this, the idle channel (session_serve_idle); while that is opening, no
 * link can open. Returns true if the idle channel has stopped opening, so that a waiting link can open now.
 */
static bool serve_idle(struct hub *h)
{
    bool idle_is_opening = h->session && session_idle_is_opening(h->session);
    if (!h->session || h->carrier_error.kind != ERR_NONE || (h->links && !idle_is_opening))
        return false;
    session_serve_idle(h->session);
    return idle_is_opening && !session_opening_owner(h->session) && h->links;
}

static void *run_loop(void *ctx)
{
    struct hub *h = ctx;
    while (start_new_links(h)) {
        accept_all(h);
        bool busy = true;
        for (int i = 0; busy && i < ROUNDS_MAX; i++)
            busy = advance_links(h);
        busy = serve_idle(h) || busy;
        check_carrier(h);
        open_queue_update(h);
        hub_set_idle(h, is_idle(h));
        busy = fail_broken_links(h) || busy;
        if (!busy)
            wait_for_work(h);
    }
    err_set(&h->carrier_error, ERR_CANCELLED, "the gateway was closed");
    end_links(h);
    return NULL;
}

static void hub_free(struct hub *h)
{
    carrier_close(&(struct carrier){h->session, h->openssh});
    fd_close(&h->wake[0]);
    fd_close(&h->wake[1]);
    fd_close(&h->lost[0]);
    fd_close(&h->lost[1]);
    pthread_cond_destroy(&h->listeners_return_cond);
    pthread_mutex_destroy(&h->mutex);
    free(h->polled);
    free(h);
}

int hub_start(struct carrier *carrier, const struct ssh_limits *limits, struct hub **ret, struct err *err)
{
    struct hub *h = calloc(1, sizeof *h);
    if (!h) {
        carrier_close(carrier);
        return err_nomem(err);
    }
    *h = (struct hub){.session = carrier->session,
                      .openssh = carrier->openssh,
                      .limits = *limits,
                      .idle = true,
                      .lost = {-1, -1},
                      .wake = {-1, -1}};
    *carrier = (struct carrier){0};
    h->next_keepalive = clock_now() + limits->keepalive_ms;
    if (h->session)
        session_end_login(h->session);
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->listeners_return_cond, NULL);
    if (fd_pipe_nonblocking(h->wake, err) == 0 && thread_start(&h->thread, run_loop, h, err) == 0) {
        *ret = h;
        return 0;
    }
    hub_free(h);
    return -1;
}

void hub_stop(struct hub *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->mutex);
    h->stopping = true;
    pthread_mutex_unlock(&h->mutex);
    fd_pipe_wake(h->wake[1]);
    pthread_join(h->thread, NULL);
    /* Fail the links that arrived after the thread's last check. */
    start_new_links(h);
    end_links(h);
    hub_free(h);
}
