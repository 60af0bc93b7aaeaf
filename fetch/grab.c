/*
 * Hosts are taken from the list of targets by as many threads as `parallel` allows; each host's services run
 * in threads of their own beside each other, over the one gateway. Services at one port are one process and
 * share a thread: profiles taken together distort each other, or are refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/credentials.h"
#include "fetch/fetch.h"
#include "fetch/observe.h"
#include "fetch/service.h"
#include "fetch/wanted.h"
#include "base/banned.h"

struct run {
    const struct fetch_grab *grab;
    struct gateway_pool *pool;
    struct observe observe;
    struct credentials credentials;
    pthread_mutex_t mutex; /* of next */
    size_t next;           /* the first target no thread has taken */
};

/* One thread's share of a host: the services at one destination, which are one process, one after the other.
 */
struct side {
    pthread_t thread;
    struct run *run;
    const struct target *targets; /* all of the host's */
    size_t n;
    size_t first; /* the first of this destination; the others are behind it */
    struct gateway *gw;
    bool started;
};

static bool is_first(const struct target *targets, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (service_is_beside(targets[k].service, targets[i].service))
            return false;
    return true;
}

static void *run_side(void *ctx)
{
    struct side *s = ctx;
    for (size_t i = s->first; i < s->n; i++) {
        const struct target *t = &s->targets[i];
        if (service_is_beside(t->service, s->targets[s->first].service))
            service_run(s->run->grab, &s->run->observe, t, s->gw,
                        credentials_find(&s->run->credentials, t->service));
    }
    return NULL;
}

static void run_services(struct run *run, const struct target *targets, size_t n, struct gateway *gw)
{
    struct side whole = {.run = run, .targets = targets, .n = n, .gw = gw};
    struct side *sides = calloc(n, sizeof *sides);
    for (size_t i = 1; sides && i < n; i++) {
        sides[i] = whole;
        sides[i].first = i;
        sides[i].started =
            is_first(targets, i) && thread_start(&sides[i].thread, run_side, &sides[i], NULL) == 0;
    }
    run_side(&whole);
    for (size_t i = 1; i < n; i++) {
        whole.first = i;
        if (sides && sides[i].started)
            pthread_join(sides[i].thread, NULL);
        else if (is_first(targets, i))
            run_side(&whole);
    }
    free(sides);
}

/* A server has three chances to show that it lives; libssh2 counts in seconds. */
static struct gateway_options gateway_options_of(const struct fetch_grab *grab)
{
    int64_t keepalive_ms = clock_least(grab->timeout_ms / 3, GATEWAY_KEEPALIVE_MS);
    int64_t step_ms = grab->connect_timeout_ms ? grab->connect_timeout_ms
                                               : clock_least(grab->timeout_ms, FETCH_CONNECT_TIMEOUT_MS);
    return (struct gateway_options){.ask = grab->ask,
                                    .ask_ctx = grab->ask_ctx,
                                    .ask_keys_only = grab->ask_keys_only,
                                    .askpass = grab->askpass,
                                    .ask_ms = grab->ask_ms,
                                    .cancel_fd = grab->cancel_fd,
                                    .step_timeout_ms = step_ms,
                                    .keepalive_ms = keepalive_ms < 1000 ? 1000 : keepalive_ms,
                                    .silence_ms = grab->timeout_ms < 3000 ? 3000 : grab->timeout_ms};
}

/* A host being opened, for the steps that are told. */
struct opening {
    struct run *run;
    const struct host *host;
    size_t n_hops;
};

static void tell_gateway_step(void *ctx, const struct gateway_step *s)
{
    static const enum fetch_step_kind kinds[] = {
        [GATEWAY_SHARED] = FETCH_STEP_SHARED,     [GATEWAY_VIA] = FETCH_STEP_VIA,
        [GATEWAY_CONNECT] = FETCH_STEP_CONNECT,   [GATEWAY_HANDSHAKE] = FETCH_STEP_HANDSHAKE,
        [GATEWAY_HOST_KEY] = FETCH_STEP_HOST_KEY, [GATEWAY_AUTH] = FETCH_STEP_AUTH};
    const struct opening *o = ctx;
    struct fetch_step step = {.kind = kinds[s->kind],
                              .hop = s->hop,
                              .n_hops = o->n_hops,
                              .duration_ms = s->duration_ms,
                              .news = s->news,
                              .failure = s->failure};
    snprintf(step.detail, sizeof step.detail, "%s", s->detail);
    observe_step(&o->run->observe, o->host, NULL, &step);
}

static void describe_route(const struct route *route, char *dst, size_t cap)
{
    struct buf text = BUF_INIT(cap - 1);
    if (route->direct)
        buf_addf(&text, "a direct connection to %s", route->address);
    for (size_t i = 0; i < route->n_hops; i++)
        buf_addf(&text, "%s%s@%s port %u", i ? ", then " : "", route->hops[i].user, route->hops[i].hostname,
                 route->hops[i].port);
    text_printable(dst, cap, buf_str(&text), text.len);
    buf_release(&text);
}

static int resolve_route(struct run *run, const struct host *host, struct route *ret, struct err *err)
{
    const struct fetch_grab *grab = run->grab;
    struct proc_limits limits = {.timeout_ms = gateway_options_of(grab).step_timeout_ms,
                                 .cancel_fd = grab->cancel_fd,
                                 .max_output = 1u << 20};
    struct fetch_step step = {.kind = FETCH_STEP_CONFIG};
    int64_t began = clock_now();
    int rc = route_resolve(host, grab->ssh, &limits, ret, err);
    step.duration_ms = clock_now() - began;
    step.failure = rc < 0 ? err : NULL;
    if (rc == 0)
        describe_route(ret, step.detail, sizeof step.detail);
    observe_step(&run->observe, host, NULL, &step);
    return rc;
}

/* Whether what one of them will be asked for shrinks when it is compressed. */
static bool shrinks(const struct fetch_grab *grab, const struct target *targets, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n && !any && !grab->look; i++) {
        struct wanted_list wanted;
        if (wanted_parse(grab->kinds->n ? grab->kinds : &targets[i].service->kinds, &wanted, NULL) < 0)
            continue;
        any = wanted_shrinks(&wanted);
        wanted_release(&wanted);
    }
    return any;
}

static int open_host(struct run *run, const struct host *host, bool shrinks_on_the_way, struct gateway **ret,
                     struct err *err)
{
    struct gateway_options options = gateway_options_of(run->grab);
    struct route route = {0};
    struct opening opening = {.run = run, .host = host};
    if (resolve_route(run, host, &route, err) < 0)
        return -1;
    opening.n_hops = route.n_hops;
    /* The host's own hop carries what the others cannot look into. */
    if (route.n_hops > 0 && route.hops[route.n_hops - 1].asked.compress == SSH_COMPRESS_AUTO)
        route.hops[route.n_hops - 1].shrinks = shrinks_on_the_way;
    options.pool = run->pool;
    options.step = tell_gateway_step;
    options.step_ctx = &opening;
    return gateway_open(&route, &options, ret, err);
}

static void run_host(struct run *run, const struct target *targets, size_t n)
{
    struct gateway *gw = NULL;
    struct err failure = ERR_INIT;
    const struct host *host = targets[0].host;
    observe_opening(&run->observe, host);
    if (fd_cancelled(run->grab->cancel_fd))
        err_set(&failure, ERR_CANCELLED, "interrupted before it was opened");
    else
        open_host(run, host, shrinks(run->grab, targets, n), &gw, &failure);
    observe_host(&run->observe, host, gw, gw ? NULL : &failure);
    if (gw)
        run_services(run, targets, n, gw);
    gateway_close(gw);
}

/* The next host's targets; 0 when there is none left. */
static size_t take_host(struct run *run, const struct target **ret)
{
    const struct targets *all = run->grab->targets;
    pthread_mutex_lock(&run->mutex);
    size_t from = run->next, to = from;
    while (to < all->n && all->items[to].host == all->items[from].host)
        to++;
    run->next = to;
    pthread_mutex_unlock(&run->mutex);
    *ret = &all->items[from];
    return to - from;
}

static void *run_hosts(void *ctx)
{
    struct run *run = ctx;
    const struct target *targets = NULL;
    for (size_t n; (n = take_host(run, &targets)) > 0;)
        run_host(run, targets, n);
    return NULL;
}

/* As many threads as allowed and needed. Fewer do the same work; none at all cannot. */
static int run_all(struct run *run, struct err *err)
{
    const struct fetch_grab *grab = run->grab;
    size_t most = grab->parallel < grab->targets->n ? grab->parallel : grab->targets->n, n = 0;
    struct err why = ERR_INIT;
    pthread_t *threads = calloc(most + 1, sizeof *threads);
    if (!threads)
        return err_nomem(err);
    while (n < most && thread_start(&threads[n], run_hosts, run, &why) == 0)
        n++;
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    if (n > 0 || most == 0)
        return 0;
    if (err)
        *err = why;
    return -1;
}

int fetch_run(const struct fetch_grab *grab, struct err *err)
{
    struct run run = {.grab = grab};
    struct proc_limits limits = {.timeout_ms = grab->timeout_ms, .cancel_fd = grab->cancel_fd};
    if (credentials_load(grab->targets, &limits, &run.credentials, err) < 0)
        return -1;
    pthread_mutex_init(&run.mutex, NULL);
    observe_init(&run.observe, grab->observer);
    int rc = gateway_pool_new(&run.pool, err);
    if (rc == 0)
        rc = run_all(&run, err);
    gateway_pool_free(run.pool);
    observe_release(&run.observe);
    pthread_mutex_destroy(&run.mutex);
    credentials_release(&run.credentials);
    return rc;
}

int fetch_open(const struct fetch_grab *grab, const struct host *host, struct gateway_pool *pool,
               struct gateway **ret, struct err *err)
{
    struct run run = {.grab = grab, .pool = pool};
    observe_init(&run.observe, grab->observer);
    observe_opening(&run.observe, host);
    int rc = open_host(&run, host, false, ret, err);
    observe_host(&run.observe, host, rc == 0 ? *ret : NULL, rc == 0 ? NULL : err);
    observe_release(&run.observe);
    return rc;
}
