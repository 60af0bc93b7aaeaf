/* Labels of hosts and discovered services. */
#ifndef INVENTORY_LABELS_H
#define INVENTORY_LABELS_H

#include "inventory/created_objects.h"

/* Checks whether the labels of the host and of a discovered service (NULL: none) together have every
 * requested name with one of the values requested for it. True without requested labels. */
bool labels_match(const struct host *host, const struct service *service, const struct strlist *requested);

/* Keeps only hosts whose labels match (labels_match), alone or together with those of a discovered service;
 * keeps the order. ERR_USAGE for a label that no host has, and if no host remains. */
int labels_filter(const struct scope *s, const struct strlist *labels, struct host_list *hosts,
                  struct err *err);

#endif
