/*
 * Local addresses that the user chose to listen on, and their sockets.
 *
 * Unlike the private listener of a gateway, these sockets accept other programs: on loopback the programs of
 * every local user, on a Unix socket the programs of the same user (mode 0600), on any other address also the
 * programs of other machines.
 */
#ifndef GATEWAY_LOCAL_H
#define GATEWAY_LOCAL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/un.h>

#include "base/base.h"

struct local_address {
    char ip[INET6_ADDRSTRLEN];                            /* numeric */
    unsigned port;                                        /* 0: any free port */
    char path[sizeof((struct sockaddr_un *)0)->sun_path]; /* of a Unix socket; "": use ip and port */
};

/*
 * Parses `PORT`, which is on 127.0.0.1, `IP:PORT` (an IPv6 address in brackets; localhost is 127.0.0.1), or
 * `unix:PATH`. ERR_USAGE on failure, and for addresses that implicitly mean all interfaces (`:6060`,
 * `*:6060`): the user must write such an address in full.
 */
int local_address_parse(const char *text, struct local_address *ret, struct err *err);

/* Checks that only local programs can connect to the address. */
bool local_address_is_private(const struct local_address *a);

/* Writes "127.0.0.1:6060", "[::1]:6060", or the socket's path. Returns dst. */
#define LOCAL_ADDRESS_NAME 128
char *local_address_name(const struct local_address *a, char dst[LOCAL_ADDRESS_NAME]);

/* Writes the address that a local client connects to: loopback if the listener is on all interfaces. Returns
 * dst. */
char *local_address_client_name(const struct local_address *a, char dst[LOCAL_ADDRESS_NAME]);

struct local_listener {
    struct local_address address; /* with the chosen port */
    int fd;                       /* non-blocking */
    bool has_socket_file;         /* local_listener_close removes it */
};
#define LOCAL_LISTENER_INIT                                                                                  \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* Starts to listen. ERR_BUSY if another program listens there. Replaces an abandoned Unix socket of the user;
 * any other file is ERR_EXISTS. */
int local_listener_open(const struct local_address *at, struct local_listener *ret, struct err *err);

/* Closes the listener and removes its Unix socket, unless another program listens on that path now. A second
 * call does nothing. */
void local_listener_close(struct local_listener *l);

/* Accepts one connection; -1 with errno of accept(2). `from` is the client: "127.0.0.1:51234", or "a local
 * program" through a Unix socket. */
int local_listener_accept(const struct local_listener *l, char from[LOCAL_ADDRESS_NAME]);

#endif
