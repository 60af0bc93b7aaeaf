#include "gateway/gateway.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libssh2.h>

#include "gateway/openssh/openssh.h"
#include "gateway/shared.h"
#include "gateway/session_pool.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

struct gateway {
    struct login_options options;
    struct gateway_shared *shared; /* NULL: nothing is shared */
    struct route route;
    struct hop *hops;                   /* the hops of the route that we open */
    struct gateway_hop *hop_facts;      /* the facts about each hop as its first opening found them */
    size_t n_hops;                      /* the length of both arrays; 0 on a direct route */
    pthread_mutex_t mutex;              /* guards the members below: several threads may use a gateway */
    struct hub *hub;                    /* the last hop's hub, or the direct one; NULL while none is usable */
    struct gateway_listener *listeners; /* all listeners, linked by `sibling` */
    struct gateway_listener *waiting_listeners; /* the listeners without a hub, linked by `next` */
    char *directory;                            /* the directory of the listeners; NULL until the first one */
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

static struct hop *last_hop(const struct gateway *gw)
{
    return &gw->hops[gw->n_hops - 1];
}

/* Returns the index of the first hop to open. ssh itself connects through the hops before its own. So this is
 * the last hop that has an open master connection of the user (*ret_has_master) or needs our own ssh; without
 * such a hop, 0. */
static size_t first_hop(const struct route *route, const struct login_options *options, bool *ret_has_master)
{
    for (size_t i = route->n_hops; i-- > 0 && route->via != SSH_VIA_LIBSSH2;) {
        struct gateway_hop ignored;
        struct openssh *master = NULL;
        *ret_has_master = openssh_find(&route->hops[i], options, &ignored, &master, NULL) == 0;
        openssh_close(master);
        if (*ret_has_master || route->via == SSH_VIA_OPENSSH || route->hops[i].only_openssh[0])
            return i;
    }
    return 0;
}

/* Opens a hop or shares an open session to it. The gateway keeps the hub of the last hop. */
static int open_hop(struct gateway *gw, struct hop *hop, bool last, struct err *err)
{
    struct gateway_step step = {.kind = GATEWAY_SHARED, .hop = hop->number};
    struct gateway_hop *hop_facts = &gw->hop_facts[gw->n_hops];
    struct acquired_hub acquired;
    if (session_pool_get(hop, !last && gw->shared ? gw->shared->pools : NULL, &hop->pool, err) < 0)
        return -1;
    gw->n_hops++;
    if (session_pool_acquire_hub(hop, false, &acquired, err) < 0)
        return -1;
    *hop_facts = *acquired.hop_facts;
    if (last)
        gw->hub = acquired.hub;
    else
        session_pool_release_hub(hop->pool, acquired.hub);
    if (acquired.was_open && gw->options.step) {
        snprintf(step.detail, sizeof step.detail, "%s@%s port %u, its session is open", hop_facts->user,
                 hop_facts->address, hop_facts->port);
        gw->options.step(gw->options.step_ctx, &step);
    }
    return 0;
}

static int open_route(struct gateway *gw, struct err *err)
{
    struct carrier none = {0};
    const struct route *route = &gw->route;
    bool has_master = false;
    if (route->direct)
        return hub_start(&none, &gw->options.limits, &gw->hub, err);
    size_t first = first_hop(route, &gw->options, &has_master);
    for (size_t i = first; i < route->n_hops; i++) {
        struct hop *hop = &gw->hops[gw->n_hops];
        *hop = (struct hop){.config = &route->hops[i],
                            .number = i,
                            .previous = i > first ? hop - 1 : NULL,
                            .outermost = &route->hops[0],
                            .via = route->via,
                            .may_use_master = has_master && i == first,
                            .is_jump = i + 1 < route->n_hops,
                            .options = &gw->options,
                            .queues = gw->shared ? gw->shared->queues : NULL,
                            .dial = session_pool_dial};
        if (open_hop(gw, hop, i + 1 == route->n_hops, err) < 0)
            return i + 1 < route->n_hops ? err_wrap(err, "jump host") : -1;
    }
    return 0;
}

/* Fills in the defaults. */
static struct login_options fill_options(const struct gateway_options *o)
{
    return (struct login_options){
        .limits = {.cancel_fd = o->cancel_fd,
                   .step_timeout_ms = o->step_timeout_ms,
                   .keepalive_ms = o->keepalive_ms,
                   .silence_ms = o->silence_ms ? o->silence_ms : 3 * o->keepalive_ms},
        .keyring = o->keyring,
        .step = o->step,
        .step_ctx = o->step_ctx,
        .host = o->host,
        .ask = o->ask,
        .ask_ctx = o->ask_ctx,
        .ask_keys_only = o->ask_keys_only,
        .ask_ms = o->ask_ms ? o->ask_ms : GATEWAY_ASK_MS,
        .askpass = o->askpass};
}

int gateway_open(struct route *route, const struct gateway_options *options, struct gateway **ret,
                 struct err *err)
{
    struct gateway *gw = calloc(1, sizeof *gw);
    if (!gw) {
        route_release(route);
        return err_nomem(err);
    }
    pthread_mutex_init(&gw->mutex, NULL);
    gw->shared = options->shared;
    gw->options = fill_options(options);
    gw->route = *route;
    *route = (struct route){0};
    gw->hops = calloc(gw->route.n_hops + 1, sizeof *gw->hops);
    gw->hop_facts = calloc(gw->route.n_hops + 1, sizeof *gw->hop_facts);
    int rc = gw->hops && gw->hop_facts ? open_route(gw, err) : err_nomem(err);
    gw->options.step = NULL;
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
    if (gw->route.direct)
        hub_stop(gw->hub);
    while (gw->hops && gw->n_hops > 0)
        session_pool_release(gw->hops[--gw->n_hops].pool);
    while (gw->listeners) {
        struct gateway_listener *next = gw->listeners->sibling;
        listener_free(gw->listeners);
        gw->listeners = next;
    }
    if (gw->directory)
        rmdir(gw->directory);
    free(gw->directory);
    pthread_mutex_destroy(&gw->mutex);
    route_release(&gw->route);
    free(gw->hops);
    free(gw->hop_facts);
    free(gw);
}

const struct gateway_hop *gateway_hop(const struct gateway *gw, size_t i)
{
    return i < gw->n_hops ? &gw->hop_facts[i] : NULL;
}

/* Returns the destination for the carrier. A direct route has no remote side that resolves "localhost":
 * replaces it by the address of the route's host. */
static struct destination map_localhost(const struct gateway *gw, const struct destination *to)
{
    struct destination mapped = *to;
    if (gw->route.direct && !to->unix_path && strcmp(to->host, "localhost") == 0)
        mapped.host = gw->route.address;
    return mapped;
}

int gateway_attach(struct gateway *gw, int fd, const struct destination *to,
                   const struct gateway_watch *watch, struct err *err)
{
    struct destination mapped = map_localhost(gw, to);
    struct link *l = link_new(fd, &mapped, err);
    if (!l)
        return -1;
    if (watch)
        l->watch = *watch;
    pthread_mutex_lock(&gw->mutex);
    bool usable = gw->hub != NULL;
    if (usable)
        hub_add_link(gw->hub, l);
    pthread_mutex_unlock(&gw->mutex);
    if (usable)
        return 0;
    link_free(l);
    return failure_set(FAILURE_SESSION_LOST, FAILURE_DETAILS(NULL), err);
}

int gateway_dial(struct gateway *gw, const struct destination *to, int *ret_fd, struct err *err)
{
    struct destination mapped = map_localhost(gw, to);
    return gw->route.direct ? hub_dial(gw->hub, &mapped, gw->options.limits.cancel_fd, ret_fd, err)
                            : session_pool_dial(last_hop(gw), &mapped, ret_fd, err);
}

/* Sets *ret to the path of the next listener, in a directory that the first call creates. The caller frees
 * the path. */
static int listener_path(struct gateway *gw, char **ret, struct err *err)
{
    char name[24];
    pthread_mutex_lock(&gw->mutex);
    int rc = gw->directory ? 0 : unix_socket_make_directory(LISTENER_ROOM, &gw->directory, err);
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
    struct destination mapped = map_localhost(gw, to);
    struct gateway_listener *l = NULL;
    char *path = NULL;
    if (listener_path(gw, &path, err) < 0)
        return -1;
    int rc = listener_new(path, &mapped, &l, err);
    free(path);
    if (rc < 0)
        return -1;
    pthread_mutex_lock(&gw->mutex);
    l->sibling = gw->listeners;
    gw->listeners = l;
    if (gw->hub) {
        hub_add_listeners(gw->hub, l);
    } else {
        l->next = gw->waiting_listeners;
        gw->waiting_listeners = l;
    }
    pthread_mutex_unlock(&gw->mutex);
    *ret = l;
    return 0;
}

/* Releases the hub unless it is usable. Returns whether the gateway has a usable hub. The caller locks the
 * mutex. */
static bool keep_usable_hub(struct gateway *gw)
{
    if (!gw->hub || hub_state(gw->hub, NULL) == HUB_USABLE)
        return gw->hub != NULL;
    gw->waiting_listeners = hub_remove_listeners(gw->hub);
    session_pool_release_hub(last_hop(gw)->pool, gw->hub);
    gw->hub = NULL;
    return false;
}

/* Opens another session if the hub is not usable. The mutex is unlocked while opening; concurrent renewals
 * wait for the same session. */
int gateway_renew(struct gateway *gw, struct err *err)
{
    struct acquired_hub acquired;
    if (gw->route.direct)
        return 0;
    pthread_mutex_lock(&gw->mutex);
    bool usable = keep_usable_hub(gw);
    pthread_mutex_unlock(&gw->mutex);
    if (usable)
        return 0;
    if (session_pool_acquire_hub(last_hop(gw), false, &acquired, err) < 0)
        return -1;
    struct hub *hub = acquired.hub;
    pthread_mutex_lock(&gw->mutex);
    if (gw->hub) {
        session_pool_release_hub(last_hop(gw)->pool, hub);
    } else {
        gw->hub = hub;
        hub_add_listeners(hub, gw->waiting_listeners);
        gw->waiting_listeners = NULL;
    }
    pthread_mutex_unlock(&gw->mutex);
    return 0;
}

int gateway_check_usable(struct gateway *gw, struct err *err)
{
    pthread_mutex_lock(&gw->mutex);
    int rc = !gw->hub ? failure_set(FAILURE_SESSION_LOST, FAILURE_DETAILS(NULL), err)
             : hub_state(gw->hub, err) == HUB_USABLE ? 0
                                                     : -1;
    pthread_mutex_unlock(&gw->mutex);
    return rc;
}

int gateway_lost_fd(struct gateway *gw)
{
    pthread_mutex_lock(&gw->mutex);
    int fd = gw->hub ? hub_lost_fd(gw->hub) : -1;
    pthread_mutex_unlock(&gw->mutex);
    return fd;
}
