/*
 * A visit to one service of an open host, for the files that make it: the way there, what its index offers,
 * the plan. Two threads touch one only while timed profiles are taken side by side; then only what the mutex
 * guards is written.
 */
#ifndef FETCH_VISIT_H
#define FETCH_VISIT_H

#include <pthread.h>

#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/index.h"
#include "fetch/observe.h"
#include "fetch/plan.h"
#include "fetch/sync.h"
#include "fetch/transfer.h"

struct visit {
    const struct fetch_grab *grab;
    struct observe *observe;
    const struct target *target;
    struct gateway *gw;
    const struct secret *secret; /* NULL: the service wants none */
    struct sync *sync;
    struct barrier_seat *seat; /* NULL: it waits for nobody */
    struct budget *budget;
    struct transfer *transfer;
    struct index_page index;
    bool has_index;
    struct err no_index; /* why there is none */
    int index_status;    /* of HTTP; 0: there was no answer */
    struct verdicts verdicts;
    int64_t clock_skew_ms;
    bool has_clock_skew;
    struct plan plan;
    char directory[600]; /* HOST/SERVICE below the work directory */

    pthread_mutex_t mutex;
    char build_id[128]; /* the last one seen */
    struct err stop;    /* why nothing more is fetched */
};

/* Where a service is, for the gateway. */
struct destination visit_destination(const struct service *service);

/* What is asked beside the profiles has no reason to take long. */
#define VISIT_PAGE_LIMIT(grab) (4 * (grab)->timeout_ms)
#define VISIT_PAGE_MAX (1u << 20)

/* A connection of its own to the service, through a listener of its own. */
int visit_connect(struct visit *v, struct transfer **ret, struct err *err);

/* Reads the service's index page over `t`, whose answer is in *response. -1 with err if there is none;
 * ERR_NOT_FOUND also if another page is there. */
int visit_index(const struct visit *v, struct transfer *t, struct index_page *ret,
                struct transfer_response *response, struct err *err);

/* Fetches what is planned, in order; with `concurrent`, the timed profiles side by side after the rest.
 * Everything that happens goes to the observer. */
void visit_fetch(struct visit *v);

/* Looks whether the service answers on addresses of its host that others can reach, and tells. */
void visit_look_for_exposure(struct visit *v);

#endif
