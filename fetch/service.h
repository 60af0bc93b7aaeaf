/* Runs one service of an open host: reads its index, plans, fetches one item after the other. */
#ifndef FETCH_SERVICE_H
#define FETCH_SERVICE_H

#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/observe.h"
#include "fetch/retry.h"
#include "fetch/sync.h"

/* The objects that the service shares with others of its run. */
struct service_surroundings {
    const struct fetch_grab *grab;
    struct observe *observe;
    struct gateway *gw;
    const struct retry *opening; /* of the host */
    struct sync *sync;
    struct barrier_seat *seat; /* NULL: it begins when it is ready */
    struct budget *budget;     /* of its process */
};

/* Reports all events to the observer. `secret` is the service's, NULL for none. */
void service_run(const struct service_surroundings *around, const struct target *target,
                 const struct secret *secret);

#endif
