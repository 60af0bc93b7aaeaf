/* One service of an open host: read its index, plan, fetch one item after the other. */
#ifndef FETCH_SERVICE_H
#define FETCH_SERVICE_H

#include "fetch/fetch.h"
#include "fetch/observe.h"

/* Everything that happens goes to the observer. `secret` is the service's, NULL for none. */
void service_run(const struct fetch_grab *grab, struct observe *observe, const struct target *target,
                 struct gateway *gw, const struct secret *secret);

#endif
