#include "gateway/gateway.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/hop.h"
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

static int add_hop(struct gateway *gw, const struct ssh_config *config, struct err *err)
{
    struct hop_request request = {.config = config, .number = gw->n_hops, .options = &gw->options};
    struct session *session = NULL;
    if (gw->n_hubs > 0)
        request.before = last_hub(gw);
    if (hop_open(&request, &session, err) < 0)
        return -1;
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
    return hub_dial(last_hub(gw), &seen, ret_fd, err);
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

int gateway_renew(struct gateway *gw, struct err *err)
{
    (void)gw;
    return err_set(err, ERR_LOST, "the session cannot be opened again yet");
}

int gateway_lost_fd(const struct gateway *gw)
{
    (void)gw;
    return -1;
}
