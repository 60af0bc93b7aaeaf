/* The state that the gateways of one run share, for the files of this folder. */
#ifndef GATEWAY_SHARED_H
#define GATEWAY_SHARED_H

#include "gateway/gateway.h"
#include "gateway/login_queue.h"
#include "gateway/session_pool.h"

struct gateway_shared {
    struct login_queues *queues;
    struct session_pools *pools; /* of jump hosts */
};

#endif
