/*
 * One turn of the loop: take what is in the mailbox, accept on the listeners, move every link until none can
 * move any more (libssh2 reads packets of all channels when asked for one, and poll does not tell of those),
 * send keepalives, wait.
 */
#include "gateway/hub.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "gateway/destination.h"
#include "gateway/openssh.h"
#include "gateway/session.h"
#include "base/banned.h"

/* A destination that has not answered for so long, while others wait for their turn, gets a session to
 * itself. */
#define STUCK_MS 1500
#define STUCK_BUSY_MS 5000
#define STUCK_SPARE_MS 250

/* After so many rounds without waiting, the mailbox and the listeners get their turn. */
#define ROUNDS_MAX 64

struct hub {
    pthread_t thread;
    struct session *session; /* the carrier; at most one of them */
    struct openssh *openssh;
    struct gateway_options options;
    struct link *links;
    struct gateway_listener *listeners;
    struct pollfd *polled;
    size_t cap_polled;
    int64_t next_keepalive;
    struct err fate;       /* why the carrier ended; ERR_NONE while it lives */
    const void *opening;   /* the session's, as seen in the last turn */
    int64_t opening_since; /* when it was seen first */
    bool stuck;

    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t gave;   /* wants_listeners was answered */
    struct link *new_links;
    struct gateway_listener *new_listeners;
    bool wants_listeners; /* somebody waits for `given` */
    struct gateway_listener *given;
    bool stopping;
    enum hub_state state;
    bool idle;
    struct err why; /* of a state that is not fit */
    int lost[2];    /* -1 until somebody asks for it */
    int wake[2];
};

void carrier_close(struct carrier *c)
{
    session_close(c->session);
    openssh_close(c->openssh);
    *c = (struct carrier){0};
}

void hub_add_link(struct hub *h, struct link *l)
{
    pthread_mutex_lock(&h->mutex);
    l->next = h->new_links;
    h->new_links = l;
    pthread_mutex_unlock(&h->mutex);
    fd_ring(h->wake[1]);
}

/* Puts list in front of *head. */
static void prepend(struct gateway_listener **head, struct gateway_listener *list)
{
    struct gateway_listener **end = &list;
    while (*end)
        end = &(*end)->next;
    *end = *head;
    *head = list;
}

void hub_add_listeners(struct hub *h, struct gateway_listener *list)
{
    pthread_mutex_lock(&h->mutex);
    prepend(&h->new_listeners, list);
    pthread_mutex_unlock(&h->mutex);
    fd_ring(h->wake[1]);
}

struct gateway_listener *hub_take_listeners(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
    h->wants_listeners = true;
    fd_ring(h->wake[1]);
    while (h->wants_listeners)
        pthread_cond_wait(&h->gave, &h->mutex);
    struct gateway_listener *list = h->given;
    h->given = NULL;
    pthread_mutex_unlock(&h->mutex);
    return list;
}

enum hub_state hub_state(struct hub *h, struct err *err)
{
    pthread_mutex_lock(&h->mutex);
    enum hub_state state = h->state;
    if (state != HUB_FIT && err)
        *err = h->why;
    pthread_mutex_unlock(&h->mutex);
    return state;
}

bool hub_is_idle(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
    bool idle = h->idle && !h->new_links;
    pthread_mutex_unlock(&h->mutex);
    return idle;
}

/* One byte, which nobody takes, for as long as it is not fit. */
static void tell_lost(struct hub *h)
{
    if (h->lost[1] < 0)
        return;
    if (h->state == HUB_FIT)
        fd_drain(h->lost[0]);
    else
        fd_ring(h->lost[1]);
}

int hub_lost_fd(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
    if (h->lost[0] < 0 && fd_pipe_nonblocking(h->lost, NULL) == 0)
        tell_lost(h);
    int fd = h->lost[0];
    pthread_mutex_unlock(&h->mutex);
    return fd;
}

static void set_state(struct hub *h, enum hub_state state, const struct err *why)
{
    pthread_mutex_lock(&h->mutex);
    if (h->state != state && h->state != HUB_ENDED) {
        h->state = state;
        h->why = *why;
        tell_lost(h);
    }
    pthread_mutex_unlock(&h->mutex);
}

int hub_dial(struct hub *h, const struct destination *to, int cancel_fd, int *ret_fd, struct err *err)
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
    if (fd_wait(answer[0], POLLIN, clock_deadline(h->options.step_timeout_ms + 2000), cancel_fd, err) < 0)
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

/* A new link's way to its destination. */
static struct stream *new_stream(const struct hub *h, const struct link *l, int64_t deadline, struct err *err)
{
    if (h->session)
        return stream_channel(h->session, &l->to, err);
    if (h->openssh)
        return stream_openssh(h->openssh, &l->to, err);
    return stream_socket(&l->to, deadline, h->options.cancel_fd, err);
}

/* Gives a new link its stream and puts it among the others. */
static void begin(struct hub *h, struct link *l)
{
    struct err why = h->why;
    struct stream *stream = NULL;
    int64_t deadline = clock_deadline(h->options.step_timeout_ms);
    if (h->fate.kind == ERR_NONE && !h->stuck)
        stream = new_stream(h, l, deadline, &why);
    l->next = h->links;
    h->links = l;
    if (stream)
        link_start(l, stream, deadline);
    else
        link_fail(l, &why);
}

/* False when it is time to stop. */
static bool open_mailbox(struct hub *h)
{
    fd_drain(h->wake[0]);
    pthread_mutex_lock(&h->mutex);
    struct link *links = h->new_links;
    h->new_links = NULL;
    prepend(&h->listeners, h->new_listeners);
    h->new_listeners = NULL;
    if (h->wants_listeners) {
        h->given = h->listeners;
        h->listeners = NULL;
        h->wants_listeners = false;
        pthread_cond_broadcast(&h->gave);
    }
    bool stopping = h->stopping;
    pthread_mutex_unlock(&h->mutex);
    while (links) {
        struct link *next = links->next;
        begin(h, links);
        links = next;
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

/* The carrier is over: every link ends with the reason, and so does each that still comes. */
static void die(struct hub *h)
{
    set_state(h, HUB_ENDED, &h->fate);
    for (struct link *l = h->links; l; l = l->next)
        link_fail(l, &h->fate);
    while (h->links) {
        struct link *next = h->links->next;
        link_free(h->links);
        h->links = next;
    }
}

static int64_t silence_ms(const struct hub *h)
{
    return h->options.silence_ms ? h->options.silence_ms : 3 * h->options.keepalive_ms;
}

/* Finds out whether the session still lives, and keeps it alive. */
static void check_session(struct hub *h)
{
    struct wire *w = &h->session->wire;
    int64_t now = clock_now();
    wire_flush(w);
    /* While nobody takes what came there is no telling whether more would come. */
    if (!(wire_events(w) & POLLIN))
        w->last_rx = now;
    if (w->error || (w->eof && w->in.len == 0) || h->session->disconnect[0] || h->session->fatal) {
        session_error(h->session, h->session->fatal, "the SSH session was lost", &h->fate);
    } else if (now - w->last_rx > silence_ms(h)) {
        err_set(&h->fate, ERR_TIMEOUT, "the SSH session is dead: nothing came for %lld s",
                (long long)(now - w->last_rx) / 1000);
    } else if (now >= h->next_keepalive) {
        int ignored;
        session_note(h->session, libssh2_keepalive_send(h->session->ssh, &ignored));
        h->next_keepalive = now + h->options.keepalive_ms;
    }
    if (h->fate.kind != ERR_NONE)
        h->fate.kind = ERR_LOST;
}

static void check_carrier(struct hub *h)
{
    if (h->fate.kind != ERR_NONE)
        return;
    if (h->session)
        check_session(h);
    else if (h->openssh && !openssh_ended(h->openssh, &h->fate))
        h->fate.kind = ERR_NONE;
    if (h->fate.kind != ERR_NONE)
        die(h);
}

/* Until when the channel that opens may keep others waiting. Its answer may be on its way behind bytes of
 * theirs, so it gets a little longer while those come. */
static int64_t turn_ends(const struct hub *h)
{
    int64_t last_rx = h->session->wire.last_rx;
    int64_t quiet_since = last_rx > h->opening_since ? last_rx : h->opening_since;
    return clock_least(quiet_since + STUCK_MS, h->opening_since + STUCK_BUSY_MS);
}

/* When those that wait for their turn to open have waited long enough, which is before their own time is up;
 * CLOCK_NEVER when nobody does. Also finds the one that has its turn. */
static int64_t patience_ends(const struct hub *h, const struct link **ret_opening)
{
    int64_t end = CLOCK_NEVER;
    for (const struct link *l = h->links; h->session && h->opening && l; l = l->next) {
        if (l->stream == h->opening)
            *ret_opening = l;
        else if (l->state == LINK_OPENING)
            end = clock_least(end, l->deadline - STUCK_SPARE_MS);
    }
    return end == CLOCK_NEVER ? end : clock_least(end, turn_ends(h));
}

/* Sends everybody away but the one whose turn it is. */
static void get_stuck(struct hub *h, const struct link *opening)
{
    struct err why = ERR_INIT;
    char name[DESTINATION_NAME] = "a destination";
    if (opening)
        destination_name(&opening->to, name);
    err_set(&why, ERR_LOST, "the SSH session waits for %s, which does not answer", name);
    h->stuck = true;
    set_state(h, HUB_STUCK, &why);
    for (struct link *l = h->links; l; l = l->next)
        if (l->state == LINK_OPENING && l != opening)
            link_fail(l, &why);
}

/*
 * libssh2 opens one channel at a time and cannot be told to give up: those that wait behind a destination
 * which does not answer are sent elsewhere. The session is not fit for more until that one is settled.
 */
static void check_turn(struct hub *h)
{
    const struct link *opening = NULL;
    if (!h->session || h->fate.kind != ERR_NONE)
        return;
    if (h->session->opening != h->opening) {
        h->opening = h->session->opening;
        h->opening_since = clock_now();
        if (h->stuck)
            set_state(h, HUB_FIT, &(struct err)ERR_INIT);
        h->stuck = false;
    }
    if (h->opening && !h->stuck && clock_now() >= patience_ends(h, &opening))
        get_stuck(h, opening);
}

/* For those who would rather have another session than this one. */
static void note_idle(struct hub *h)
{
    bool idle = true;
    for (const struct link *l = h->links; l; l = l->next)
        idle = idle && l->state != LINK_OPENING && l->state != LINK_OPEN;
    pthread_mutex_lock(&h->mutex);
    h->idle = idle;
    pthread_mutex_unlock(&h->mutex);
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

/* What to wait for on behalf of the carrier. */
static struct pollfd carrier_poll(const struct hub *h)
{
    /* A descriptor nothing is wanted of is left out: poll tells of its end again and again. */
    struct pollfd none = {.fd = -1};
    if (h->fate.kind != ERR_NONE || (!h->session && !h->openssh))
        return none;
    if (h->openssh)
        return (struct pollfd){.fd = openssh_fd(h->openssh), .events = POLLIN};
    short events = wire_events(&h->session->wire);
    return events ? (struct pollfd){.fd = h->session->wire.fd, .events = events} : none;
}

/* Fills h->polled: the mailbox, the carrier, the listeners, LINK_POLLS for each link. Returns how many, 0
 * without memory. */
static size_t gather(struct hub *h)
{
    size_t n = 2, need = 2;
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        need++;
    for (const struct link *l = h->links; l; l = l->next)
        need += LINK_POLLS;
    if (array_reserve((void **)&h->polled, &h->cap_polled, need, sizeof *h->polled, NULL) < 0)
        return 0;
    h->polled[0] = (struct pollfd){.fd = h->wake[0], .events = POLLIN};
    h->polled[1] = carrier_poll(h);
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        h->polled[n++] = (struct pollfd){.fd = listener->rest_until ? -1 : listener->fd, .events = POLLIN};
    for (const struct link *l = h->links; l; l = l->next, n += LINK_POLLS)
        link_poll(l, &h->polled[n]);
    return n;
}

static int64_t next_deadline(const struct hub *h)
{
    int64_t deadline = CLOCK_NEVER;
    if (h->session && h->fate.kind == ERR_NONE)
        deadline = h->next_keepalive;
    const struct link *opening = NULL;
    if (!h->stuck)
        deadline = clock_least(deadline, patience_ends(h, &opening));
    for (const struct link *l = h->links; l; l = l->next)
        if (l->state == LINK_OPENING)
            deadline = clock_least(deadline, l->deadline + 1);
    for (const struct gateway_listener *listener = h->listeners; listener; listener = listener->next)
        if (listener->rest_until)
            deadline = clock_least(deadline, listener->rest_until);
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
        at -= LINK_POLLS;
    for (struct link *l = h->links; l; l = l->next, at += LINK_POLLS)
        link_polled(l, &h->polled[at]);
    /* Where links read, libssh2 takes the bytes from the descriptor itself, without a copy on the way. While
     * the wire is congested a link that only writes does not get as far as libssh2. */
    bool read = false;
    for (const struct link *l = h->links; l; l = l->next)
        read = read || (link_reads(l) && !(h->session && wire_congested(&h->session->wire)));
    if (h->session && (h->polled[1].revents & (POLLIN | POLLHUP | POLLERR)) && !read)
        wire_fill(&h->session->wire);
}

/* What the server asks (a keepalive, new keys) is answered when libssh2 reads; without links nobody reads. */
static void listen_idle(struct hub *h)
{
    if (h->session && h->fate.kind == ERR_NONE && (!h->links || h->session->opening == &h->session->ear))
        session_listen(h->session);
}

static void *run(void *ctx)
{
    struct hub *h = ctx;
    while (open_mailbox(h)) {
        accept_all(h);
        bool busy = true;
        for (int i = 0; busy && i < ROUNDS_MAX; i++)
            busy = advance_links(h);
        listen_idle(h);
        check_carrier(h);
        check_turn(h);
        note_idle(h);
        fail_broken(h);
        if (!busy)
            wait_for_work(h);
    }
    err_set(&h->fate, ERR_CANCELLED, "the gateway was closed");
    die(h);
    return NULL;
}

static void hub_free(struct hub *h)
{
    carrier_close(&(struct carrier){h->session, h->openssh});
    fd_close(&h->wake[0]);
    fd_close(&h->wake[1]);
    fd_close(&h->lost[0]);
    fd_close(&h->lost[1]);
    pthread_cond_destroy(&h->gave);
    pthread_mutex_destroy(&h->mutex);
    free(h->polled);
    free(h);
}

int hub_start(struct carrier *carrier, const struct gateway_options *options, struct hub **ret,
              struct err *err)
{
    struct hub *h = calloc(1, sizeof *h);
    if (!h) {
        carrier_close(carrier);
        return err_nomem(err);
    }
    *h = (struct hub){.session = carrier->session,
                      .openssh = carrier->openssh,
                      .options = {.cancel_fd = options->cancel_fd,
                                  .step_timeout_ms = options->step_timeout_ms,
                                  .keepalive_ms = options->keepalive_ms,
                                  .silence_ms = options->silence_ms},
                      .idle = true,
                      .lost = {-1, -1},
                      .wake = {-1, -1}};
    *carrier = (struct carrier){0};
    h->next_keepalive = clock_now() + options->keepalive_ms;
    if (h->session)
        libssh2_keepalive_config(h->session->ssh, 1, 1);
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->gave, NULL);
    if (fd_pipe_nonblocking(h->wake, err) == 0 && thread_start(&h->thread, run, h, err) == 0) {
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
    fd_ring(h->wake[1]);
    pthread_join(h->thread, NULL);
    /* What came into the mailbox after the thread's last look. */
    open_mailbox(h);
    die(h);
    hub_free(h);
}
