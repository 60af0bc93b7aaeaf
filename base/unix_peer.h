/* The process at the other end of a Unix socket, from the kernel. For a listener it is the process that began
 * to listen. */
#ifndef BASE_UNIX_PEER_H
#define BASE_UNIX_PEER_H

#include <stdbool.h>

/* Checks that it is a process of this user; false if the kernel gives no answer. */
bool unix_peer_is_same_user(int fd);

/* Checks that it is this process (of this user on systems that do not report the process). */
bool unix_peer_is_same_process(int fd);

#endif
