/* Opens one SSH hop of a route. gateway_options.step reports the steps: connection, handshake, host key,
 * authentication; or one ssh process for all of them. */
#ifndef GATEWAY_HOP_H
#define GATEWAY_HOP_H

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/hub.h"
#include "gateway/config/config.h"

struct session_pool;

/* One hop of a gateway's route. */
struct hop {
    const struct ssh_config *config;
    size_t number;                      /* from 0 */
    const struct hop *before;           /* the previous hop; NULL: we connect directly */
    const struct ssh_config *outermost; /* the route's first hop, where our own ssh logs in first */
    enum ssh_via via;
    bool live;    /* the user's own master connection may be used */
    bool is_jump; /* another hop is reached through it */
    const struct gateway_options *options;
    struct session_pool *sessions; /* its sessions; hop_open ignores it */
};

/*
 * *ret is an authenticated carrier, *ret_hop has its facts. A failure is first reported as the failure of its
 * step; the returned message names the host. With SSH_VIA_AUTO, OpenSSH retries if libssh2 lacks a feature
 * (ERR_UNSUPPORTED), never after a refused host key.
 */
int hop_open(const struct hop *hop, struct carrier *ret, struct gateway_hop *ret_hop, struct err *err);

/* Writes its name for messages, "HOST port N". Returns dst. */
char *hop_name(const struct hop *hop, char *dst, size_t cap);

#endif
