/* `profgrab hosts --ssh`: the address to which ssh connects for each host. */
#ifndef CLI_HOSTS_HOSTS_SSH_H
#define CLI_HOSTS_HOSTS_SSH_H

#include "cli/hosts/target.h"

/* Prints a line for each host that is reached over SSH: user, host name and port as `ssh -G` resolves the
 * address, and the jump hosts. For a host that cannot be resolved, prints the reason instead. Opens no
 * host. Returns -1 only if the command was interrupted. */
int hosts_ssh(const struct host *const *hosts, size_t n, const struct target_options *o, struct err *err);

#endif
