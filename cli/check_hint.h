/* A hint at `profgrab check`, which shows the way to a host step by step. */
#ifndef CLI_CHECK_HINT_H
#define CLI_CHECK_HINT_H

#include "base/base.h"
#include "cli/target.h"
#include "inventory/inventory.h"

/*
 * A copy of the failure. If a connection was refused or not answered (struct err: unreached), its hint also
 * names the `profgrab check` that goes the same way: with the options of `way` that lead there, to that host
 * of the targets, and to the service (NULL: the host itself was not reached). Any other hint stays as it is,
 * and so does one beside which the whole command line has no room.
 */
struct err check_hint(const struct target_options *way, const struct targets *targets,
                      const struct host *host, const struct service *service, const struct err *failure);

#endif
