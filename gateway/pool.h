/* What the gateways of one run share, for the files of this folder. */
#ifndef GATEWAY_POOL_H
#define GATEWAY_POOL_H

#include <pthread.h>

#include "gateway/gateway.h"
#include "gateway/keyring.h"

struct entrance;
struct way;

struct gateway_pool {
    struct keyring *keyring;
    pthread_mutex_t mutex; /* of what follows */
    struct entrance *entrances;
    struct way *ways; /* shared ones; way.c's */
};

/* NULL without a pool. */
struct keyring *pool_keyring(struct gateway_pool *pool);

/*
 * At one address only so many may log in at a time: sshd turns away those above its MaxStartups. Waits for a
 * place, first come, first served; pool_leave gives it back. Those in front have deadlines, so there is none
 * here. Without a pool there is always a place.
 */
int pool_enter(struct gateway_pool *pool, const char *address, int cancel_fd, struct err *err);

/* `turned_away`: the server was too busy for this one, so from now on there are fewer places. */
void pool_leave(struct gateway_pool *pool, const char *address, bool turned_away);

#endif
