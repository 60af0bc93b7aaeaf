#include "capture/duplicate_hosts.h"

#include <stdio.h>

#include "base/banned.h"

/* Returns the index of the host; -1: it is not in the list. */
static int find_host(const struct duplicate_hosts *duplicates, const struct host *host)
{
    for (size_t i = 0; i < duplicates->n; i++)
        if (duplicates->hosts[i] == host)
            return (int)i;
    return -1;
}

int duplicate_hosts_finding(const struct duplicate_hosts_list *l, const struct host *host,
                            struct findings *ret, struct err *err)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct duplicate_hosts *duplicates = &l->items[i];
        char others[300];
        int at = find_host(duplicates, host);
        if (at < 0)
            continue;
        /* Name the first of the other hosts. */
        int n = snprintf(others, sizeof others, "%.100s", duplicates->hosts[at == 0]->name);
        if (duplicates->n > 2)
            snprintf(others + n, sizeof others - (size_t)n, " and %zu more", duplicates->n - 2);
        if (fetch_finding_add(ret, FETCH_FINDING_SAME_ADDRESS, others, host->address, err) < 0)
            return -1;
    }
    return 0;
}
