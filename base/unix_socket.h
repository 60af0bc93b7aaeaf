/* Private Unix sockets: a directory for them, and the process at the other end. */
#ifndef BASE_UNIX_SOCKET_H
#define BASE_UNIX_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"

/*
 * Creates a directory (0700) for private sockets under $XDG_RUNTIME_DIR, $TMPDIR or /tmp: uses the first of
 * them whose path contains only letters, digits and /._-+,@ and is so short that `room` more bytes fit into a
 * socket's address. `room` counts a slash, the longest file name and a NUL. The caller frees *ret.
 */
int unix_socket_make_directory(size_t room, char **ret, struct err *err);

/*
 * The peer of a Unix socket is the process at its other end, as the kernel reports it. For a client, the peer
 * is the process that called listen(2).
 *
 * Returns whether the peer belongs to this user; false if the kernel does not report the peer.
 */
bool unix_socket_peer_is_same_user(int fd);

/* Returns whether the peer is this process. If the system reports only the peer's user, returns whether the
 * peer belongs to this user. */
bool unix_socket_peer_is_same_process(int fd);

#endif
