/* `profgrab hosts --ssh`: the address to which ssh connects for each host. */
#ifndef CLI_HOSTS_HOSTS_SSH_H
#define CLI_HOSTS_HOSTS_SSH_H

#include "cli/hosts/target.h"

/* Prints a line for each host that is reached over SSH: user, host name and port as `ssh -G` resolves the
 * address, and the jump hosts. A host that cannot be resolved gets the reason instead. Opens no host. -1 only
 * if the command was interrupted. */
int hosts_ssh(const struct host *const *hosts, size_t n, const struct target_options *o, struct err *err);

#endif
