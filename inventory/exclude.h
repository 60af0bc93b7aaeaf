/* Reduces the selected hosts: by labels, exclusions, a sample, a limit. */
#ifndef INVENTORY_EXCLUDE_H
#define INVENTORY_EXCLUDE_H

#include "inventory/model.h"

/* inventory_filter, then the sample, then the limit. *ret_sampled_of is targets.sampled_of. */
int filter_hosts(const struct inventory *inv, const struct selection *sel, struct hostset *hosts,
                 size_t *ret_sampled_of, struct err *err);

/* Checks that the labels of the host and of a discovered service (NULL: none) have all the requested names,
 * each with one of its values. True without requested labels. */
bool labels_match(const struct host *host, const struct service *service, const struct strlist *asked);

#endif
