/* Warns of host names that are the same machine. They are not refused, because two names of one machine can
 * be intended. */
#ifndef CLI_HOSTS_DUPLICATE_HOSTS_H
#define CLI_HOSTS_DUPLICATE_HOSTS_H

#include "fetch/fetch.h"
#include "inventory/inventory.h"

/* Prints the first few machines on stderr, and the number of the others. */
void duplicate_hosts_print(const struct duplicate_hosts_list *l);

#endif
