/* Authentication with the agent's keys, key files and the user's answers. The order of the keys avoids
 * refusals, because the server allows only a few (MaxAuthTries). */
#ifndef GATEWAY_SSH_AUTH_H
#define GATEWAY_SSH_AUTH_H

#include "base/base.h"
#include "gateway/ssh/hop.h"

struct session;

/*
 * Logs in over a session whose host key is accepted, with the methods and keys of hop->config. Sets the
 * method in the session's facts. The message of a failure lists each method and key that was refused or not
 * usable, and the reason.
 */
int auth_run(struct session *s, const struct hop *hop, struct err *err);

#endif
