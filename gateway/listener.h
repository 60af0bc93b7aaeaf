/* The private listener: a Unix socket that only this process can use, in a directory only its user can enter.
 */
#ifndef GATEWAY_LISTENER_H
#define GATEWAY_LISTENER_H

#include <pthread.h>
#include <sys/un.h>

#include "base/base.h"
#include "gateway/gateway.h"

struct gateway_listener {
    struct gateway_listener *next;    /* of those that a hub accepts for */
    struct gateway_listener *sibling; /* of those of its gateway */
    int fd;
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
    struct destination to; /* a copy of its own */
    int64_t rest_until;    /* accept failed: it is not waited for before that */
    pthread_mutex_t mutex; /* of what follows, which the hub sets and others read */
    struct err failure;
    unsigned opening; /* connections that are not yet carried */
};

/* Listens on PATH. */
int listener_new(const char *path, const struct destination *to, struct gateway_listener **ret,
                 struct err *err);
/* Closes it and removes its socket. */
void listener_free(struct gateway_listener *l);

/* Accepts one connection from this very process; -1 when there is none. Others are turned away. */
int listener_accept(struct gateway_listener *l);

void listener_set_failure(struct gateway_listener *l, const struct err *why);
/* One connection more is being opened, or one less. */
void listener_opening(struct gateway_listener *l, int change);

/* Makes a directory for private sockets: under $XDG_RUNTIME_DIR, $TMPDIR or /tmp, the first whose path is
 * plain (letters, digits, /._-+,@) and leaves `room` bytes in a socket's address behind the directory, for
 * the slash, the longest name and a NUL. *ret is a new string. */
int listener_directory(size_t room, char **ret, struct err *err);
/* For a slash and a number of up to ten digits. */
#define LISTENER_ROOM 12

#endif
