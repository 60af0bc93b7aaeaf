/* The private listener: a Unix socket for this process only, in a directory for its user only. */
#ifndef GATEWAY_LISTENER_H
#define GATEWAY_LISTENER_H

#include <pthread.h>
#include <sys/un.h>

#include "base/base.h"
#include "gateway/gateway.h"

struct gateway_listener {
    struct gateway_listener *next;    /* in its hub's list */
    struct gateway_listener *sibling; /* in its gateway's list */
    int fd;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    struct destination to; /* an owned copy */
    int64_t accept_after;  /* accept(2) failed: the hub does not poll fd before this time; 0: no failure */
    pthread_mutex_t mutex; /* guards the members below, which the hub sets and others read */
    struct err failure;    /* of the last failed connection; ERR_NONE: none */
    unsigned n_opening;    /* connections that are still opening */
};

/* Creates the socket at `path` and listens on it. */
int listener_new(const char *path, const struct destination *to, struct gateway_listener **ret,
                 struct err *err);
/* Closes the listener, removes its socket and frees it. */
void listener_free(struct gateway_listener *l);

/* Accepts one connection from this process, and closes connections of other processes. Returns its
 * descriptor, or -1 if there is none or accept(2) failed, and sets accept_after accordingly. */
int listener_accept(struct gateway_listener *l);

void listener_set_failure(struct gateway_listener *l, const struct err *why);
/* Changes the number of opening connections by 1 or -1. */
void listener_count_opening(struct gateway_listener *l, int change);

/* The room that the path of a listener needs after its directory (see unix_socket_make_directory): a slash, a
 * number of up to ten digits and a NUL. */
#define LISTENER_ROOM 12

#endif
