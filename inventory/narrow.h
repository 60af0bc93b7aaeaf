/* Which of the hosts asked for are meant: by labels, exclusions, a sample, a limit. */
#ifndef INVENTORY_NARROW_H
#define INVENTORY_NARROW_H

#include "inventory/model.h"

/* inventory_narrow, then the sample, then the limit. *ret_sampled_of as targets.sampled_of. */
int narrow_all(const struct inventory *inv, const struct selection *sel, struct hostset *hosts,
               size_t *ret_sampled_of, struct err *err);

/* Whether the labels of the host, and of the service that a source found there (NULL: none), have all the
 * names that are asked for, each with one of its values. Nothing asked for: true. */
bool narrow_has_labels(const struct host *host, const struct service *service, const struct strlist *asked);

#endif
