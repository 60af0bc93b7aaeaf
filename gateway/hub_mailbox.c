/* The hub's interface for other threads: its mailbox, and queries of its state. */
#include <unistd.h>

#include "gateway/hub_internal.h"
#include "base/banned.h"

/* ---- functions for any thread -------------------------------------------------------------------------- */

void hub_add_link(struct hub *h, struct link *l)
{
    pthread_mutex_lock(&h->mutex);
    l->next = h->new_links;
    h->new_links = l;
    pthread_mutex_unlock(&h->mutex);
    fd_pipe_wake(h->wake[1]);
}

/* Prepends the list to *head. */
static void prepend_list(struct gateway_listener **head, struct gateway_listener *list)
{
    struct gateway_listener **end = &list;
    while (*end)
        end = &(*end)->next;
    *end = *head;
    *head = list;
}

void hub_add_listeners(struct hub *h, struct gateway_listener *list)
{
    pthread_mutex_lock(&h->mutex);
    prepend_list(&h->new_listeners, list);
    pthread_mutex_unlock(&h->mutex);
    fd_pipe_wake(h->wake[1]);
}

struct gateway_listener *hub_remove_listeners(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
    h->listeners_wanted = true;
    fd_pipe_wake(h->wake[1]);
    while (h->listeners_wanted)
        pthread_cond_wait(&h->listeners_return_cond, &h->mutex);
    struct gateway_listener *list = h->returned_listeners;
    h->returned_listeners = NULL;
    pthread_mutex_unlock(&h->mutex);
    return list;
}

enum hub_state hub_state(struct hub *h, struct err *err)
{
    pthread_mutex_lock(&h->mutex);
    enum hub_state state = h->state;
    if (state != HUB_USABLE && err)
        *err = h->unusable_reason;
    pthread_mutex_unlock(&h->mutex);
    return state;
}

bool hub_is_idle(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
    bool idle = h->idle && !h->new_links;
    pthread_mutex_unlock(&h->mutex);
    return idle;
}

/* Makes h->lost readable while the hub is not usable. The caller locks the mutex. */
static void signal_lost(struct hub *h)
{
    if (h->lost[1] < 0)
        return;
    if (h->state == HUB_USABLE)
        fd_pipe_drain(h->lost[0]);
    else
        fd_pipe_wake(h->lost[1]);
}

int hub_lost_fd(struct hub *h)
{
    pthread_mutex_lock(&h->mutex);
    if (h->lost[0] < 0 && fd_pipe_nonblocking(h->lost, NULL) == 0)
        signal_lost(h);
    int fd = h->lost[0];
    pthread_mutex_unlock(&h->mutex);
    return fd;
}

int hub_dial(struct hub *h, const struct destination *to, int cancel_fd, int *ret_fd, struct err *err)
{
    int pair[2] = {-1, -1}, answer[2] = {-1, -1}, rc = -1;
    struct err why = ERR_INIT;
    struct link *l = NULL;
    if (fd_socketpair(pair, err) < 0 || fd_pipe(answer, err) < 0)
        goto out;
    l = link_new(pair[1], to, err);
    pair[1] = -1;
    if (!l)
        goto out;
    l->reply_fd = answer[1];
    answer[1] = -1;
    hub_add_link(h, l);
    /* The hub's thread always answers within its own deadline, which is before ours. */
    if (fd_wait(answer[0], POLLIN, clock_deadline(h->limits.step_timeout_ms + 2000), cancel_fd, err) < 0)
        goto out;
    if (read(answer[0], &why, sizeof why) != (ssize_t)sizeof why)
        err_set(&why, ERR_FAILED, "the gateway was closed");
    if (why.kind != ERR_NONE) {
        if (err)
            *err = why;
        goto out;
    }
    *ret_fd = pair[0];
    pair[0] = -1;
    rc = 0;
out:
    for (int i = 0; i < 2; i++) {
        fd_close(&pair[i]);
        fd_close(&answer[i]);
    }
    return rc;
}

/* ---- functions for the hub's thread -------------------------------------------------------------------- */

bool hub_read_mailbox(struct hub *h, struct link **ret_new)
{
    fd_pipe_drain(h->wake[0]);
    pthread_mutex_lock(&h->mutex);
    *ret_new = h->new_links;
    h->new_links = NULL;
    prepend_list(&h->listeners, h->new_listeners);
    h->new_listeners = NULL;
    if (h->listeners_wanted) {
        h->returned_listeners = h->listeners;
        h->listeners = NULL;
        h->listeners_wanted = false;
        pthread_cond_broadcast(&h->listeners_return_cond);
    }
    bool stopping = h->stopping;
    pthread_mutex_unlock(&h->mutex);
    return !stopping;
}

void hub_set_state(struct hub *h, enum hub_state state, const struct err *why)
{
    pthread_mutex_lock(&h->mutex);
    if (h->state != state && h->state != HUB_ENDED) {
        h->state = state;
        h->unusable_reason = *why;
        signal_lost(h);
    }
    pthread_mutex_unlock(&h->mutex);
}

void hub_set_idle(struct hub *h, bool idle)
{
    pthread_mutex_lock(&h->mutex);
    h->idle = idle;
    pthread_mutex_unlock(&h->mutex);
}
