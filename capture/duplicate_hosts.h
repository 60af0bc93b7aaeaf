/* Findings on hosts with different names that are one machine. */
#ifndef CAPTURE_DUPLICATE_HOSTS_H
#define CAPTURE_DUPLICATE_HOSTS_H

#include "fetch/fetch.h"
#include "inventory/inventory.h"

/* Adds the finding "same-address" if the host is a duplicate. */
int duplicate_hosts_finding(const struct duplicate_hosts_list *l, const struct host *host,
                            struct findings *ret, struct err *err);

#endif
