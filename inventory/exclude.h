/* Reduces the selected hosts: by labels, exclusions, a sample, a limit. */
#ifndef INVENTORY_EXCLUDE_H
#define INVENTORY_EXCLUDE_H

#include "inventory/created.h"

/* Applies the filters of inventory_filter, then the sample, then the limit. *ret_sampled_of receives the
 * value for targets.sampled_of. */
int filter_hosts(const struct scope *s, const struct selection *sel, struct hostset *hosts,
                 size_t *ret_sampled_of, struct err *err);

#endif
