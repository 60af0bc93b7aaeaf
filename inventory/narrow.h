/* Which of the hosts asked for are meant: by labels, exclusions, a sample, a limit. */
#ifndef INVENTORY_NARROW_H
#define INVENTORY_NARROW_H

#include "inventory/model.h"

/* inventory_narrow, then the sample, then the limit. *ret_sampled_of as targets.sampled_of. */
int narrow_all(const struct inventory *inv, const struct selection *sel, struct hostset *hosts,
               size_t *ret_sampled_of, struct err *err);

#endif
