/* Filters the selected hosts by labels and exclusions, samples them, and enforces their maximum number. */
#ifndef INVENTORY_FILTER_H
#define INVENTORY_FILTER_H

#include "inventory/created_objects.h"

/* Applies the filters of inventory_filter, then the sample, then the limit. *ret_n_before_sample receives the
 * value for targets.n_before_sample. */
int filter_apply(const struct scope *s, const struct selection *sel, struct hostset *hosts,
                 size_t *ret_n_before_sample, struct err *err);

#endif
