/*
 * Hops are in the order of dialling. As with ssh -J, only the first host of a list of jumps uses its own
 * ProxyJump or ProxyCommand. Each later host is reached through the host before it, and these two settings
 * of its configuration are ignored.
 */
#include "gateway/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define MAX_JUMPS 8

struct route_builder {
    const struct proc_limits *limits;
    const struct ssh_settings *settings; /* for the target host */
    size_t n_resolved;                   /* the number of hosts resolved by `ssh -G` */
    struct route *route;
};

static int add_host(struct route_builder *builder, const char *address, const struct ssh_settings *settings,
                    struct err *err);

/* Appends a hop to a list of jump hosts in ProxyJump's form, under its requested address. */
static int add_spec(struct buf *list, const struct ssh_config *c, struct err *err)
{
    struct address a = {0};
    if (address_parse(c->address, &a, err) < 0)
        return -1;
    const char *user = c->requested.user ? c->requested.user : a.user;
    unsigned port = c->requested.port ? c->requested.port : a.port;
    bool ipv6 = strchr(a.host, ':') != NULL;
    buf_addf(list, "%s%s%s%s%s%s", list->len ? "," : "", user ? user : "", user ? "@" : "", ipv6 ? "[" : "",
             a.host, ipv6 ? "]" : "");
    if (port)
        buf_addf(list, ":%u", port);
    address_release(&a);
    return 0;
}

/* Stores the list of jump hosts (requested.jump) by which our own ssh reaches the hop over the same route. */
static int store_jumps(const struct route *route, struct ssh_config *c, struct err *err)
{
    struct buf list = BUF_INIT(8192);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < route->n_hops; i++)
        rc = add_spec(&list, &route->hops[i], err);
    buf_addc(&list, '\0');
    if (rc == 0 && (rc = buf_check(&list, "the list of jump hosts", err)) == 0) {
        free(c->requested.jump);
        c->requested.jump = buf_detach(&list);
    }
    buf_release(&list);
    return rc;
}

static int append_hop(struct route_builder *builder, struct ssh_config *c, struct err *err)
{
    if (builder->route->n_hops > 0 && store_jumps(builder->route, c, err) < 0)
        return -1;
    struct ssh_config *hops = realloc(builder->route->hops, (builder->route->n_hops + 1) * sizeof *hops);
    if (!hops)
        return err_nomem(err);
    builder->route->hops = hops;
    hops[builder->route->n_hops++] = *c;
    *c = (struct ssh_config){0};
    return 0;
}

static int resolve_config(struct route_builder *builder, const char *address,
                          const struct ssh_settings *settings, struct ssh_config *ret, struct err *err)
{
    if (builder->n_resolved > MAX_JUMPS) {
        err_set(err, ERR_USAGE, "more than %d jump hosts in a row", MAX_JUMPS);
        return err_hint(err,
                        "a ProxyJump that also applies to the jump host itself makes an endless route: add "
                        "\"ProxyJump none\" for that host");
    }
    builder->n_resolved++;
    return ssh_config_resolve(address, settings, builder->limits, ret, err);
}

/* Adds a hop that is reached from the previous hop, without its own proxy command and jumps. */
static int append_later_jump(struct route_builder *builder, struct ssh_config *c, struct err *err)
{
    free(c->connect.proxy_command);
    free(c->connect.jump);
    c->connect.proxy_command = c->connect.jump = NULL;
    return append_hop(builder, c, err);
}

/* Adds the host that `spec`, an entry of ProxyJump, names. Of the target's settings only the configuration
 * file, the carrier and accept-new apply to a jump host. */
static int add_jump(struct route_builder *builder, const char *spec, bool first, struct err *err)
{
    int rc = -1;
    struct address a = {0};
    struct ssh_config c = {0};
    if (address_parse(spec, &a, err) < 0)
        return -1;
    struct ssh_settings settings = {.user = a.user,
                                    .port = a.port,
                                    .config = builder->settings->config,
                                    .via = builder->settings->via,
                                    .accept_new = builder->settings->accept_new};
    if (first)
        rc = add_host(builder, a.host, &settings, err);
    else if (resolve_config(builder, a.host, &settings, &c, err) == 0)
        rc = append_later_jump(builder, &c, err);
    ssh_config_release(&c);
    address_release(&a);
    return rc;
}

static int add_jumps(struct route_builder *builder, const char *list, struct err *err)
{
    int rc = 0;
    struct strlist specs = {0};
    if (strlist_split(&specs, list, err) < 0)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < specs.n; i++)
        rc = add_jump(builder, specs.items[i], i == 0, err);
    strlist_release(&specs);
    return rc;
}

/* Adds a host after the hops that lead to it. */
static int add_host(struct route_builder *builder, const char *address, const struct ssh_settings *settings,
                    struct err *err)
{
    int rc = -1;
    struct ssh_config c = {0};
    if (resolve_config(builder, address, settings, &c, err) < 0)
        return -1;
    if (!c.connect.jump || add_jumps(builder, c.connect.jump, err) == 0)
        rc = append_hop(builder, &c, err);
    ssh_config_release(&c);
    return rc;
}

int route_resolve(const struct host *host, const struct ssh_settings *override,
                  const struct proc_limits *limits, struct route *ret, struct err *err)
{
    struct ssh_settings settings = ssh_settings_merge(&host->ssh, override);
    struct route route = {.direct = host->direct,
                          .via = settings.via == SSH_VIA_UNSET ? SSH_VIA_AUTO : settings.via};
    if (host->direct) {
        route.address = strdup(host->address);
        if (!route.address)
            return err_nomem(err);
        *ret = route;
        return 0;
    }
    struct route_builder builder = {.limits = limits, .settings = &settings, .route = &route};
    if (add_host(&builder, host->address, &settings, err) < 0) {
        route_release(&route);
        return -1;
    }
    *ret = route;
    return 0;
}

void route_release(struct route *r)
{
    free(r->address);
    for (size_t i = 0; i < r->n_hops; i++)
        ssh_config_release(&r->hops[i]);
    free(r->hops);
    *r = (struct route){0};
}
