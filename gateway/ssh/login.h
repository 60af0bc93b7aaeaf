/* A login over libssh2 in reported steps: connection, handshake, host key, authentication. */
#ifndef GATEWAY_SSH_LOGIN_H
#define GATEWAY_SSH_LOGIN_H

#include "base/base.h"
#include "gateway/ssh/hop.h"
#include "gateway/ssh/session.h"
#include "gateway/ssh/steps.h"

/* The caller sets hop and steps, and zeroes the rest. */
struct login {
    const struct hop *hop;
    struct steps *steps;
    bool connect_reported; /* an attempt has reported the connection; later attempts do not report it again */
    bool server_is_busy;   /* the server reported that it is busy */
    struct session *session; /* of a successful attempt; the caller owns it */
};

/* Attempts the login once. ERR_BUSY: another attempt may succeed. ERR_UNSUPPORTED: OpenSSH may succeed. */
int login_run(struct login *l, struct err *err);

#endif
