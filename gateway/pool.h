/* What the gateways of one run share, for the files of this folder. */
#ifndef GATEWAY_POOL_H
#define GATEWAY_POOL_H

#include "gateway/gateway.h"
#include "gateway/keyring.h"

/* Of a pool that is NULL there is none. */
struct keyring *pool_keyring(struct gateway_pool *pool);

#endif
