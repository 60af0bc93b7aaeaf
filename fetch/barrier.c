/*
 * Each round has a pipe. Releasing the round makes the pipe readable for good, so that its waiters can poll
 * it together with the cancel descriptor. There is no timer thread: the first waiter whose time is over
 * releases the round.
 */
#include "fetch/barrier.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"

/* The time that all threads need to wake up: a base, and a part for each thread. */
#define WAKE_UP_MS 20
#define WAKE_UP_EACH_US 500

/* The interval between the starts of two participants; shorter if there are many participants. */
#define START_INTERVAL_US 400

struct round {
    int release_pipe[2];
    size_t expected; /* participants that have arrived or may still arrive */
    size_t arrived;
    size_t late;
    int64_t deadline; /* clock_now() at which waiting ends */
    int64_t lead_ms;  /* the longest of the participants that arrived in time */
    bool released;
    int64_t at; /* the common instant (clock_now), once released */
};

struct barrier {
    pthread_mutex_t mutex; /* guards the members below */
    size_t participants;   /* participants that have not left */
    int64_t max_wait_ms;
    int cancel_fd;
    struct round *rounds;
    size_t n, cap;
};

int barrier_new(size_t participants, int64_t max_wait_ms, int cancel_fd, struct barrier **ret,
                struct err *err)
{
    struct barrier *b = calloc(1, sizeof *b);
    if (!b)
        return err_nomem(err);
    *b = (struct barrier){.participants = participants, .max_wait_ms = max_wait_ms, .cancel_fd = cancel_fd};
    pthread_mutex_init(&b->mutex, NULL);
    *ret = b;
    return 0;
}

void barrier_free(struct barrier *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++) {
        fd_close(&b->rounds[i].release_pipe[0]);
        fd_close(&b->rounds[i].release_pipe[1]);
    }
    free(b->rounds);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

static void release_round(struct round *r)
{
    if (r->released)
        return;
    r->released = true;
    r->at = clock_now() + WAKE_UP_MS + (int64_t)r->arrived * WAKE_UP_EACH_US / 1000 + r->lead_ms;
    fd_pipe_wake(r->release_pipe[1]);
}

/* Returns the round with this number. The first participant that arrives creates the round. Returns NULL with
 * err on failure. */
static struct round *get_round(struct barrier *b, size_t number, struct err *err)
{
    if (number < b->n)
        return &b->rounds[number];
    struct round new_round = {.expected = b->participants, .deadline = clock_deadline(b->max_wait_ms)};
    if (array_reserve((void **)&b->rounds, &b->cap, b->n + 1, sizeof *b->rounds, err) < 0 ||
        fd_pipe_nonblocking(new_round.release_pipe, err) < 0)
        return NULL;
    b->rounds[b->n] = new_round;
    return &b->rounds[b->n++];
}

/* Counts the arrival. *ret_release_fd is the descriptor to wait for, -1 if the round is released already. */
static int enter_round(struct barrier_participant *participant, int64_t lead_ms, int *ret_release_fd,
                       int64_t *ret_deadline, struct err *err)
{
    struct round *r = get_round(participant->barrier, participant->n_rounds, err);
    if (!r)
        return -1;
    participant->n_rounds++;
    *ret_release_fd = r->released ? -1 : r->release_pipe[0];
    *ret_deadline = r->deadline;
    participant->order = r->arrived++;
    r->late += r->released;
    if (!r->released && r->lead_ms < lead_ms)
        r->lead_ms = lead_ms;
    if (r->arrived == r->expected)
        release_round(r);
    return 0;
}

int barrier_arrive(struct barrier_participant *participant, int64_t lead_ms, int64_t *ret_at, bool *ret_late,
                   struct err *err)
{
    struct barrier *b = participant->barrier;
    struct err why = ERR_INIT;
    int release_fd = -1;
    int64_t deadline = 0;
    pthread_mutex_lock(&b->mutex);
    int rc = enter_round(participant, lead_ms, &release_fd, &deadline, err);
    pthread_mutex_unlock(&b->mutex);
    if (rc < 0)
        return -1;
    if (release_fd >= 0 && fd_wait(release_fd, POLLIN, deadline, b->cancel_fd, &why) < 0 &&
        why.kind != ERR_TIMEOUT) {
        if (err)
            *err = why;
        return -1;
    }
    pthread_mutex_lock(&b->mutex);
    struct round *r = &b->rounds[participant->n_rounds - 1];
    release_round(r);
    *ret_at = r->at;
    pthread_mutex_unlock(&b->mutex);
    *ret_late = release_fd < 0;
    return 0;
}

int64_t barrier_offset_ms(const struct barrier_participant *participant)
{
    struct barrier *b = participant->barrier;
    pthread_mutex_lock(&b->mutex);
    int64_t arrived = (int64_t)b->rounds[participant->n_rounds - 1].arrived;
    pthread_mutex_unlock(&b->mutex);
    int64_t interval_us = clock_min(START_INTERVAL_US, BARRIER_WINDOW_MS * INT64_C(1000) / arrived);
    return ((int64_t)participant->order - arrived * 2 / 3) * interval_us / 1000;
}

void barrier_leave(struct barrier_participant *participant)
{
    struct barrier *b = participant->barrier;
    if (!b || participant->left)
        return;
    participant->left = true;
    pthread_mutex_lock(&b->mutex);
    b->participants--;
    for (size_t i = participant->n_rounds; i < b->n; i++) {
        struct round *r = &b->rounds[i];
        if (--r->expected == r->arrived)
            release_round(r);
    }
    pthread_mutex_unlock(&b->mutex);
}

struct barrier_round barrier_round(struct barrier *b, unsigned round)
{
    struct barrier_round ret = {0};
    pthread_mutex_lock(&b->mutex);
    if (round < b->n)
        ret = (struct barrier_round){b->rounds[round].arrived, b->rounds[round].late, b->rounds[round].at};
    pthread_mutex_unlock(&b->mutex);
    return ret;
}
