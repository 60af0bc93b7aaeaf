/* Opens and closes the carrier of a hop, over libssh2 or OpenSSH. */
#ifndef GATEWAY_CARRIER_H
#define GATEWAY_CARRIER_H

#include "base/base.h"
#include "gateway/ssh/hop.h"

struct openssh;
struct session;

/* The transport of a hub's links: a session of libssh2, or a master connection of ssh(1), either the user's
 * or our own (an ssh that we started). If both are NULL, the links are sockets (a direct route). */
struct carrier {
    struct session *session;
    struct openssh *openssh;
};

/*
 * Sets *ret to an authenticated carrier, and *ret_hop to the facts about the hop. Reports the steps to
 * hop->options->step: the steps of login_run, or one step for the whole login of our own ssh. If a step
 * fails, reports the failed step before it returns; the message of *err also names the host. With
 * SSH_VIA_AUTO, tries OpenSSH if libssh2 lacks a feature (ERR_UNSUPPORTED), never after a refused host key.
 * Waits in hop->queues, and retries at a busy server.
 */
int carrier_open(const struct hop *hop, struct carrier *ret, struct gateway_hop *ret_hop, struct err *err);
void carrier_close(struct carrier *c);

#endif
