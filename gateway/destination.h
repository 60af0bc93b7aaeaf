/* Destinations that are kept, and how messages name them. */
#ifndef GATEWAY_DESTINATION_H
#define GATEWAY_DESTINATION_H

#include "base/base.h"
#include "gateway/gateway.h"

/* Makes *ret a copy with strings of its own, for whoever outlives the caller's. */
int destination_copy(const struct destination *d, struct destination *ret, struct err *err);
/* Of copies only. */
void destination_release(struct destination *d);

#define DESTINATION_NAME 300
/* "HOST port N", or the path of a Unix socket; cut where it is too long. Returns dst. */
char *destination_name(const struct destination *d, char dst[DESTINATION_NAME]);

#endif
