#include "gateway/login_queue.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* The most concurrent logins at one server. With the default MaxStartups, sshd may refuse a login while ten
 * others are in progress, and other users log in too. */
#define LOGINS_MAX 8

/* A login that waits in the queue. */
struct waiting_login {
    struct waiting_login *next;
    int fd; /* closed when the login may start */
};

/* The queue of a server. It exists until login_queues_free, because it stores the reduced limit. */
struct login_queue {
    struct login_queue *next;
    char *server;
    unsigned limit;                /* of concurrent logins */
    unsigned n_active;             /* logins that have started and not ended */
    struct waiting_login *waiting; /* in order of arrival */
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
        free(all->first->server);
        free(all->first);
        all->first = next;
    }
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

static struct login_queue *find_queue(struct login_queues *all, const char *server)
{
    struct login_queue *q = all->first;
    while (q && strcmp(q->server, server) != 0)
        q = q->next;
    return q;
}

static struct login_queue *add_queue(struct login_queues *all, const char *server)
{
    struct login_queue *q = calloc(1, sizeof *q);
    if (!q || !(q->server = strdup(server))) {
        free(q);
        return NULL;
    }
    q->limit = LOGINS_MAX;
    q->next = all->first;
    all->first = q;
    return q;
}

/* Admits the first logins of the queue. The caller locks the mutex. */
static void admit_waiting(struct login_queue *q)
{
    while (q->waiting && q->n_active < q->limit) {
        struct waiting_login *first = q->waiting;
        q->waiting = first->next;
        q->n_active++;
        fd_close(&first->fd);
    }
}

/* Waits in the queue until the login may start. */
static int wait_in_queue(struct login_queues *all, struct login_queue *q, const int start_pipe[2],
                         int cancel_fd, struct err *err)
{
    struct waiting_login self = {.fd = start_pipe[1]}, **end = &q->waiting;
    while (*end)
        end = &(*end)->next;
    *end = &self;
    pthread_mutex_unlock(&all->mutex);
    int rc = fd_wait(start_pipe[0], POLLIN, CLOCK_NEVER, cancel_fd, err);
    pthread_mutex_lock(&all->mutex);
    if (rc == 0 || self.fd < 0) {
        /* The login was admitted just before the wait failed: admit the next one instead. */
        if (rc < 0) {
            q->n_active--;
            admit_waiting(q);
        }
        return rc;
    }
    for (struct waiting_login **at = &q->waiting; *at; at = &(*at)->next)
        if (*at == &self) {
            *at = self.next;
            break;
        }
    fd_close(&self.fd);
    return rc;
}

int login_queue_enter(struct login_queues *all, const char *server, int cancel_fd, struct err *err)
{
    int rc = 0, start_pipe[2] = {-1, -1};
    if (!all)
        return 0;
    pthread_mutex_lock(&all->mutex);
    struct login_queue *q = find_queue(all, server);
    if (!q)
        q = add_queue(all, server);
    if (!q)
        rc = err_nomem(err);
    else if (q->n_active < q->limit)
        q->n_active++;
    else if ((rc = fd_pipe(start_pipe, err)) == 0)
        rc = wait_in_queue(all, q, start_pipe, cancel_fd, err);
    pthread_mutex_unlock(&all->mutex);
    fd_close(&start_pipe[0]);
    return rc;
}

void login_queue_leave(struct login_queues *all, const char *server, bool server_was_busy)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->mutex);
    struct login_queue *q = find_queue(all, server);
    q->n_active--;
    if (server_was_busy && q->limit > 1)
        q->limit = (q->limit + 1) / 2;
    admit_waiting(q);
    pthread_mutex_unlock(&all->mutex);
}
