/* The secrets of a run: reads each service's secret once, before the first connection, and wipes it at the
 * end. */
#ifndef FETCH_CREDENTIALS_H
#define FETCH_CREDENTIALS_H

#include "base/base.h"
#include "inventory/inventory.h"

struct credentials {
    struct credential *first;
};

/* Reads the secrets of the targets' services. ERR_USAGE names the service whose secret is not available, or
 * would travel unprotected. `limits` apply to commands that print a secret. */
int credentials_load(const struct targets *targets, const struct proc_limits *limits, struct credentials *ret,
                     struct err *err);
void credentials_release(struct credentials *c);

/* Returns the secret of a service, or NULL for a service without one. */
const struct secret *credentials_find(const struct credentials *c, const struct service *service);

#endif
