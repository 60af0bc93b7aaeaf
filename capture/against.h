/* `--against`: the baseline hosts. A capture fetches the same items from them at the same time, for
 * comparison. */
#ifndef CAPTURE_AGAINST_H
#define CAPTURE_AGAINST_H

#include "inventory/inventory.h"

struct against {
    const struct inventory *inventory;
    const struct strlist *words; /* hosts as --host takes them, or groups */
    const struct selection *selection;
};

/*
 * Resolves the words to the baseline targets: on each baseline host, the services that the selected targets
 * in `all` have too. Leaves out hosts that are selected already. Adds the baseline targets to `all`, and a
 * list of them to *ret; `all` owns them. ERR_USAGE if a host has nothing to compare, or none is left.
 */
int against_resolve(const struct against *a, struct targets *all, struct targets *ret, struct err *err);

#endif
