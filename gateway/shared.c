#include "gateway/shared.h"

#include <stdlib.h>

#include "base/banned.h"

int gateway_shared_new(struct gateway_shared **ret, struct err *err)
{
    struct gateway_shared *shared = calloc(1, sizeof *shared);
    if (!shared)
        return err_nomem(err);
    if (login_queues_new(&shared->queues, err) < 0 || session_pools_new(&shared->pools, err) < 0) {
        gateway_shared_free(shared);
        return -1;
    }
    *ret = shared;
    return 0;
}

void gateway_shared_free(struct gateway_shared *shared)
{
    if (!shared)
        return;
    session_pools_free(shared->pools);
    login_queues_free(shared->queues);
    free(shared);
}
