/* Plans the items of one service: the request, compared with the service's index page. */
#ifndef FETCH_PLAN_H
#define FETCH_PLAN_H

#include <stdint.h>

#include "base/base.h"
#include "fetch/body/check.h"
#include "fetch/body/index.h"
#include "fetch/fetch.h"
#include "fetch/request.h"
#include "inventory/inventory.h"

struct plan_item {
    char kind[256];
    char argument[32];
    char request_target[512]; /* path and query */
    /* The form of the request. A raw path of a snapshot kind with `?seconds=` (`/debug/pprof/heap?seconds=5`)
     * is FORM_DELTA. */
    enum request_form form;
    char file[280];      /* name, without directories */
    bool ending_by_type; /* the ending of the file's name depends on the content type */
    enum kind_rank rank;
    enum body_format format;
    int64_t timed_ms;
    uint64_t max_bytes;     /* of its body */
    bool already_collected; /* an earlier run has fetched it: skip it */
    const char *cost; /* its cost for the process, reported before the fetch; NULL: none worth reporting */
    bool can_pair;    /* it can be one of a pair */
    unsigned pair;    /* of a pair: 1 for the first, 2 for the later one; else 0 */
    size_t other_of_pair; /* of a pair: the index of the other one */
    int64_t began;        /* clock_now() at its request; 0: not yet */
    /* True for each heap item if the plan has a heap item that runs a garbage collection first (heap=gc). */
    bool plan_has_gc_heap;
    bool absent;        /* the index page shows that the program lacks this profile: skip it */
    char left_out[160]; /* the reason to skip it (fetch/budget.h); empty: fetch it */
};

struct plan {
    struct plan_item *items; /* in the order of fetching */
    size_t n;
    size_t cap;
    struct findings findings; /* findings on the plan's decisions */
};

/* Above this number of goroutines a full text dump stops the process for too long. */
#define PLAN_TEXT_GOROUTINES 10000

/*
 * Makes the plan of a service. `index` is NULL if the service has none; then the plan has no costly item that
 * the user did not name. If neither the table of kinds (proto/kind.c) nor the index has a requested kind, the
 * function fails with ERR_USAGE and lists the known kinds. If the index should list a kind of the table but
 * does not, the function marks its item as absent.
 */
int plan_make(const struct service *service, const struct request_list *requests,
              const struct index_page *index, struct plan *ret, struct err *err);
/* Adds a second, later item for each item that can be one of a pair, after all others. */
int plan_pairs(struct plan *p, struct err *err);
void plan_release(struct plan *p);

#endif
