/* `--against`: the baseline hosts. A capture fetches the same items from them at the same time, for
 * comparison. */
#ifndef CAPTURE_BASELINE_H
#define CAPTURE_BASELINE_H

#include "inventory/inventory.h"

struct baseline_request {
    const struct inventory *inventory;
    const struct strlist *names; /* hosts, as the arguments of --host, or groups */
    const struct selection *selection;
};

/*
 * Finds the baseline targets: on each named host, each service that is also selected on another host. `all`
 * has the selected targets: skips their hosts. Adds the baseline targets to `all`, which owns them, and lists
 * them in *ret. ERR_USAGE if a host has no such service, or no baseline host remains.
 */
int baseline_resolve(const struct baseline_request *request, struct targets *all, struct targets *ret,
                     struct err *err);

#endif
