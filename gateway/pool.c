#include "gateway/pool.h"

#include <stdlib.h>

#include "base/banned.h"

int gateway_pool_new(struct gateway_pool **ret, struct err *err)
{
    struct gateway_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return err_nomem(err);
    if (login_queues_new(&pool->queues, err) < 0 || session_pools_new(&pool->sessions, err) < 0) {
        gateway_pool_free(pool);
        return -1;
    }
    *ret = pool;
    return 0;
}

void gateway_pool_free(struct gateway_pool *pool)
{
    if (!pool)
        return;
    session_pools_free(pool->sessions);
    login_queues_free(pool->queues);
    free(pool);
}
