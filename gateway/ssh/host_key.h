/* The check of a server's key against the known hosts and the configuration's policy. */
#ifndef GATEWAY_SSH_HOST_KEY_H
#define GATEWAY_SSH_HOST_KEY_H

#include "base/base.h"
#include "gateway/ssh/knownhosts.h"
#include "gateway/ssh/session.h"

/* Why a host is trusted. */
struct host_key_trust {
    bool is_new;    /* it was unknown; profgrab has tried to write its key */
    char text[300]; /* "known in FILE line N", "new: written to FILE" or "new, not written down: …" */
};

/* Checks the server's key after the handshake. Fails with ERR_HOST_KEY like known_hosts_check, and with
 * ERR_UNSUPPORTED if libssh2 cannot request the type of a known key. Stores the shown key in the session's
 * facts, also after a failure. */
int host_key_check(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                   struct host_key_trust *ret, struct err *err);

#endif
