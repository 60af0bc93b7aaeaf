/* One SSH hop of a route, and the options that all hops of a gateway share. */
#ifndef GATEWAY_SSH_HOP_H
#define GATEWAY_SSH_HOP_H

#include "base/base.h"
#include "gateway/config/config.h"
#include "gateway/ssh/ssh.h"

/* The limits of every wait. */
struct ssh_limits {
    int cancel_fd;           /* readable: stop; -1 for none */
    int64_t step_timeout_ms; /* of each: connect, handshake, authentication, channel opening */
    int64_t keepalive_ms;    /* the time between two keepalives */
    int64_t silence_ms;      /* a session is dead after this time without data */
};

/* Returns the limits for a helper program such as ssh-keygen. */
struct proc_limits ssh_program_limits(const struct ssh_limits *limits);

/* The options of gateway_open with their defaults filled in, as logins need them. */
struct login_options {
    struct ssh_limits limits;
    struct keyring *keyring;                                  /* NULL: passphrases are not remembered */
    void (*step)(void *ctx, const struct gateway_step *step); /* NULL: not called */
    void *step_ctx;
    const char *host; /* the user's name for the host; NULL: unknown */
    ask_fn *ask;      /* NULL: no user can answer */
    void *ask_ctx;
    bool ask_keys_only;
    int64_t ask_ms;      /* the limit for one answer */
    const char *askpass; /* NULL: our own ssh cannot ask, see gateway_options */
};

struct login_queues;
struct session_pool;

/* One hop of a gateway's route. */
struct hop {
    const struct ssh_config *config;
    size_t number;                      /* from 0 */
    const struct hop *previous;         /* the previous hop; NULL: we open no hop before this one */
    const struct ssh_config *outermost; /* the route's first hop, where our own ssh logs in first */
    enum ssh_via via;
    bool may_use_master; /* the user's own master connection may be used */
    bool is_jump;        /* another hop is reached through it */
    const struct login_options *options;
    struct login_queues *queues; /* NULL: logins are not limited */
    struct session_pool *pool;   /* of this hop */
    /*
     * Opens a connection from this hop to the destination; *ret_fd is our end of it. Needed if another hop is
     * reached through this one.
     */
    int (*dial)(const struct hop *hop, const struct destination *to, int *ret_fd, struct err *err);
};

/* Writes the hop's name for messages, "HOST port N". Returns dst. */
char *hop_name(const struct hop *hop, char *dst, size_t cap);

#endif
