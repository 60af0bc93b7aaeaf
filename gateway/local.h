/*
 * Addresses of this workstation that a person chose to listen on, and the sockets there.
 *
 * Unlike a gateway's private listener they are for other programs: on loopback for those of every local user,
 * on a Unix socket for the user's own (mode 0600).
 */
#ifndef GATEWAY_LOCAL_H
#define GATEWAY_LOCAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/un.h>

#include "base/base.h"

struct local_address {
    char ip[INET6_ADDRSTRLEN];                            /* numeric */
    unsigned port;                                        /* 0: one that is free */
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* of a Unix socket; "": ip and port count */
};

/*
 * Reads `PORT`, which is on 127.0.0.1, `IP:PORT` (an IPv6 address in brackets; localhost is 127.0.0.1), or
 * `unix:PATH`. ERR_USAGE, also for what would silently listen for a whole network (`:6060`, `*:6060`): that
 * wants its address spelt out.
 */
int local_parse(const char *text, struct local_address *ret, struct err *err);

/* Whether only this workstation's own programs can reach it. */
bool local_is_private(const struct local_address *a);

/* "127.0.0.1:6060", "[::1]:6060", or the socket's path. */
#define LOCAL_NAME 128
char *local_name(const struct local_address *a, char dst[LOCAL_NAME]);

/* The same as another program on this workstation connects to it: the address of a listener for all is that
 * of loopback. */
char *local_reach(const struct local_address *a, char dst[LOCAL_NAME]);

struct local_listener {
    struct local_address address; /* with the port it got */
    int fd;                       /* non-blocking */
    bool made;                    /* there is a Unix socket to be removed */
};
#define LOCAL_LISTENER_INIT                                                                                  \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/*
 * Listens. ERR_BUSY when somebody else listens there. A Unix socket replaces one that the user owns and
 * nobody listens on any more, and nothing else: ERR_EXISTS.
 */
int local_listen(const struct local_address *at, struct local_listener *ret, struct err *err);

/* Closes it and removes its Unix socket, if it is still there. A second time is fine. */
void local_release(struct local_listener *l);

/* Accepts one connection; -1 with errno as accept(2) leaves it. `from` says who connected: "127.0.0.1:51234",
 * or "a local program" through a Unix socket. */
int local_accept(const struct local_listener *l, char from[LOCAL_NAME]);

#endif
