/* Copies and names of destinations. */
#ifndef GATEWAY_SSH_DESTINATION_H
#define GATEWAY_SSH_DESTINATION_H

#include "base/base.h"
#include "gateway/ssh/ssh.h"

/* Copies a destination with its strings. */
int destination_copy(const struct destination *d, struct destination *ret, struct err *err);
/* Frees the strings of a copy. */
void destination_release(struct destination *d);

#define DESTINATION_NAME 300
/* Writes "HOST port N", or the path of a Unix socket, cut if it is too long. Returns dst. */
char *destination_name(const struct destination *d, char dst[DESTINATION_NAME]);

#endif
