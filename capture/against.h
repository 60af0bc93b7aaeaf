/* `--against`: healthy hosts from which the same is taken at the same time, to compare the others with. */
#ifndef CAPTURE_AGAINST_H
#define CAPTURE_AGAINST_H

#include "inventory/inventory.h"

/*
 * What `words` (hosts as --host takes them, or groups) mean beside the `sick` targets, which were selected by
 * `selection`: on each healthy host the services that the sick ones have. Of a group those hosts that are
 * selected anyway are left out. *ret has the healthy ones' targets, which are also appended to *all.
 * ERR_USAGE if a host has nothing to compare, or none is left.
 */
int against_resolve(struct inventory *inventory, const struct strlist *words,
                    const struct selection *selection, struct targets *all, struct targets *ret,
                    struct err *err);

#endif
