/*
 * The state of running one service of an open host: connection, index, plan. Several threads share it only
 * while timed profiles are fetched side by side. Each of them writes only its own item of the plan, and the
 * members that the mutex guards.
 */
#ifndef FETCH_SERVICE_RUN_H
#define FETCH_SERVICE_RUN_H

#include <pthread.h>

#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/body/index.h"
#include "fetch/observe.h"
#include "fetch/plan.h"
#include "fetch/retry.h"
#include "fetch/sync.h"
#include "fetch/transfer.h"

/* The objects that the service shares with the other services of its run. */
struct service_context {
    const struct fetch_job *grab;
    struct observe *observe;
    struct gateway *gw;
    const struct retry *open_retry; /* the retries of opening the host */
    struct sync *sync;
    struct barrier_participant *participant; /* NULL: the service does not wait for other targets */
    struct budget *budget;                   /* of its process */
};

struct service_index {
    struct index_page page;
    bool found;
    struct err failure; /* the reason if it is not found */
    int status;         /* of HTTP; 0: no answer */
};

struct service_clock {
    bool known;
    int64_t skew_ms; /* the target's clock minus ours */
};

struct service_run {
    const struct service_context *context;
    const struct target *target;
    const struct secret *secret; /* NULL: the service needs none */
    struct transfer *transfer;
    struct service_index index;
    struct service_clock clock;
    struct findings findings;
    struct plan plan;
    char directory[600]; /* HOST/SERVICE below the work directory */

    pthread_mutex_t mutex; /* guards the members below */
    char build_id[128];    /* the last one seen */
    struct err stop;       /* the reason to fetch nothing more */
};

/* Returns the address of a service, for the gateway. */
struct destination service_run_destination(const struct service *service);

/* The limits of a request for a page: milliseconds, and bytes of the page. */
#define SERVICE_RUN_PAGE_MS(grab) (4 * (grab)->access.timeout_ms)
#define SERVICE_RUN_PAGE_BYTES (1u << 20)

/* Opens a separate connection to the service, through a separate listener. */
int service_run_connect(struct service_run *run, struct transfer **ret, struct err *err);

/* Reads the service's index page over `t`; *response is the answer. -1 with err if the service sends no
 * index: ERR_NOT_FOUND for a 404, and for a page that is not an index. */
int service_run_index(const struct service_run *run, struct transfer *t, struct index_page *ret,
                      struct http_response *response, struct err *err);

/* Fetches the planned items in order; with `concurrent`, the timed profiles side by side after the others.
 * Reports all events to the observer. */
void service_run_fetch(struct service_run *run);

/* Checks whether the service answers on addresses of its host that others can reach, and reports it. */
void service_run_check_exposure(struct service_run *run);

#endif
