/*
 * Authentication by public key: the agent's keys and key files, in an order that does not use up the server's
 * patience (MaxAuthTries).
 */
#ifndef GATEWAY_AUTH_H
#define GATEWAY_AUTH_H

#include "base/base.h"

struct session;

/* Authenticates the session; s->hop.authentication then says how. The message of a failure lists what was
 * offered and what could not be, and why. */
int auth_run(struct session *s, struct err *err);

#endif
