#include "inventory/created_objects.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

#define MAX_FAILURES 20

struct created_objects *targets_created(struct targets *t, struct err *err)
{
    if (!t->created && !(t->created = calloc(1, sizeof *t->created))) {
        err_nomem(err);
        return NULL;
    }
    t->created->by_name.ignore_case = true;
    return t->created;
}

void targets_release(struct targets *t)
{
    struct created_objects *c = t->created;
    free(t->items);
    *t = (struct targets){0};
    if (!c)
        return;
    hosts_release(&c->adhoc_hosts);
    hosts_release(&c->named_hosts);
    services_release(&c->adhoc_services);
    services_release(&c->discovered_services);
    for (size_t i = 0; i < c->by_host.n; i++) {
        struct host_services *l = (struct host_services *)(uintptr_t)c->by_host.entries[i].value;
        free(l->items);
        free(l);
    }
    name_map_release(&c->by_address);
    name_map_release(&c->by_name);
    name_map_release(&c->by_host);
    name_map_release(&c->service_names);
    free(c->discovered_names.items);
    sources_release(&c->sources);
    for (size_t i = 0; i < c->n_uses; i++)
        free(c->uses[i]);
    free(c->uses);
    strlist_release(&c->failures);
    free(c);
}

/* ---- lookup -------------------------------------------------------------------------------------------- */

struct scope scope_of(const struct inventory *inv, const struct targets *t)
{
    return (struct scope){inv, t ? t->created : NULL};
}

const struct host *scope_host_at(const struct scope *s, size_t i)
{
    if (i < s->inv->hosts.n)
        return s->inv->hosts.items[i];
    i -= s->inv->hosts.n;
    return s->created && i < s->created->named_hosts.n ? s->created->named_hosts.items[i] : NULL;
}

const struct host *scope_find_host(const struct scope *s, const char *name)
{
    const struct host *host = name_map_get(&s->inv->host_names, name);
    return host || !s->created ? host : name_map_get(&s->created->by_name, name);
}

const struct service *scope_find_service(const struct scope *s, const char *name)
{
    const struct service *service = name_map_get(&s->inv->service_names, name);
    return service || !s->created ? service : name_map_get(&s->created->service_names, name);
}

static const struct service *discovered_service(const struct created_objects *c, const struct host *host,
                                                size_t i)
{
    const struct host_services *l = c && c->by_host.n > 0 ? name_map_get(&c->by_host, host->name) : NULL;
    return l && i < l->n ? l->items[i] : NULL;
}

const struct service *scope_service_at(const struct scope *s, const struct host *host, size_t i)
{
    return i < host->n_services ? host->services[i]
                                : discovered_service(s->created, host, i - host->n_services);
}

const struct service *targets_service_at(const struct targets *t, const struct host *host, size_t i)
{
    return scope_service_at(&(struct scope){.created = t->created}, host, i);
}

const char *targets_discovered_name(const struct targets *t, size_t i)
{
    return t->created && i < t->created->discovered_names.n ? t->created->discovered_names.items[i] : NULL;
}

const struct host *const *targets_named_hosts(const struct targets *t, size_t *ret_n)
{
    *ret_n = t->created ? t->created->named_hosts.n : 0;
    return t->created ? (const struct host *const *)t->created->named_hosts.items : NULL;
}

const struct host *targets_find_host(const struct inventory *inv, const struct targets *t, const char *name)
{
    const struct scope s = scope_of(inv, t);
    return scope_find_host(&s, name);
}

/* ---- discovered services ------------------------------------------------------------------------------- */

int targets_take_service(struct targets *t, struct service *service, struct err *err)
{
    struct created_objects *c = targets_created(t, err);
    if (c)
        return services_add(&c->discovered_services, service, err);
    service_free(service);
    return -1;
}

/* Returns the list of the host's discovered services; creates an empty one if it is missing. */
static struct host_services *services_of(struct created_objects *c, const struct host *host, struct err *err)
{
    struct host_services *l = (struct host_services *)(uintptr_t)name_map_get(&c->by_host, host->name);
    if (l)
        return l;
    if (!(l = calloc(1, sizeof *l)))
        err_nomem(err);
    else if (name_map_add(&c->by_host, host->name, l, err) == 0)
        return l;
    free(l);
    return NULL;
}

static int add_service_name(const struct inventory *inv, struct created_objects *c, const char *name,
                            const struct service *service, struct err *err)
{
    struct name_list *discovered = &c->discovered_names;
    if (name_map_get(&c->service_names, name))
        return 0;
    if (array_reserve((void **)&discovered->items, &discovered->cap, discovered->n + 1,
                      sizeof *discovered->items, err) < 0 ||
        name_map_add(&c->service_names, name, service, err) < 0)
        return -1;
    if (!name_map_get(&inv->service_names, name))
        discovered->items[discovered->n++] = name;
    return 0;
}

int targets_add_service(const struct inventory *inv, struct targets *t, const struct host *host,
                        const struct service *service, struct err *err)
{
    struct created_objects *c = targets_created(t, err);
    struct host_services *l = c ? services_of(c, host, err) : NULL;
    if (!l || array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, err) < 0)
        return -1;
    l->items[l->n++] = service;
    if (add_service_name(inv, c, service->name, service, err) < 0)
        return -1;
    return service->family ? add_service_name(inv, c, service->family, service, err) : 0;
}

int targets_note_failed_source(struct targets *t, const struct source *source, const char *why,
                               struct err *err)
{
    char text[400];
    struct created_objects *c = targets_created(t, err);
    if (!c)
        return -1;
    if (c->failures.n == MAX_FAILURES)
        return 0;
    snprintf(text, sizeof text, "%s: %s", source->name, why);
    return strlist_add(&c->failures, text, err);
}
