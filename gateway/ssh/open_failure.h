/* A server's refusal to open a channel (RFC 4254 section 5.1), as a message. */
#ifndef GATEWAY_SSH_OPEN_FAILURE_H
#define GATEWAY_SSH_OPEN_FAILURE_H

#include "base/base.h"
#include "gateway/ssh/ssh.h"

/* Sets the error of a refused channel. `text` is the server's answer as libssh2 or ssh reports it. The
 * function looks in the text for "administratively prohibited", "unknown channel type" and "connect failed";
 * it quotes any other text, and the server's own reason after "connect failed". Returns -1. */
int open_failure_set(const struct destination *to, const char *text, struct err *err);

#endif
