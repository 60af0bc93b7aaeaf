/* The secrets of a run: each service's read once, before anything is opened, and wiped at the end. */
#ifndef FETCH_CREDENTIALS_H
#define FETCH_CREDENTIALS_H

#include "base/base.h"
#include "inventory/inventory.h"

struct credentials {
    struct credential *first;
};

/* Reads what the targets' services need. ERR_USAGE names the service whose secret cannot be had, or must not
 * be sent the way it would go. `limits` are for commands that print one. */
int credentials_load(const struct targets *targets, const struct proc_limits *limits, struct credentials *ret,
                     struct err *err);
void credentials_release(struct credentials *c);

/* NULL for a service that needs none. */
const struct secret *credentials_find(const struct credentials *c, const struct service *service);

#endif
