/* A hint to run `profgrab check`, which tests each step to a host. */
#ifndef CLI_HOSTS_CHECK_HINT_H
#define CLI_HOSTS_CHECK_HINT_H

#include "base/base.h"
#include "cli/hosts/target.h"
#include "inventory/inventory.h"

/*
 * Returns a copy of the failure. If a connection was refused or timed out (struct err: unreached), adds to
 * its hint the `profgrab check` command for the same host and service (NULL: the host itself was not
 * reached), with the SSH options of `way`. Leaves the hint unchanged for other failures, and if the command
 * does not fit.
 */
struct err check_hint(const struct target_options *way, const struct targets *targets,
                      const struct host *host, const struct service *service, const struct err *failure);

#endif
