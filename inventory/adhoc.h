/* Hosts and services that a selection describes by an address, a port or a Unix socket. */
#ifndef INVENTORY_ADHOC_H
#define INVENTORY_ADHOC_H

#include "inventory/created_objects.h"

/* Creates the service of the selection's port or socket, or returns an equal service that exists already.
 * *ret is NULL if the selection has neither. */
int adhoc_service(const struct inventory *inv, struct created_objects *c, const struct selection *sel,
                  const struct service **ret, struct err *err);

/* Creates the host at the address `text`, or returns the host that was created for the same address. */
int adhoc_host(struct created_objects *c, const char *text, const struct host **ret, struct err *err);

/* Creates those hosts of a pattern that are neither in the inventory nor created yet. Later patterns and a
 * source's targets match the created hosts like hosts of the inventory. */
int adhoc_create_named_hosts(const struct inventory *inv, struct created_objects *c, const char *pattern,
                             struct err *err);

#endif
