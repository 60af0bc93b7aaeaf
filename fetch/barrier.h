/*
 * A barrier for those who are to begin something at one instant, again and again: round after round.
 *
 * Whoever takes part goes through the rounds in order and leaves at the end, or when it fails. A round is
 * released when all who still take part have arrived, or when the first of them has waited for as long as the
 * barrier allows: who comes after that is late. Every wait ends at that time, and when cancel_fd becomes
 * readable. May be used by any number of threads.
 */
#ifndef FETCH_BARRIER_H
#define FETCH_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct barrier;

/* One that takes part; zeroed but for the barrier. Of one thread at a time. */
struct barrier_seat {
    struct barrier *barrier;
    unsigned passed; /* rounds it arrived at */
    bool left;
    size_t order; /* of those who arrived in time at its last round, from 0 on */
};

/* For so many seats. `patience_ms`: how long the first of a round waits; cancel_fd may be -1. */
int barrier_new(size_t seats, int64_t patience_ms, int cancel_fd, struct barrier **ret, struct err *err);
void barrier_free(struct barrier *b);

/*
 * Arrives at the next round and waits until it is released. *ret_at: the common instant (clock_now), which is
 * a little ahead: by at least `lead_ms` of each who arrived. *ret_late: it was over already, and the instant
 * has passed or is about to. -1: ERR_CANCELLED, or there are no descriptors for another round.
 */
int barrier_arrive(struct barrier_seat *seat, int64_t lead_ms, int64_t *ret_at, bool *ret_late,
                   struct err *err);

/*
 * By how much a seat begins before (less than 0) or after the instant of its last round, at which it has
 * arrived in time. All at one moment would stand in each other's way, here and where targets share a machine,
 * and begin late on the whole: so they go in the order in which they arrived, within BARRIER_WINDOW_MS, two
 * thirds of them before the instant.
 */
#define BARRIER_WINDOW_MS 20
int64_t barrier_turn_ms(const struct barrier_seat *seat);

/* Nobody waits for this one any longer. A second time is fine. */
void barrier_leave(struct barrier_seat *seat);

/* How a round went; what was never begun is all 0. */
struct barrier_round {
    size_t arrived; /* in all */
    size_t late;    /* of these */
    int64_t at;
};
struct barrier_round barrier_round(struct barrier *b, unsigned round);

#endif
