/*
 * A session pool: the sessions to one hop of a route.
 *
 * A pool opens a session on demand, and a second one if the first has ended or is stuck. Gateways with the
 * same jump host share its pool (gateway_shared). The pool of the target host belongs to one gateway.
 */
#ifndef GATEWAY_SESSION_POOL_H
#define GATEWAY_SESSION_POOL_H

#include "gateway/hub.h"
#include "gateway/ssh/hop.h"

/* The session pools that gateways share, one for each configuration of a hop. Thread-safe. */
struct session_pools;
int session_pools_new(struct session_pools **ret, struct err *err);
/* Frees the pools and ends their sessions. Close all gateways first. Accepts NULL. */
void session_pools_free(struct session_pools *all);

struct session_pool;

/* Gets the pool of a hop: from `shared`, or a new one if `shared` is NULL. session_pool_release releases the
 * pool, and ends the sessions of a pool that is not shared. */
int session_pool_get(const struct hop *hop, struct session_pools *shared, struct session_pool **ret,
                     struct err *err);
void session_pool_release(struct session_pool *p);

struct acquired_hub {
    struct hub *hub;
    const struct gateway_hop *hop_facts; /* address, user, host key, carrier of the hop; valid until
                                            session_pool_release_hub */
    bool was_open;                       /* its session was open before the call */
};

/*
 * Acquires a usable hub of the pool `hop->pool`: an existing one, else a new one. Concurrent callers wait for
 * the same new hub and share its failure. `exclusive`: the hub must have no other users. A new hub is opened
 * through `hop`, which the caller owns. session_pool_release_hub releases it.
 */
int session_pool_acquire_hub(const struct hop *hop, bool exclusive, struct acquired_hub *ret,
                             struct err *err);
void session_pool_release_hub(struct session_pool *p, struct hub *hub);

/* Opens a connection from the hop to a destination, as gateway_dial does. It is the value of hop->dial. */
int session_pool_dial(const struct hop *hop, const struct destination *to, int *ret_fd, struct err *err);

#endif
