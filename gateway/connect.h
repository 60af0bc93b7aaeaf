/* TCP connections with a deadline. */
#ifndef GATEWAY_CONNECT_H
#define GATEWAY_CONNECT_H

#include <stdint.h>

#include "base/base.h"

struct connect_how {
    int family;               /* AF_UNSPEC for any */
    const char *bind_address; /* where to connect from; NULL: anywhere */
    int64_t deadline;
    int cancel_fd;
};

/* Connects to the first address of `host` that answers; all share the deadline, none takes more than its part
 * of it. Returns a non-blocking descriptor with TCP_NODELAY, or -1. */
int connect_tcp(const char *host, unsigned port, const struct connect_how *how, struct err *err);

#define CONNECT_PEER 64
/* The numeric address at the other end of a TCP connection, "" if fd is none. Returns dst. */
char *connect_peer(int fd, char dst[CONNECT_PEER]);

/* The same in two steps, for an owner that waits elsewhere: starts connecting to one resolved address, which
 * may also be that of a Unix socket, from one of those of `from` (NULL: anywhere). */
struct addrinfo;
int connect_start(const struct addrinfo *address, const struct addrinfo *from, struct err *err);
/* 1 connected, 0 still under way, -1 failed. */
int connect_check(int fd, struct err *err);

#endif
