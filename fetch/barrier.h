/*
 * A barrier for threads that start at one common instant, in several rounds.
 *
 * A participant takes part in the rounds in order. It leaves the barrier after its last round, or when it
 * fails. A round is released when all remaining participants have arrived, or when the first of them has
 * waited for the time limit of the barrier; later participants are late. Every wait ends at that time, and
 * when cancel_fd becomes readable. Any number of threads may use a barrier.
 */
#ifndef FETCH_BARRIER_H
#define FETCH_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct barrier;

/* A participant. The caller sets `barrier` and zeroes the rest. One thread at a time uses it. */
struct barrier_participant {
    struct barrier *barrier;
    unsigned n_rounds; /* the number of rounds at which it arrived */
    bool left;
    size_t order; /* its position among the participants that arrived in time at its last round, from 0 on */
};

/* Creates a barrier. `participants`: the number of participants. `max_wait_ms`: how long the first
 * participant of a round waits. cancel_fd may be -1. */
int barrier_new(size_t participants, int64_t max_wait_ms, int cancel_fd, struct barrier **ret,
                struct err *err);
void barrier_free(struct barrier *b);

/*
 * Arrives at the next round and waits for its release. *ret_at: the common instant (clock_now). It is later
 * than the release by at least the longest `lead_ms` of the participants that arrived in time. *ret_late: the
 * round was released before this call, so the instant has passed or is close. -1: ERR_CANCELLED, or no
 * descriptors for another round.
 */
int barrier_arrive(struct barrier_participant *participant, int64_t lead_ms, int64_t *ret_at, bool *ret_late,
                   struct err *err);

/*
 * Returns the time at which a participant must begin, in milliseconds after the instant of its last round;
 * negative: before the instant. The participant must have arrived in time. Requests at one moment would delay
 * each other, here and on shared machines. Therefore the participants begin in the order of arrival, within
 * BARRIER_WINDOW_MS, and two thirds of them before the instant.
 */
#define BARRIER_WINDOW_MS 20
int64_t barrier_offset_ms(const struct barrier_participant *participant);

/* Removes a participant: the other participants no longer wait for it. A second call does nothing. */
void barrier_leave(struct barrier_participant *participant);

/* The result of a round; all 0 for a round that never began. */
struct barrier_round {
    size_t arrived; /* participants that arrived, in time or late */
    size_t late;    /* of the arrived participants */
    int64_t at;
};
struct barrier_round barrier_round(struct barrier *b, unsigned round);

#endif
