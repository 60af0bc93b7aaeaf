/* Hosts and services that a selection describes by an address, a port or a Unix socket. */
#ifndef INVENTORY_ADHOC_H
#define INVENTORY_ADHOC_H

#include "inventory/created.h"

/* Creates the service of the selection's port or socket, or returns the one with the same description. *ret
 * is NULL if the selection has none. */
int adhoc_service(const struct inventory *inv, struct created *c, const struct selection *sel,
                  const struct service **ret, struct err *err);

/* Creates the host at the address `text`, or returns the one with the same address. */
int adhoc_host(struct created *c, const char *text, const struct host **ret, struct err *err);

/* Creates the hosts of a pattern that are neither in the inventory nor created yet, so that patterns and the
 * targets of a source match them like those of the inventory. */
int adhoc_name_hosts(const struct inventory *inv, struct created *c, const char *pattern, struct err *err);

#endif
