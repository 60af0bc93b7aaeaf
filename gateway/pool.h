/* The state that the gateways of one run share, for the files of this folder. */
#ifndef GATEWAY_POOL_H
#define GATEWAY_POOL_H

#include <pthread.h>

#include "gateway/gateway.h"
#include "gateway/ssh/keyring.h"

struct entrance;
struct session_pool;

struct gateway_pool {
    struct keyring *keyring;
    pthread_mutex_t mutex; /* guards the members below */
    struct entrance *entrances;
    struct session_pool *session_pools; /* shared ones; owned by session_pool.c */
};

/* NULL without a pool. */
struct keyring *pool_keyring(struct gateway_pool *pool);

/*
 * Limits the concurrent logins at one address, because sshd refuses those above its MaxStartups. Waits for a
 * place, first come, first served. It needs no deadline: the logins before it have theirs. pool_leave frees
 * the place. Without a pool there is no limit.
 */
int pool_enter(struct gateway_pool *pool, const char *address, int cancel_fd, struct err *err);

/* `turned_away`: the server was too busy for this login, so the number of places shrinks. */
void pool_leave(struct gateway_pool *pool, const char *address, bool turned_away);

#endif
