/* The plan for one service: what was asked for, against what its index page offers. */
#ifndef FETCH_PLAN_H
#define FETCH_PLAN_H

#include <stdint.h>

#include "base/base.h"
#include "fetch/check.h"
#include "fetch/fetch.h"
#include "fetch/index.h"
#include "fetch/wanted.h"
#include "inventory/inventory.h"

struct plan_item {
    char kind[256];
    char argument[32];
    char target[512];  /* of the request: path and query */
    char file[280];    /* name, without directories */
    bool name_by_type; /* its ending comes from the content type */
    enum kind_rank rank;
    enum check_format format;
    int64_t timed_ms;
    uint64_t max_bytes; /* of its body */
    bool had;           /* an earlier run has it: it is left alone */
    const char *cost;   /* what it costs the process, to be said before; NULL: nothing worth a word */
    bool pairs;         /* may be taken twice */
    unsigned pair;      /* 1 and 2: of a pair; else 0 */
    size_t other;       /* of a pair: where the other one is */
    int64_t began;      /* clock_now() when it was asked for; 0: not yet */
    bool absent;        /* the index page shows that the program has no such profile: it is not asked for */
    char left_out[160]; /* why it is not to be fetched (fetch/budget.h); empty: it is */
};

struct plan {
    struct plan_item *items; /* in the order to fetch them */
    size_t n;
    size_t cap;
    struct verdicts verdicts; /* on what was decided */
};

/* Above so many goroutines a full text dump stops the process for too long. */
#define PLAN_TEXT_GOROUTINES 10000

/*
 * `index` is NULL when the service has none; then nothing costly is guessed. A kind that neither the table
 * nor the index knows is ERR_USAGE and says what is offered; one of the table that the index does not list
 * although it would is planned as absent.
 */
int plan_make(const struct service *service, const struct wanted_list *wanted, const struct index_page *index,
              struct plan *ret, struct err *err);
/* Plans a later one of each that may be taken twice, behind all others. */
int plan_pairs(struct plan *p, struct err *err);
void plan_release(struct plan *p);

#endif
