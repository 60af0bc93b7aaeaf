/* The caller's thread runs the loop. gateway_renew takes long, so it runs in a temporary thread. The
 * gateway's threads report ended connections through a list. */
#include "gateway/forward.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/gateway.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

#define PAUSE_FIRST_MS 250
#define PAUSE_LONGEST_MS 30000
/* The pause after accept has failed, for example because no descriptor is free. */
#define ACCEPT_PAUSE_MS 100

struct connection {
    struct connection *next; /* in the list of ended connections */
    struct forward *forward;
    size_t mapping;
    char from[LOCAL_ADDRESS_NAME];
    int64_t began;
    struct gateway_end end;
    struct err failure; /* end.failure points here */
};

struct forward {
    struct gateway *gw;
    const struct forward_mapping *mappings;
    size_t n_mappings;
    const struct forward_options *options;
    struct pollfd *polled; /* cancel, wake, the lost session, then the listeners */
    int64_t accept_after;  /* accept failed: call it again at this time; 0: no failure */

    bool session_lost;    /* the session is lost and not renewed yet */
    int64_t since;        /* clock_now() when the session was lost or opened */
    int64_t pause_ms;     /* before the next attempt */
    int64_t next_attempt; /* CLOCK_NEVER during an attempt */
    pthread_t renewal;    /* the thread of gateway_renew */
    bool renewing;
    struct err renewal_error; /* ERR_NONE: success */

    pthread_mutex_t mutex;    /* guards the members below */
    struct connection *ended; /* the connections to report */
    bool renewal_ended;       /* gateway_renew has returned, and the loop has not noticed it yet */
    int wake[2];
};
enum { POLL_CANCEL, POLL_WAKE, POLL_LOST, POLL_LISTENERS };

/* ---- connections --------------------------------------------------------------------------------------- */

static void report_connection(struct forward *f, enum forward_event_kind kind, const struct connection *c)
{
    struct forward_event event = {.kind = kind,
                                  .mapping = c->mapping,
                                  .from = c->from,
                                  .sent = c->end.sent,
                                  .received = c->end.received,
                                  .ms = clock_now() - c->began,
                                  .failure = c->failure.kind == ERR_NONE ? NULL : &c->failure};
    f->options->report(f->options->ctx, &event);
}

/* A thread of the gateway calls this. */
static void on_end(void *ctx, const struct gateway_end *end)
{
    struct connection *c = ctx;
    struct forward *f = c->forward;
    c->end = *end;
    if (end->failure)
        c->failure = *end->failure;
    pthread_mutex_lock(&f->mutex);
    c->next = f->ended;
    f->ended = c;
    pthread_mutex_unlock(&f->mutex);
    fd_pipe_wake(f->wake[1]);
}

static void report_ended(struct forward *f)
{
    fd_pipe_drain(f->wake[0]);
    pthread_mutex_lock(&f->mutex);
    struct connection *c = f->ended;
    f->ended = NULL;
    pthread_mutex_unlock(&f->mutex);
    while (c) {
        struct connection *next = c->next;
        report_connection(f, FORWARD_CLOSED, c);
        free(c);
        c = next;
    }
}

/* Forwards the connection, or closes it if that is impossible. */
static void forward_connection(struct forward *f, size_t mapping, int fd, struct connection *c)
{
    struct gateway_watch watch = {.ended = on_end, .ctx = c};
    c->forward = f;
    c->mapping = mapping;
    c->began = clock_now();
    report_connection(f, FORWARD_CONNECTED, c);
    if (f->session_lost)
        failure_set(FAILURE_NO_SESSION, FAILURE_DETAILS(NULL), &c->failure);
    else if (gateway_attach(f->gw, fd, &f->mappings[mapping].to, &watch, &c->failure) == 0)
        return;
    else
        fd = -1;
    fd_close(&fd);
    report_connection(f, FORWARD_CLOSED, c);
    free(c);
}

static void accept_all(struct forward *f)
{
    for (size_t i = 0; i < f->n_mappings; i++) {
        while (f->polled[POLL_LISTENERS + i].revents) {
            struct connection *c = calloc(1, sizeof *c);
            int fd = c ? local_listener_accept(f->mappings[i].listener, c->from) : -1;
            if (fd >= 0) {
                forward_connection(f, i, fd, c);
                continue;
            }
            /* Without a free descriptor or memory the connection stays in the listener's queue, so an
             * immediate retry would spin. */
            if (!c || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED))
                f->accept_after = clock_now() + ACCEPT_PAUSE_MS;
            free(c);
            break;
        }
    }
}

/* ---- sessions ------------------------------------------------------------------------------------------ */

static void report_session(struct forward *f, enum forward_event_kind kind, int64_t ms,
                           const struct err *failure)
{
    struct forward_event event = {.kind = kind, .ms = ms, .failure = failure};
    f->options->report(f->options->ctx, &event);
}

/* Sets the time of the next attempt, and doubles the pause after it. Returns the milliseconds until then. */
static int64_t schedule_retry(struct forward *f)
{
    int64_t ms = clock_jitter(f->pause_ms);
    f->pause_ms = clock_min(2 * f->pause_ms, PAUSE_LONGEST_MS);
    f->next_attempt = clock_now() + ms;
    return ms;
}

static void handle_loss(struct forward *f)
{
    int64_t now = clock_now();
    struct err why = ERR_INIT;
    if (gateway_check_usable(f->gw, &why) == 0)
        return; /* a stuck session has recovered */
    /* Keep the long pause if the session is lost soon after its opening. */
    if (now - f->since > PAUSE_LONGEST_MS)
        f->pause_ms = PAUSE_FIRST_MS;
    f->session_lost = true;
    f->since = now;
    report_session(f, FORWARD_SESSION_LOST, 0, &why);
    schedule_retry(f);
}

static void *renew_gateway(void *ctx)
{
    struct forward *f = ctx;
    struct err failure = ERR_INIT;
    int rc = gateway_renew(f->gw, &failure);
    pthread_mutex_lock(&f->mutex);
    f->renewal_error = rc < 0 ? failure : (struct err)ERR_INIT;
    f->renewal_ended = true;
    pthread_mutex_unlock(&f->mutex);
    fd_pipe_wake(f->wake[1]);
    return NULL;
}

/* Joins the thread if gateway_renew has returned. Returns whether it has. */
static bool finish_renewal(struct forward *f)
{
    pthread_mutex_lock(&f->mutex);
    bool ended = f->renewal_ended;
    f->renewal_ended = false;
    pthread_mutex_unlock(&f->mutex);
    if (ended) {
        pthread_join(f->renewal, NULL);
        f->renewing = false;
    }
    return ended;
}

/* Reports the result of a renewal. After a failure schedules a retry, or returns -1 if a retry is useless. */
static int handle_renewal_result(struct forward *f, struct err *err)
{
    const struct err *failure = &f->renewal_error;
    if (failure->kind == ERR_NONE) {
        report_session(f, FORWARD_RECONNECTED, clock_now() - f->since, NULL);
        f->session_lost = false;
        f->since = clock_now();
        return 0;
    }
    if (failure->kind == ERR_CANCELLED || f->options->is_permanent(f->options->ctx, failure)) {
        if (err)
            *err = *failure;
        return -1;
    }
    int64_t ms = schedule_retry(f);
    report_session(f, FORWARD_RECONNECT_FAILED, ms, failure);
    return 0;
}

/* Notices a lost session and its renewal, and starts a renewal when it is due. Returns -1 if a retry is
 * useless. */
static int handle_session(struct forward *f, struct err *err)
{
    if (!f->session_lost && f->polled[POLL_LOST].revents)
        handle_loss(f);
    if (!f->session_lost)
        return 0;
    if (f->renewing)
        return finish_renewal(f) ? handle_renewal_result(f, err) : 0;
    if (clock_now() < f->next_attempt)
        return 0;
    f->next_attempt = CLOCK_NEVER;
    f->renewing = true;
    if (thread_start(&f->renewal, renew_gateway, f, &f->renewal_error) == 0)
        return 0;
    f->renewing = false;
    return handle_renewal_result(f, err);
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

/* Returns whether the session has been lost for so long that new connections are closed at once. */
static bool must_refuse_clients(const struct forward *f)
{
    return f->session_lost && clock_now() - f->since >= f->options->client_timeout_ms;
}

static int64_t next_deadline(const struct forward *f)
{
    int64_t deadline = f->accept_after ? f->accept_after : CLOCK_NEVER;
    if (f->session_lost)
        deadline = clock_min(deadline, f->next_attempt);
    if (f->session_lost && !must_refuse_clients(f))
        deadline = clock_min(deadline, f->since + f->options->client_timeout_ms);
    return deadline;
}

static void wait_for_work(struct forward *f)
{
    if (f->accept_after && clock_now() >= f->accept_after)
        f->accept_after = 0;
    bool accepting = (!f->session_lost || must_refuse_clients(f)) && !f->accept_after;
    int lost_fd = f->session_lost ? -1 : gateway_lost_fd(f->gw);
    f->polled[POLL_CANCEL] = (struct pollfd){.fd = f->options->cancel_fd, .events = POLLIN};
    f->polled[POLL_WAKE] = (struct pollfd){.fd = f->wake[0], .events = POLLIN};
    f->polled[POLL_LOST] = (struct pollfd){.fd = lost_fd, .events = POLLIN};
    for (size_t i = 0; i < f->n_mappings; i++)
        f->polled[POLL_LISTENERS + i] =
            (struct pollfd){.fd = accepting ? f->mappings[i].listener->fd : -1, .events = POLLIN};
    if (poll(f->polled, (nfds_t)(POLL_LISTENERS + f->n_mappings), clock_poll_timeout(next_deadline(f))) < 0)
        memset(f->polled, 0, (POLL_LISTENERS + f->n_mappings) * sizeof *f->polled);
}

static int serve_connections(struct forward *f, struct err *err)
{
    for (;;) {
        wait_for_work(f);
        report_ended(f);
        if (f->polled[POLL_CANCEL].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        bool was_lost = f->session_lost;
        if (handle_session(f, err) < 0)
            return -1;
        /* Accept nothing in a pass in which the session was lost or renewed. Clients that connected just
         * before the loss wait in the listener's queue for the next session. */
        if (f->session_lost == was_lost)
            accept_all(f);
    }
}

static int prepare_loop(struct forward *f, struct err *err)
{
    f->polled = calloc(POLL_LISTENERS + f->n_mappings, sizeof *f->polled);
    if (!f->polled)
        return err_nomem(err);
    return fd_pipe_nonblocking(f->wake, err);
}

int forward_run(struct gateway *gw, const struct forward_mapping *mappings, size_t n,
                const struct forward_options *options, struct err *err)
{
    struct forward f = {.gw = gw,
                        .mappings = mappings,
                        .n_mappings = n,
                        .options = options,
                        .since = clock_now(),
                        .pause_ms = PAUSE_FIRST_MS,
                        .wake = {-1, -1}};
    pthread_mutex_init(&f.mutex, NULL);
    int rc = prepare_loop(&f, err);
    if (rc == 0)
        rc = serve_connections(&f, err);
    if (f.renewing)
        pthread_join(f.renewal, NULL);
    /* Closing the gateway ends the last connections. */
    gateway_close(gw);
    report_ended(&f);
    fd_close(&f.wake[0]);
    fd_close(&f.wake[1]);
    pthread_mutex_destroy(&f.mutex);
    free(f.polled);
    return rc;
}
