#include "gateway/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/ssh/destination.h"
#include "base/banned.h"

/* The pause after accept has failed, for example because no descriptor is free. */
#define ACCEPT_PAUSE_MS 100

int listener_new(const char *path, const struct destination *to, struct gateway_listener **ret,
                 struct err *err)
{
    struct gateway_listener *l = calloc(1, sizeof *l);
    if (!l)
        return err_nomem(err);
    struct sockaddr_un address;
    pthread_mutex_init(&l->mutex, NULL);
    l->fd = -1;
    if (fd_unix_address(path, &address, err) < 0 || destination_copy(to, &l->to, err) < 0 ||
        (l->fd = fd_socket(AF_UNIX, err)) < 0)
        goto fail;
    int rc = bind(l->fd, (struct sockaddr *)&address, sizeof address);
    /* Store the path only after bind has succeeded, because listener_free removes a stored path. */
    if (rc == 0)
        snprintf(l->path, sizeof l->path, "%s", path);
    if (rc < 0 || chmod(path, 0600) < 0 || listen(l->fd, 64) < 0) {
        err_sys(err, "cannot listen on %s", path);
        goto fail;
    }
    if (fd_set_nonblocking(l->fd, true, err) < 0)
        goto fail;
    *ret = l;
    return 0;
fail:
    listener_free(l);
    return -1;
}

void listener_free(struct gateway_listener *l)
{
    fd_close(&l->fd);
    if (l->path[0])
        unlink(l->path);
    destination_release(&l->to);
    pthread_mutex_destroy(&l->mutex);
    free(l);
}

int listener_accept(struct gateway_listener *l)
{
    for (;;) {
        int fd = fd_accept(l->fd);
        if (fd >= 0 && unix_socket_peer_is_same_process(fd))
            return fd;
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {
            /* Without a free descriptor the connection stays queued, so an immediate retry would spin. */
            bool none = errno == EAGAIN || errno == EWOULDBLOCK;
            l->accept_after = none ? 0 : clock_now() + ACCEPT_PAUSE_MS;
            return -1;
        }
        fd_close(&fd);
    }
}

void listener_set_failure(struct gateway_listener *l, const struct err *why)
{
    pthread_mutex_lock(&l->mutex);
    l->failure = *why;
    pthread_mutex_unlock(&l->mutex);
}

void listener_count_opening(struct gateway_listener *l, int change)
{
    pthread_mutex_lock(&l->mutex);
    l->n_opening += (unsigned)change;
    pthread_mutex_unlock(&l->mutex);
}

bool gateway_listener_is_opening(struct gateway_listener *l)
{
    pthread_mutex_lock(&l->mutex);
    bool is_opening = l->n_opening > 0;
    pthread_mutex_unlock(&l->mutex);
    return is_opening;
}

const char *gateway_listener_path(const struct gateway_listener *l)
{
    return l->path;
}

int gateway_listener_failure(struct gateway_listener *l, struct err *err)
{
    pthread_mutex_lock(&l->mutex);
    struct err why = l->failure;
    l->failure.kind = ERR_NONE;
    pthread_mutex_unlock(&l->mutex);
    if (why.kind == ERR_NONE)
        return 0;
    if (err)
        *err = why;
    return -1;
}
