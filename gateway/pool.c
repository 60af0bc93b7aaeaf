#include "gateway/pool.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/session_pool.h"
#include "base/banned.h"

/* sshd's MaxStartups refuses logins from the eleventh on, and other users log in too. */
#define PLACES 8

/* A login that waits in the queue. */
struct waiting {
    struct waiting *next;
    int fd; /* closed when the login may start */
};

/* An address with logins, or with refused logins. */
struct entrance {
    struct entrance *next;
    char *address;
    unsigned places, taken;
    struct waiting *queue;
};

int gateway_pool_new(struct gateway_pool **ret, struct err *err)
{
    struct gateway_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return err_nomem(err);
    pthread_mutex_init(&pool->mutex, NULL);
    if (keyring_new(&pool->keyring, err) < 0) {
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
    while (pool->entrances) {
        struct entrance *next = pool->entrances->next;
        free(pool->entrances->address);
        free(pool->entrances);
        pool->entrances = next;
    }
    session_pools_end(pool->session_pools);
    keyring_free(pool->keyring);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

struct keyring *pool_keyring(struct gateway_pool *pool)
{
    return pool ? pool->keyring : NULL;
}

static struct entrance *find_entrance(struct gateway_pool *pool, const char *address)
{
    struct entrance *e = pool->entrances;
    while (e && strcmp(e->address, address) != 0)
        e = e->next;
    return e;
}

static struct entrance *add_entrance(struct gateway_pool *pool, const char *address)
{
    struct entrance *e = calloc(1, sizeof *e);
    if (!e || !(e->address = strdup(address))) {
        free(e);
        return NULL;
    }
    e->places = PLACES;
    e->next = pool->entrances;
    pool->entrances = e;
    return e;
}

/* Admits the first logins of the queue. The caller locks the mutex. */
static void admit_waiting(struct entrance *e)
{
    while (e->queue && e->taken < e->places) {
        struct waiting *first = e->queue;
        e->queue = first->next;
        e->taken++;
        fd_close(&first->fd);
    }
}

/* Waits in the queue for a place. */
static int wait_in_queue(struct gateway_pool *pool, struct entrance *e, const int turn[2], int cancel_fd,
                         struct err *err)
{
    struct waiting self = {.fd = turn[1]}, **end = &e->queue;
    while (*end)
        end = &(*end)->next;
    *end = &self;
    pthread_mutex_unlock(&pool->mutex);
    int rc = fd_wait(turn[0], POLLIN, CLOCK_NEVER, cancel_fd, err);
    pthread_mutex_lock(&pool->mutex);
    if (rc == 0 || self.fd < 0) {
        if (rc < 0) {
            e->taken--;
            admit_waiting(e);
        }
        return rc;
    }
    for (struct waiting **at = &e->queue; *at; at = &(*at)->next)
        if (*at == &self) {
            *at = self.next;
            break;
        }
    fd_close(&self.fd);
    return rc;
}

int pool_enter(struct gateway_pool *pool, const char *address, int cancel_fd, struct err *err)
{
    int rc = 0, turn[2] = {-1, -1};
    if (!pool)
        return 0;
    pthread_mutex_lock(&pool->mutex);
    struct entrance *e = find_entrance(pool, address);
    if (!e)
        e = add_entrance(pool, address);
    if (!e)
        rc = err_nomem(err);
    else if (e->taken < e->places)
        e->taken++;
    else if ((rc = fd_pipe(turn, err)) == 0)
        rc = wait_in_queue(pool, e, turn, cancel_fd, err);
    pthread_mutex_unlock(&pool->mutex);
    fd_close(&turn[0]);
    return rc;
}

void pool_leave(struct gateway_pool *pool, const char *address, bool turned_away)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    struct entrance *e = find_entrance(pool, address);
    e->taken--;
    if (turned_away && e->places > 1)
        e->places = (e->places + 1) / 2;
    admit_waiting(e);
    pthread_mutex_unlock(&pool->mutex);
}
