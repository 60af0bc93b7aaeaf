/*
 * Authentication: the agent's keys and key files, in an order that does not use up the server's patience
 * (MaxAuthTries), and what a person answers.
 */
#ifndef GATEWAY_AUTH_H
#define GATEWAY_AUTH_H

#include "base/base.h"
#include "gateway/hop.h"

struct session;

/* Authenticates an open session, whose host key was accepted, as hop->config says; s->hop.authentication then
 * says how. The message of a failure lists what was offered and what could not be, and why. */
int auth_run(struct session *s, const struct hop *hop, struct err *err);

#endif
