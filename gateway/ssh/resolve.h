/* Resolves host names with a deadline, because getaddrinfo(3) has none. */
#ifndef GATEWAY_SSH_RESOLVE_H
#define GATEWAY_SSH_RESOLVE_H

#include <netdb.h>
#include <stdint.h>

#include "base/base.h"

struct resolve_query {
    const char *host;
    unsigned port;
    int family; /* AF_UNSPEC for any */
    int64_t deadline;
    int cancel_fd;
};

/*
 * Calls getaddrinfo(3) for a host and TCP. Free *ret with freeaddrinfo. After the deadline the lookup
 * continues in its own thread until the resolver returns, and frees itself.
 */
int resolve_host(const struct resolve_query *query, struct addrinfo **ret, struct err *err);

#endif
