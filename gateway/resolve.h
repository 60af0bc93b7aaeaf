/* Host names to addresses, with a deadline: the system's resolver has none that holds. */
#ifndef GATEWAY_RESOLVE_H
#define GATEWAY_RESOLVE_H

#include <netdb.h>
#include <stdint.h>

#include "base/base.h"

/*
 * What getaddrinfo(3) says of a host for TCP; `family` is AF_UNSPEC or one of the families. *ret is freed
 * with freeaddrinfo. A lookup that is given up at the deadline goes on in a thread of its own until the
 * resolver lets go of it, and harms nobody.
 */
int resolve(const char *host, unsigned port, int family, int64_t deadline, int cancel_fd,
            struct addrinfo **ret, struct err *err);

#endif
