/*
 * Authentication by public key: the agent's keys and key files, in an order that does not use up the server's
 * patience (MaxAuthTries).
 */
#ifndef GATEWAY_AUTH_H
#define GATEWAY_AUTH_H

#include "base/base.h"
#include "inventory/inventory.h"

struct session;

/* Authenticates an open session as the configuration says; s->hop.authentication then says how. The message
 * of a failure lists what was offered and what could not be, and why. */
int auth_run(struct session *s, const struct ssh_config *config, struct err *err);

#endif
