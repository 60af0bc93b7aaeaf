/* Labels of hosts and discovered services. */
#ifndef INVENTORY_LABELS_H
#define INVENTORY_LABELS_H

#include "inventory/created.h"

/* Checks that the labels of the host and of a discovered service (NULL: none) have all the requested names,
 * each with one of its values. True without requested labels. */
bool labels_match(const struct host *host, const struct service *service, const struct strlist *asked);

/* Keeps, in place and in order, the hosts with the labels, or with a discovered service that has them.
 * ERR_USAGE for a label that no host has, and if none of the hosts remains. */
int labels_filter(const struct scope *s, const struct strlist *labels, struct host_list *hosts,
                  struct err *err);

#endif
