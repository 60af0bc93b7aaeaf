/* Forwards connections of local listeners through a gateway until the user stops it. Renews a lost session
 * any number of times and keeps the listeners open. */
#ifndef GATEWAY_FORWARD_H
#define GATEWAY_FORWARD_H

#include "base/base.h"
#include "gateway/local.h"
#include "gateway/ssh/ssh.h"

struct gateway;

struct forward_mapping {
    const struct local_listener *listener;
    struct destination to;
};

enum forward_event_kind {
    FORWARD_CONNECTED,        /* a client connected */
    FORWARD_CLOSED,           /* the connection is over */
    FORWARD_SESSION_LOST,     /* the session is lost; a reconnect follows */
    FORWARD_RECONNECT_FAILED, /* the reconnect failed; another one follows */
    FORWARD_RECONNECTED,      /* the session is open again */
};

struct forward_event {
    enum forward_event_kind kind;
    size_t mapping;    /* the index of the connection's mapping; 0 if the event is of the session */
    const char *from;  /* the client, as local_listener_accept names it; NULL: the event is of the session */
    uint64_t sent;     /* bytes to the destination */
    uint64_t received; /* bytes from the destination */
    int64_t ms; /* FORWARD_CLOSED: the duration of the connection; FORWARD_RECONNECT_FAILED: the time until
                   the next attempt; FORWARD_RECONNECTED: how long the session was lost */
    const struct err *failure; /* why the connection, the session or the reconnect failed; NULL: no failure */
};

struct forward_options {
    int cancel_fd;             /* readable: stop */
    int64_t client_timeout_ms; /* new clients wait for this time after the loss of a session; then new clients
                                  are refused until the session is open again */
    /* The thread of forward_run calls the two functions. */
    void (*report)(void *ctx, const struct forward_event *event);
    /* Returns whether a reconnect after this failure would be useless or harmful. */
    bool (*is_permanent)(void *ctx, const struct err *failure);
    void *ctx;
};
#define FORWARD_CLIENT_TIMEOUT_MS 10000

/*
 * Accepts and forwards until cancel_fd is readable (ERR_CANCELLED), or the session is lost and `is_permanent`
 * forbids a reconnect. Pauses between attempts grow from a quarter of a second to 30 s. Always closes the
 * gateway, which must have the same cancel_fd. The caller keeps the listeners.
 */
int forward_run(struct gateway *gw, const struct forward_mapping *mappings, size_t n,
                const struct forward_options *options, struct err *err);

#endif
