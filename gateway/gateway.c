#include "gateway/gateway.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/auth.h"
#include "gateway/connect.h"
#include "gateway/hub.h"
#include "gateway/session.h"
#include "base/banned.h"

/* One hub for each hop: the first over TCP, each other over a descriptor dialled from the one before. */
struct gateway {
    struct gateway_options options;
    struct hub **hubs; /* the last one reaches the host */
    struct gateway_hop *hops;
    size_t n_hops; /* of both; a direct route has one hub and no hop */
    size_t n_hubs;
    char *direct_address;
    pthread_mutex_t mutex; /* of what follows: services listen from threads of their own */
    char *directory;       /* of the private listeners; NULL until there is one */
    unsigned n_listeners;
};

int gateway_global_init(struct err *err)
{
    return libssh2_init(0) == 0 ? 0 : err_set(err, ERR_FAILED, "libssh2 cannot be initialised");
}

void gateway_global_cleanup(void)
{
    libssh2_exit();
}

static struct hub *last_hub(const struct gateway *gw)
{
    return gw->hubs[gw->n_hubs - 1];
}

static int dial(struct hub *hub, const struct destination *to, const struct gateway_options *options,
                int *ret_fd, struct err *err)
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
    hub_add_link(hub, l);
    /* The hub has a deadline of its own for this and always answers; ours is behind it. */
    if (fd_wait(answer[0], POLLIN, clock_deadline(options->step_timeout_ms + 2000), options->cancel_fd, err) <
        0)
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

/* A connected descriptor to the SSH server of hop number i. */
static int reach(struct gateway *gw, const struct ssh_config *hop, struct err *err)
{
    int64_t timeout =
        hop->connect_timeout_s ? hop->connect_timeout_s * INT64_C(1000) : gw->options.step_timeout_ms;
    if (gw->n_hubs == 0)
        return connect_tcp(hop->hostname, hop->port, clock_deadline(timeout), gw->options.cancel_fd, err);
    struct destination to = {.host = hop->hostname, .port = hop->port};
    int fd = -1;
    return dial(last_hub(gw), &to, &gw->options, &fd, err) < 0 ? -1 : fd;
}

static int add_hop(struct gateway *gw, const struct ssh_config *hop, struct err *err)
{
    struct session *session = NULL;
    int fd = reach(gw, hop, err);
    if (fd < 0)
        return -1;
    if (session_open(fd, hop, &gw->options, &session, err) < 0 || auth_run(session, hop, err) < 0) {
        session_close(session);
        /* A host key's message names the host itself. */
        return err && err->kind == ERR_HOST_KEY ? -1 : err_wrap(err, "%s port %u", hop->hostname, hop->port);
    }
    gw->hops[gw->n_hops++] = session->hop;
    if (hub_start(session, &gw->options, &gw->hubs[gw->n_hubs], err) < 0)
        return -1;
    gw->n_hubs++;
    return 0;
}

static int open_all(struct gateway *gw, const struct route *route, struct err *err)
{
    if (route->direct) {
        gw->direct_address = strdup(route->address);
        if (!gw->direct_address)
            return err_nomem(err);
        if (hub_start(NULL, &gw->options, &gw->hubs[0], err) < 0)
            return -1;
        gw->n_hubs = 1;
        return 0;
    }
    for (size_t i = 0; i < route->n_hops; i++) {
        if (add_hop(gw, &route->hops[i], err) < 0)
            return i + 1 < route->n_hops ? err_wrap(err, "jump host") : -1;
    }
    return 0;
}

int gateway_open(const struct route *route, const struct gateway_options *options, struct gateway **ret,
                 struct err *err)
{
    struct gateway *gw = calloc(1, sizeof *gw);
    if (!gw)
        return err_nomem(err);
    pthread_mutex_init(&gw->mutex, NULL);
    size_t n = route->n_hops + 1;
    gw->options = *options;
    gw->hubs = calloc(n, sizeof *gw->hubs);
    gw->hops = calloc(n, sizeof *gw->hops);
    int rc = gw->hubs && gw->hops ? open_all(gw, route, err) : err_nomem(err);
    if (rc < 0)
        gateway_close(gw);
    else
        *ret = gw;
    return rc;
}

void gateway_close(struct gateway *gw)
{
    if (!gw)
        return;
    while (gw->hubs && gw->n_hubs > 0)
        hub_stop(gw->hubs[--gw->n_hubs]);
    if (gw->directory)
        rmdir(gw->directory);
    free(gw->directory);
    pthread_mutex_destroy(&gw->mutex);
    free(gw->direct_address);
    free(gw->hubs);
    free(gw->hops);
    free(gw);
}

const struct gateway_hop *gateway_hop(const struct gateway *gw, size_t i)
{
    return i < gw->n_hops ? &gw->hops[i] : NULL;
}

/* On a direct route the far host is the address itself: its own localhost is us looking at it from outside.
 */
static struct destination as_seen(const struct gateway *gw, const struct destination *to)
{
    struct destination seen = *to;
    if (gw->direct_address && !to->unix_path && strcmp(to->host, "localhost") == 0)
        seen.host = gw->direct_address;
    return seen;
}

int gateway_attach(struct gateway *gw, int fd, const struct destination *to, struct err *err)
{
    struct destination seen = as_seen(gw, to);
    struct link *l = link_new(fd, &seen, err);
    if (!l)
        return -1;
    hub_add_link(last_hub(gw), l);
    return 0;
}

int gateway_dial(struct gateway *gw, const struct destination *to, int *ret_fd, struct err *err)
{
    struct destination seen = as_seen(gw, to);
    return dial(last_hub(gw), &seen, &gw->options, ret_fd, err);
}

/* A new string: the next name in the directory of the listeners, which is made for the first. */
static int listener_path(struct gateway *gw, char **ret, struct err *err)
{
    char name[24];
    pthread_mutex_lock(&gw->mutex);
    int rc = gw->directory ? 0 : listener_directory(&gw->directory, err);
    snprintf(name, sizeof name, "%u", gw->n_listeners++);
    pthread_mutex_unlock(&gw->mutex);
    if (rc < 0)
        return -1;
    *ret = file_join(gw->directory, name);
    return *ret ? 0 : err_nomem(err);
}

int gateway_listen(struct gateway *gw, const struct destination *to, struct gateway_listener **ret,
                   struct err *err)
{
    struct destination seen = as_seen(gw, to);
    struct gateway_listener *l = NULL;
    char *path = NULL;
    if (listener_path(gw, &path, err) < 0)
        return -1;
    int rc = listener_new(path, &seen, &l, err);
    free(path);
    if (rc < 0)
        return -1;
    hub_add_listener(last_hub(gw), l);
    *ret = l;
    return 0;
}
