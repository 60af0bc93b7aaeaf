/* Suggests the next command: after a failure, or for a new bundle. */
#ifndef CLI_HOSTS_SUGGEST_H
#define CLI_HOSTS_SUGGEST_H

#include "cli/hosts/target.h"
#include "fetch/fetch.h"
#include "inventory/inventory.h"

struct suggest_subject {
    const struct host *host;
    const struct service *service; /* NULL: the step concerns the host */
    const char *ssh_config;        /* the value of --ssh-config; NULL: not given */
};

/* Adds a command line that shows the cause of the failed step, or nothing if no command helps. */
void suggest_command(const struct suggest_subject *s, enum fetch_step_kind kind, struct buf *ret);

/*
 * Returns a copy of the failure. If a connection was refused or timed out (struct err: unreachable), adds the
 * `profgrab check` command for the same host and service to the hint. `service` NULL: the host itself was not
 * reached. The command has the inventory, the source and the SSH options of `options` (NULL: returns the
 * failure unchanged). Leaves the hint unchanged for other failures, and if the command is too long.
 */
struct err suggest_check(const struct target_options *options, const struct targets *targets,
                         const struct host *host, const struct service *service, const struct err *failure);

/* If stderr is a terminal, prints the commands that show the bundle. */
void suggest_view(const char *path);

#endif
