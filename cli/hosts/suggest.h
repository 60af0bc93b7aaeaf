/* Suggests the next command: after a failure, or for a new bundle. */
#ifndef CLI_HOSTS_SUGGEST_H
#define CLI_HOSTS_SUGGEST_H

#include "cli/hosts/target.h"
#include "fetch/fetch.h"
#include "inventory/inventory.h"

struct suggest_subject {
    const struct host *host;
    const struct service *service; /* NULL: a step to the host failed */
    const char *ssh_config;        /* the value of --ssh-config; NULL: not given */
};

/* Adds a command line that shows more about the failure, or nothing if no command helps. */
void suggest_command(const struct suggest_subject *s, enum fetch_step_kind kind, struct buf *ret);

/*
 * Returns a copy of the failure. If a connection was refused or timed out (struct err: unreachable), adds to
 * its hint the `profgrab check` command for the same host and service (NULL: the host itself was not
 * reached), with the inventory, the source and the SSH options of `way`. Leaves the hint unchanged for other
 * failures, and if the command does not fit.
 */
struct err suggest_check(const struct target_options *way, const struct targets *targets,
                         const struct host *host, const struct service *service, const struct err *failure);

/* If stderr is a terminal, prints there the commands that show the bundle. */
void suggest_view(const char *path);

#endif
