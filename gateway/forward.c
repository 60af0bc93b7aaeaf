/*
 * The caller's thread waits for everything; opening a session again takes long, so that has a thread of its
 * own for as long as it lasts. The gateway's threads report ended connections through a list.
 */
#include "gateway/forward.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define PAUSE_FIRST_MS 250
#define PAUSE_LONGEST_MS 30000
/* After accept failed for want of descriptors. */
#define REST_MS 100

struct connection {
    struct connection *next; /* of those that ended */
    struct forward *forward;
    size_t place;
    char from[LOCAL_NAME];
    int64_t began;
    struct gateway_end end;
    struct err failure; /* end.failure's own */
};

struct forward {
    struct gateway *gw;
    const struct forward_place *places;
    size_t n;
    const struct forward_options *options;
    struct pollfd *polled; /* stop, wake, the gateway's end, then the places */
    int64_t rest_until;

    bool away;         /* there is no session */
    int64_t since;     /* clock_now() when it was lost, or opened */
    int64_t pause_ms;  /* the next one */
    int64_t next_try;  /* CLOCK_NEVER while one is under way */
    pthread_t renewal; /* that one */
    bool renewing;
    struct err verdict; /* of the renewal; ERR_NONE: it went well */

    pthread_mutex_t mutex; /* of what follows */
    struct connection *ended;
    bool renewed; /* the renewal is over */
    int wake[2];
};
enum { POLL_STOP, POLL_WAKE, POLL_LOST, POLL_PLACES };

/* ---- connections --------------------------------------------------------------------------------------- */

static void tell_connection(struct forward *f, enum forward_event_kind kind, const struct connection *c)
{
    struct forward_event event = {.kind = kind,
                                  .place = c->place,
                                  .from = c->from,
                                  .sent = c->end.sent,
                                  .received = c->end.received,
                                  .ms = clock_now() - c->began,
                                  .failure = c->failure.kind == ERR_NONE ? NULL : &c->failure};
    f->options->tell(f->options->ctx, &event);
}

/* From a thread of the gateway's. */
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
    fd_ring(f->wake[1]);
}

static void take_ended(struct forward *f)
{
    fd_drain(f->wake[0]);
    pthread_mutex_lock(&f->mutex);
    struct connection *c = f->ended;
    f->ended = NULL;
    pthread_mutex_unlock(&f->mutex);
    while (c) {
        struct connection *next = c->next;
        tell_connection(f, FORWARD_ENDED, c);
        free(c);
        c = next;
    }
}

/* Carries it, or turns it away where there is no session. */
static void carry(struct forward *f, size_t place, int fd, struct connection *c)
{
    struct gateway_watch watch = {.ended = on_end, .ctx = c};
    c->forward = f;
    c->place = place;
    c->began = clock_now();
    tell_connection(f, FORWARD_BEGUN, c);
    if (f->away)
        err_set(&c->failure, ERR_LOST, "there is no session to carry it");
    else if (gateway_attach(f->gw, fd, &f->places[place].to, &watch, &c->failure) == 0)
        return;
    else
        fd = -1;
    fd_close(&fd);
    tell_connection(f, FORWARD_ENDED, c);
    free(c);
}

static void accept_all(struct forward *f)
{
    for (size_t i = 0; i < f->n; i++) {
        while (f->polled[POLL_PLACES + i].revents) {
            struct connection *c = calloc(1, sizeof *c);
            int fd = c ? local_accept(f->places[i].listener, c->from) : -1;
            if (fd >= 0) {
                carry(f, i, fd, c);
                continue;
            }
            /* Out of descriptors or memory: the connection still waits, and asking again at once would spin.
             */
            if (!c || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED))
                f->rest_until = clock_now() + REST_MS;
            free(c);
            break;
        }
    }
}

/* ---- sessions ------------------------------------------------------------------------------------------ */

static void tell_session(struct forward *f, enum forward_event_kind kind, int64_t ms,
                         const struct err *failure)
{
    struct forward_event event = {.kind = kind, .ms = ms, .failure = failure};
    f->options->tell(f->options->ctx, &event);
}

/* When the next attempt is due. The pause after it will be longer. */
static int64_t pause_before_try(struct forward *f)
{
    int64_t ms = clock_jitter(f->pause_ms);
    f->pause_ms = clock_least(2 * f->pause_ms, PAUSE_LONGEST_MS);
    f->next_try = clock_now() + ms;
    return ms;
}

static void lose(struct forward *f)
{
    int64_t now = clock_now();
    struct err why = ERR_INIT;
    if (gateway_state(f->gw, &why) == 0)
        return; /* it was stuck, and is not any more */
    /* One that is lost as soon as it stands must not be opened four times a second. */
    if (now - f->since > PAUSE_LONGEST_MS)
        f->pause_ms = PAUSE_FIRST_MS;
    f->away = true;
    f->since = now;
    tell_session(f, FORWARD_LOST, 0, &why);
    pause_before_try(f);
}

static void *renew(void *ctx)
{
    struct forward *f = ctx;
    struct err verdict = ERR_INIT;
    int rc = gateway_renew(f->gw, &verdict);
    pthread_mutex_lock(&f->mutex);
    f->verdict = rc < 0 ? verdict : (struct err)ERR_INIT;
    f->renewed = true;
    pthread_mutex_unlock(&f->mutex);
    fd_ring(f->wake[1]);
    return NULL;
}

static bool renewal_is_over(struct forward *f)
{
    pthread_mutex_lock(&f->mutex);
    bool over = f->renewed;
    f->renewed = false;
    pthread_mutex_unlock(&f->mutex);
    if (over) {
        pthread_join(f->renewal, NULL);
        f->renewing = false;
    }
    return over;
}

/* -1: there is no hope. */
static int judge_renewal(struct forward *f, struct err *err)
{
    const struct err *verdict = &f->verdict;
    if (verdict->kind == ERR_NONE) {
        tell_session(f, FORWARD_BACK, clock_now() - f->since, NULL);
        f->away = false;
        f->since = clock_now();
        return 0;
    }
    if (verdict->kind == ERR_CANCELLED || f->options->hopeless(f->options->ctx, verdict)) {
        if (err)
            *err = *verdict;
        return -1;
    }
    int64_t ms = pause_before_try(f);
    tell_session(f, FORWARD_AGAIN, ms, verdict);
    return 0;
}

static int mind_session(struct forward *f, struct err *err)
{
    if (!f->away && f->polled[POLL_LOST].revents)
        lose(f);
    if (!f->away)
        return 0;
    if (f->renewing)
        return renewal_is_over(f) ? judge_renewal(f, err) : 0;
    if (clock_now() < f->next_try)
        return 0;
    f->next_try = CLOCK_NEVER;
    f->renewing = true;
    if (thread_start(&f->renewal, renew, f, &f->verdict) == 0)
        return 0;
    f->renewing = false;
    return judge_renewal(f, err);
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static bool out_of_patience(const struct forward *f)
{
    return f->away && clock_now() - f->since >= f->options->patience_ms;
}

static int64_t next_deadline(const struct forward *f)
{
    int64_t deadline = f->rest_until ? f->rest_until : CLOCK_NEVER;
    if (f->away)
        deadline = clock_least(deadline, f->next_try);
    if (f->away && !out_of_patience(f))
        deadline = clock_least(deadline, f->since + f->options->patience_ms);
    return deadline;
}

static void wait_for_work(struct forward *f)
{
    if (f->rest_until && clock_now() >= f->rest_until)
        f->rest_until = 0;
    bool accepting = (!f->away || out_of_patience(f)) && !f->rest_until;
    int lost_fd = f->away ? -1 : gateway_lost_fd(f->gw);
    f->polled[POLL_STOP] = (struct pollfd){.fd = f->options->cancel_fd, .events = POLLIN};
    f->polled[POLL_WAKE] = (struct pollfd){.fd = f->wake[0], .events = POLLIN};
    f->polled[POLL_LOST] = (struct pollfd){.fd = lost_fd, .events = POLLIN};
    for (size_t i = 0; i < f->n; i++)
        f->polled[POLL_PLACES + i] =
            (struct pollfd){.fd = accepting ? f->places[i].listener->fd : -1, .events = POLLIN};
    if (poll(f->polled, (nfds_t)(POLL_PLACES + f->n), clock_poll_timeout(next_deadline(f))) < 0)
        memset(f->polled, 0, (POLL_PLACES + f->n) * sizeof *f->polled);
}

static int serve(struct forward *f, struct err *err)
{
    for (;;) {
        wait_for_work(f);
        take_ended(f);
        if (f->polled[POLL_STOP].revents)
            return err_set(err, ERR_CANCELLED, "interrupted");
        bool was_away = f->away;
        if (mind_session(f, err) < 0)
            return -1;
        /* Not those that came just before the session was lost: they wait for the next. */
        if (f->away == was_away)
            accept_all(f);
    }
}

static int prepare(struct forward *f, struct err *err)
{
    f->polled = calloc(POLL_PLACES + f->n, sizeof *f->polled);
    if (!f->polled)
        return err_nomem(err);
    return fd_pipe_nonblocking(f->wake, err);
}

int forward_run(struct gateway *gw, const struct forward_place *places, size_t n,
                const struct forward_options *options, struct err *err)
{
    struct forward f = {.gw = gw,
                        .places = places,
                        .n = n,
                        .options = options,
                        .since = clock_now(),
                        .pause_ms = PAUSE_FIRST_MS,
                        .wake = {-1, -1}};
    pthread_mutex_init(&f.mutex, NULL);
    int rc = prepare(&f, err);
    if (rc == 0)
        rc = serve(&f, err);
    if (f.renewing)
        pthread_join(f.renewal, NULL);
    /* The last connections end with it. */
    gateway_close(gw);
    take_ended(&f);
    fd_close(&f.wake[0]);
    fd_close(&f.wake[1]);
    pthread_mutex_destroy(&f.mutex);
    free(f.polled);
    return rc;
}
