/*
 * The algorithms that we offer to a server, and the error if the server supports none of them.
 *
 * We offer the algorithms that libssh2 supports and the user's configuration allows. Their order is our own,
 * not the configuration's: for ciphers it is by speed (docs/performance.md). The server lists its algorithms
 * unencrypted in its SSH_MSG_KEXINIT (RFC 4253 section 7.1). We read that list because libssh2 only reports
 * that the negotiation failed.
 */
#ifndef GATEWAY_SSH_ALGORITHMS_H
#define GATEWAY_SSH_ALGORITHMS_H

#include <libssh2.h>

#include "base/base.h"
#include "gateway/config/config.h"

/* Comma lists in the order of libssh2's LIBSSH2_METHOD_* and of SSH_MSG_KEXINIT: key exchange, host key,
 * cipher and MAC, the latter two for each direction. The struct owns the strings. */
#define ALGORITHM_LISTS 6
struct algorithms {
    char *lists[ALGORITHM_LISTS];
};
void algorithms_release(struct algorithms *a);

/*
 * Sets the algorithms that libssh2 will offer; call it before the handshake. *ret has the same lists.
 * `host_keys` are the types of host keys in order of preference. ERR_UNSUPPORTED if libssh2 supports none of
 * the allowed algorithms.
 */
int algorithms_propose(LIBSSH2_SESSION *ssh, const struct ssh_config *config, const char *host_keys,
                       struct algorithms *ret, struct err *err);

/*
 * Returns the names of `ours` that are both supported and allowed (`allowed` NULL: all are), then the other
 * names of `allowed` that are supported, without certificate types. The caller frees the string, "" if there
 * is no name. NULL: out of memory.
 */
char *algorithms_pick(const char *ours, const char *allowed, const char *const *supported,
                      size_t n_supported);

/* Parses the start of a server's data: text lines, its version, then SSH_MSG_KEXINIT. Makes the lists
 * printable. Fails if the n bytes are anything else or incomplete. */
int algorithms_read(const void *p, size_t n, struct algorithms *ret, struct err *err);

/* Fails with ERR_UNSUPPORTED, and names the server's algorithms, if for one of the lists the server and we
 * have no algorithm in common. */
int algorithms_compare(const struct algorithms *ours, const struct algorithms *server, struct err *err);

#endif
