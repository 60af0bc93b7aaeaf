/* Findings on hosts with different names that are one machine. */
#ifndef CAPTURE_DUPLICATE_HOSTS_H
#define CAPTURE_DUPLICATE_HOSTS_H

#include "fetch/fetch.h"
#include "inventory/inventory.h"

/* If the host is in the list, adds the finding "same-address". */
int duplicate_hosts_finding(const struct duplicate_hosts_list *l, const struct host *host,
                            struct findings *ret, struct err *err);

#endif
