/* Runs one service of an open host: reads its index page, then probes, plans or fetches. */
#ifndef FETCH_SERVICE_H
#define FETCH_SERVICE_H

#include "fetch/service_run.h"

/* The type of the functions below. `secret` is the service's, NULL for none. All report to the observer. */
typedef void service_fn(const struct service_context *context, const struct target *target,
                        const struct secret *secret);

/* Plans, and fetches one item after the other. */
service_fn service_grab;
/* Plans a service and fetches nothing. */
service_fn service_plan;
/* Connects, and checks for exposure. */
service_fn service_probe;

#endif
