/* Hosts of several names that are one machine: said, and written down. They are not refused: two names of one
 * machine may be meant, two profiles of one process seldom are. */
#ifndef CLI_DUPLICATE_HOSTS_H
#define CLI_DUPLICATE_HOSTS_H

#include "fetch/fetch.h"
#include "inventory/inventory.h"

/* A line for each on stderr. */
void duplicate_hosts_print(const struct duplicate_hosts_list *l);

#endif
