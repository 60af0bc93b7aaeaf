/* TCP connections with a deadline. */
#ifndef GATEWAY_SSH_CONNECT_H
#define GATEWAY_SSH_CONNECT_H

#include <stdint.h>

#include "base/base.h"

struct connect_options {
    int family;               /* AF_UNSPEC for any */
    const char *bind_address; /* the local address; NULL: any */
    int64_t deadline;
    int cancel_fd;
};

/* Connects to the first address of `host` that answers. All addresses share the deadline: each attempt gets
 * an equal part of the remaining time. Returns a non-blocking descriptor with TCP_NODELAY, or -1. */
int connect_tcp(const char *host, unsigned port, const struct connect_options *options, struct err *err);

#define CONNECT_PEER_IP 64
/* Writes the numeric address of the other end of a TCP connection, "" for other descriptors. Returns dst. */
char *connect_peer_ip(int fd, char dst[CONNECT_PEER_IP]);

struct addrinfo;
/* Starts a connection to one resolved address, which may be a Unix socket, for a caller with its own poll.
 * Binds to an address of `from` (NULL: any). Returns the descriptor, or -1. Then call connect_check. */
int connect_start(const struct addrinfo *address, const struct addrinfo *from, struct err *err);
/* Returns 1 if connected, 0 while it connects, -1 on failure. */
int connect_check(int fd, struct err *err);

#endif
