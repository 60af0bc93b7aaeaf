/* Private Unix sockets: a directory for them, and the process at the other end. */
#ifndef BASE_UNIX_SOCKET_H
#define BASE_UNIX_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"

/*
 * Creates a directory (0700) for private sockets under $XDG_RUNTIME_DIR, $TMPDIR or /tmp: the first whose
 * path contains only letters, digits and /._-+,@ and leaves `room` bytes in a socket's address for a slash,
 * the longest file name and a NUL. The caller frees *ret.
 */
int unix_socket_directory(size_t room, char **ret, struct err *err);

/* These functions ask the kernel for the process at the other end of a Unix socket. The other end of an
 * accepted connection's listener is the process that called listen(2). */

/* Checks that it is a process of this user; false if the kernel gives no answer. */
bool unix_socket_peer_is_same_user(int fd);

/* Checks that it is this process (of this user on systems that do not report the process). */
bool unix_socket_peer_is_same_process(int fd);

#endif
