/* Hosts of several names that are one machine: said, and written down. They are not refused: two names of one
 * machine may be meant, two profiles of one process seldom are. */
#ifndef CLI_TWIN_HOSTS_H
#define CLI_TWIN_HOSTS_H

#include "fetch/fetch.h"
#include "inventory/inventory.h"

/* A line for each on stderr. */
void twin_hosts_say(const struct twins_list *l);

/* Adds the verdict "same-address" where the host is one of them. */
int twin_hosts_verdict(const struct twins_list *l, const struct host *host, struct verdicts *ret,
                       struct err *err);

#endif
