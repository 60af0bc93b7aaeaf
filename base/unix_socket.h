/* Private Unix sockets: a directory for them, and the process at the other end. */
#ifndef BASE_UNIX_SOCKET_H
#define BASE_UNIX_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/err.h"

/*
 * Creates a directory (0700) for private sockets under $XDG_RUNTIME_DIR, $TMPDIR or /tmp: the first whose
 * path is plain (letters, digits, /._-+,@) and leaves `room` bytes in a socket's address for the slash, the
 * longest name and a NUL. The caller frees *ret.
 */
int unix_socket_directory(size_t room, char **ret, struct err *err);

/* The kernel reports the process at the other end of a Unix socket. For a listener it is the process that
 * began to listen. */

/* Checks that it is a process of this user; false if the kernel gives no answer. */
bool unix_socket_peer_is_same_user(int fd);

/* Checks that it is this process (of this user on systems that do not report the process). */
bool unix_socket_peer_is_same_process(int fd);

#endif
