#include "gateway/login_queue.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* sshd's MaxStartups refuses logins from the eleventh on, and other users log in too. */
#define PLACES 8

/* A login that waits in the queue. */
struct waiting {
    struct waiting *next;
    int fd; /* closed when the login may start */
};

/* The queue of an address with logins, or with refused logins. */
struct login_queue {
    struct login_queue *next;
    char *address;
    unsigned places, taken;
    struct waiting *waiting; /* first come, first served */
};

struct login_queues {
    pthread_mutex_t mutex; /* guards all queues */
    struct login_queue *first;
};

int login_queues_new(struct login_queues **ret, struct err *err)
{
    struct login_queues *all = calloc(1, sizeof *all);
    if (!all)
        return err_nomem(err);
    pthread_mutex_init(&all->mutex, NULL);
    *ret = all;
    return 0;
}

void login_queues_free(struct login_queues *all)
{
    if (!all)
        return;
    while (all->first) {
        struct login_queue *next = all->first->next;
        free(all->first->address);
        free(all->first);
        all->first = next;
    }
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

static struct login_queue *find_queue(struct login_queues *all, const char *address)
{
    struct login_queue *q = all->first;
    while (q && strcmp(q->address, address) != 0)
        q = q->next;
    return q;
}

static struct login_queue *add_queue(struct login_queues *all, const char *address)
{
    struct login_queue *q = calloc(1, sizeof *q);
    if (!q || !(q->address = strdup(address))) {
        free(q);
        return NULL;
    }
    q->places = PLACES;
    q->next = all->first;
    all->first = q;
    return q;
}

/* Admits the first logins of the queue. The caller locks the mutex. */
static void admit_waiting(struct login_queue *q)
{
    while (q->waiting && q->taken < q->places) {
        struct waiting *first = q->waiting;
        q->waiting = first->next;
        q->taken++;
        fd_close(&first->fd);
    }
}

/* Waits in the queue for a place. */
static int wait_in_queue(struct login_queues *all, struct login_queue *q, const int turn[2], int cancel_fd,
                         struct err *err)
{
    struct waiting self = {.fd = turn[1]}, **end = &q->waiting;
    while (*end)
        end = &(*end)->next;
    *end = &self;
    pthread_mutex_unlock(&all->mutex);
    int rc = fd_wait(turn[0], POLLIN, CLOCK_NEVER, cancel_fd, err);
    pthread_mutex_lock(&all->mutex);
    if (rc == 0 || self.fd < 0) {
        if (rc < 0) {
            q->taken--;
            admit_waiting(q);
        }
        return rc;
    }
    for (struct waiting **at = &q->waiting; *at; at = &(*at)->next)
        if (*at == &self) {
            *at = self.next;
            break;
        }
    fd_close(&self.fd);
    return rc;
}

int login_queue_enter(struct login_queues *all, const char *address, int cancel_fd, struct err *err)
{
    int rc = 0, turn[2] = {-1, -1};
    if (!all)
        return 0;
    pthread_mutex_lock(&all->mutex);
    struct login_queue *q = find_queue(all, address);
    if (!q)
        q = add_queue(all, address);
    if (!q)
        rc = err_nomem(err);
    else if (q->taken < q->places)
        q->taken++;
    else if ((rc = fd_pipe(turn, err)) == 0)
        rc = wait_in_queue(all, q, turn, cancel_fd, err);
    pthread_mutex_unlock(&all->mutex);
    fd_close(&turn[0]);
    return rc;
}

void login_queue_leave(struct login_queues *all, const char *address, bool server_was_busy)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->mutex);
    struct login_queue *q = find_queue(all, address);
    q->taken--;
    if (server_was_busy && q->places > 1)
        q->places = (q->places + 1) / 2;
    admit_waiting(q);
    pthread_mutex_unlock(&all->mutex);
}
