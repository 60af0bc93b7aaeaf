/*
 * Opening one SSH hop of a route, in the steps that gateway_options.step is told of: a connection, the
 * handshake, the host key, authentication; or an ssh of the workstation that does all of it.
 */
#ifndef GATEWAY_HOP_H
#define GATEWAY_HOP_H

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/hub.h"
#include "inventory/inventory.h"

struct way;

/* One hop of a gateway's route. */
struct hop {
    const struct ssh_config *config;
    size_t number;                      /* the first is 0 */
    const struct hop *before;           /* the one that leads to it; NULL: it is reached from here */
    const struct ssh_config *outermost; /* the first hop of the route, opened or not: what an ssh of ours
                                           would log in to first */
    enum ssh_via via;
    bool live;    /* the user's own master connection may be used */
    bool is_jump; /* another hop is reached through it */
    const struct gateway_options *options;
    struct way *way; /* its sessions; not of hop_open's concern */
};

/*
 * *ret is a carrier that is authenticated, *ret_hop what was found. A failure was told as that of its step
 * before it is returned; the message then says which host it was. With SSH_VIA_AUTO what libssh2 cannot do
 * (ERR_UNSUPPORTED) is tried with OpenSSH, never after a host key was refused.
 */
int hop_open(const struct hop *hop, struct carrier *ret, struct gateway_hop *ret_hop, struct err *err);

/* Names it in messages, "HOST port N". Returns dst. */
char *hop_name(const struct hop *hop, char *dst, size_t cap);

#endif
