/*
 * Two sides of one kind of profile, here and there: what the sick processes show, and the healthy ones. Those
 * of a side are one; of each stack stands there what either side has of it.
 *
 * Sides of different size are made comparable by a factor for each sample type and side. On what basis:
 *
 *   share    of all that the side has: CPU time, and counters since each process began, since nobody knows
 * when that was; second   in each second of a process: counters, where the profiles are differences within a
 * time; process  in each process: what is there at a moment, such as memory in use and goroutines, unless the
 * profiles are differences.
 */
#ifndef REPORT_SIDES_H
#define REPORT_SIDES_H

#include "proto/proto.h"

enum side { SIDE_HERE, SIDE_THERE };

enum sides_basis { SIDES_SHARE, SIDES_SECOND, SIDES_PROCESS };

/* Sample types beyond so many are passed over. */
#define SIDES_MAX_TYPES 8
/* The last but one would be of 2^46 processes; the last is of any number. */
#define SIDES_PARTS 48

struct sides_side {
    size_t processes;
    size_t left_out;                    /* processes of this side that are not in it; whoever adds knows */
    size_t timed;                       /* of the processes: those whose profiles say how long they took */
    int64_t duration_ns;                /* of those, in all */
    struct profile *parts[SIDES_PARTS]; /* those so far: of one, two, four, … */
};

/* Begins as {0}. Everything is read only. */
struct sides {
    struct profile
        *all; /* sample types: n_types of here, then the same of there. No labels. NULL before the end */
    size_t n_types, default_type;
    struct sides_side of[2];
};

/* Adds a process' profile, which is good for nothing but profile_free then. ERR_FAILED: it has other sample
 * types than those before, or the side has as much as is held in memory (a quarter of a million stacks). */
int sides_add(struct sides *s, enum side side, struct profile *p, struct err *err);
/* Puts both sides together, once, when all are added. */
int sides_finish(struct sides *s, struct err *err);
void sides_release(struct sides *s);

/* Whether there is something to compare. */
bool sides_are_two(const struct sides *s);

/* Where the values of a type and side stand. */
static inline size_t sides_column(const struct sides *s, size_t type, enum side side)
{
    return side * s->n_types + type;
}

enum sides_basis sides_basis_of(const struct sides *s, size_t type);
/* What a value is to be multiplied with; 0 of a side that has nothing. */
double sides_scale(const struct sides *s, size_t type, enum side side);

#endif
