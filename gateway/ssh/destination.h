/* Copies and names of destinations. */
#ifndef GATEWAY_SSH_DESTINATION_H
#define GATEWAY_SSH_DESTINATION_H

#include "base/base.h"
#include "gateway/ssh/ssh.h"

/* Copies a destination with its strings. destination_release frees the copy. */
int destination_copy(const struct destination *d, struct destination *ret, struct err *err);
/* Releases a copy of a destination. */
void destination_release(struct destination *d);

#define DESTINATION_NAME 300
/* Writes "HOST port N", or the path of a Unix socket, cut if it is too long. Returns dst. */
char *destination_name(const struct destination *d, char dst[DESTINATION_NAME]);

#endif
