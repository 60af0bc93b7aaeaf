/* Who is at the other end of a Unix socket, as the kernel says: of a listener's that is whoever began to
 * listen. */
#ifndef GATEWAY_PEER_H
#define GATEWAY_PEER_H

#include <stdbool.h>

/* Whether it is a process of this user; false when that cannot be told. */
bool peer_is_same_user(int fd);

/* Whether it is this very process (of this user, where the system does not tell the process). */
bool peer_is_same_process(int fd);

#endif
