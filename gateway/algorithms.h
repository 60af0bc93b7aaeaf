/*
 * Which algorithms we ask a server for, and why there is no agreement where there is none.
 *
 * The order is our own, by speed (docs/performance.md), of what libssh2 knows and the user's configuration
 * allows. What the server offers stands in its SSH_MSG_KEXINIT (RFC 4253 section 7.1), which comes in the
 * clear; libssh2 says no more than that it did not work out.
 */
#ifndef GATEWAY_ALGORITHMS_H
#define GATEWAY_ALGORITHMS_H

#include <libssh2.h>

#include "base/base.h"
#include "inventory/inventory.h"

/* Comma lists, numbered as libssh2's LIBSSH2_METHOD_* and as in SSH_MSG_KEXINIT: key exchange, host key,
 * cipher and MAC, the latter two for each direction. The strings are its own. */
#define ALGORITHM_LISTS 6
struct algorithms {
    char *lists[ALGORITHM_LISTS];
};
void algorithms_release(struct algorithms *a);

/*
 * Tells libssh2, before the handshake, what to offer; *ret is that. `host_keys` are the types of host keys in
 * the order wished for. ERR_UNSUPPORTED when it knows nothing of what the configuration allows.
 */
int algorithms_propose(LIBSSH2_SESSION *ssh, const struct ssh_config *config, const char *host_keys,
                       struct algorithms *ret, struct err *err);

/*
 * The names of `ours` that are both supported and allowed (NULL: all are), then those that are allowed and
 * supported beyond ours, certificates excepted. A new string, "" when there is none; NULL without memory.
 */
char *algorithms_pick(const char *ours, const char *allowed, const char *const *supported,
                      size_t n_supported);

/* Reads the lists out of what a server says first: lines, its version, then SSH_MSG_KEXINIT. They are made
 * printable. Fails when that is not, or not wholly, what the n bytes are. */
int algorithms_read(const void *p, size_t n, struct algorithms *ret, struct err *err);

/* ERR_UNSUPPORTED with what the server offers where it has nothing in common with us, else 0. */
int algorithms_compare(const struct algorithms *ours, const struct algorithms *server, struct err *err);

#endif
