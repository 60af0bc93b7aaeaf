/* Resolves a selection to hosts, in the requested order and each once, and then to their services. */
#include "inventory/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/adhoc.h"
#include "inventory/filter.h"
#include "inventory/labels.h"
#include "inventory/match.h"
#include "inventory/schema.h"
#include "base/banned.h"

#define HINT_AD_HOC "--service NAME or --port N reaches hosts outside the inventory"
#define HINT_NO_INVENTORY                                                                                    \
    "name a host and a port, as in profgrab --host user@host --port 6060 cpu, or write "                     \
    "$XDG_CONFIG_HOME/profgrab/inventory.yaml (~/.config without that variable)"

/* The requested services. */
struct chosen_service {
    /* A service's name, or the common name of several discovered services of a host (service.family). */
    const char *name;
    /* The inventory's definition, used for hosts that do not list the service; NULL: only discovery has it.
     */
    const struct service *service;
};
struct chosen_services {
    struct chosen_service *items;
    size_t n;
    size_t cap;
};

static int refuse_unknown(const struct inventory *inv, const char *what, const struct name_map *known,
                          const char *name, struct err *err)
{
    char shown[120];
    text_printable(shown, sizeof shown, name, strlen(name));
    if (!inv->path) {
        err_set(err, ERR_USAGE, "no inventory: %s \"%s\" is unknown", what, shown);
        return err_hint(err, "%s", HINT_NO_INVENTORY);
    }
    err_set(err, ERR_USAGE, "unknown %s \"%s\"", what, shown);
    schema_hint_nearest(known, name, NULL, err);
    return -1;
}

/* Adds names that contain `name` to the hint, because users often omit the start of a group's name. */
static void add_names_containing(const struct name_map *known, const char *name, struct nearest *near)
{
    for (size_t i = 0; *name && i < known->n && near->n < sizeof near->best / sizeof *near->best; i++)
        if (strstr(known->entries[i].name, name))
            near->best[near->n++].name = known->entries[i].name;
}

static int refuse_group(const struct inventory *inv, const char *name, struct err *err)
{
    char shown[120], text[400];
    struct nearest near = NEAREST_INIT(name);
    refuse_unknown(inv, "group", &inv->group_names, name, err);
    if (!err || err->hint[0])
        return -1;
    if (name_map_get(&inv->host_names, name))
        return err_hint(err, "it is a host: use --host %s",
                        text_printable(shown, sizeof shown, name, strlen(name)));
    add_names_containing(&inv->group_names, name, &near);
    if (near.n)
        return err_hint(err, "did you mean %s?", nearest_text(&near, text, sizeof text));
    return err_hint(err, "`profgrab hosts --groups` lists them");
}

/* Returns the length of the host in HOST:PORT, else 0. An IPv6 address has several colons. */
static size_t host_before_port(const char *name)
{
    size_t n = strcspn(name, ":"), digits = strspn(name + n + (name[n] == ':'), "0123456789");
    return name[n] == ':' && digits > 0 && !name[n + 1 + digits] ? n : 0;
}

static int refuse_host(const struct scope *s, const char *name, struct err *err)
{
    const struct inventory *inv = s->inv;
    char shown[120];
    size_t n = host_before_port(name);
    if (!inv->path)
        refuse_unknown(inv, "host", &inv->host_names, name, err);
    else
        match_refuse_unknown(s, name, err);
    if (n > 0)
        return err_hint(err, "a service's port has an option of its own: --host %s --port %s",
                        text_printable(shown, sizeof shown, name, n), name + n + 1);
    if (!err || !inv->path || match_is_glob(name))
        return -1;
    if (name_map_get(&inv->group_names, name))
        return err_hint(err, "it is a group: use --group %s",
                        text_printable(shown, sizeof shown, name, strlen(name)));
    char near[sizeof err->hint];
    snprintf(near, sizeof near, "%s", err->hint);
    return err_hint(err, "%.380s%s" HINT_AD_HOC, near, *near ? " " : "");
}

/* The selection in progress. `created` is not NULL. */
struct resolving {
    struct scope scope;
    struct created_objects *created; /* the same as scope.created */
    const struct selection *selection;
};

/* Creates a host from an address if `allowed`; else reports the host as unknown. */
static int add_adhoc_host(const struct resolving *r, const char *text, bool allowed, struct hostset *into,
                          struct err *err)
{
    const struct host *host = NULL;
    if (!allowed || match_is_glob(text) || name_map_get(&r->scope.inv->group_names, text))
        return refuse_host(&r->scope, text, err);
    if (adhoc_host(r->created, text, &host, err) < 0)
        return -1;
    return hostset_add(into, host, err);
}

/* Adds the hosts of one --host pattern. `adhoc`: the pattern may be an address outside the inventory. */
static int add_pattern(const struct resolving *r, const char *pattern, bool adhoc, struct hostset *into,
                       struct err *err)
{
    int rc = -1;
    struct strlist names = {0};
    if (match_expand(pattern, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.n; i++) {
        bool found = false;
        const char *name = names.items[i];
        if (match_name(&r->scope, name, into, &found, err) < 0)
            goto out;
        if (!found && add_adhoc_host(r, name, adhoc, into, err) < 0)
            goto out;
    }
    rc = 0;
out:
    strlist_release(&names);
    return rc;
}

static int add_group(const struct inventory *inv, const char *name, struct hostset *into, struct err *err)
{
    const struct group *group = name_map_get(&inv->group_names, name);
    if (!group)
        return refuse_group(inv, name, err);
    if (!group->members.n)
        return err_set(err, ERR_USAGE, "group \"%s\" has no hosts", name);
    return match_group(group, into, err);
}

static int choose_service(struct chosen_services *chosen, const char *name, const struct service *service,
                          struct err *err)
{
    for (size_t i = 0; i < chosen->n; i++)
        if (strcmp(chosen->items[i].name, name) == 0)
            return 0;
    if (array_reserve((void **)&chosen->items, &chosen->cap, chosen->n + 1, sizeof *chosen->items, err) < 0)
        return -1;
    chosen->items[chosen->n++] = (struct chosen_service){name, service};
    return 0;
}

/* Adds the error of the first failed source as a hint, because the missing service may be one of its
 * services. */
static int hint_failed_source(const struct scope *s, struct err *err)
{
    if (s->created->failures.n == 0)
        return -1;
    return err_hint(err, "the service may be in a source that failed: %.300s", s->created->failures.items[0]);
}

static int refuse_service(const struct scope *s, const char *name, struct err *err)
{
    char text[400];
    struct nearest near = NEAREST_INIT(name);
    refuse_unknown(s->inv, "service", &s->inv->service_names, name, err);
    name_map_add_to_nearest(&s->inv->service_names, &near);
    name_map_add_to_nearest(&s->created->service_names, &near);
    if (s->created->service_names.n > 0 && near.n)
        err_hint(err, "did you mean %s?", nearest_text(&near, text, sizeof text));
    return hint_failed_source(s, err);
}

static int refuse_unlisted(const struct source *s, const char *name, struct err *err)
{
    char shown[120];
    err_set(err, ERR_USAGE, "%s lists no service \"%s\" on these hosts", s->name,
            text_printable(shown, sizeof shown, name, strlen(name)));
    return err_hint(err, "`profgrab hosts --from %s:%s` lists its targets", source_kind_name(s->kind),
                    s->url_or_path);
}

static int choose_services(const struct resolving *r, struct chosen_services *ret, struct err *err)
{
    const struct selection *sel = r->selection;
    for (size_t i = 0; i < sel->services.n; i++) {
        const char *name = sel->services.items[i];
        if (!scope_find_service(&r->scope, name))
            return sel->source ? refuse_unlisted(sel->source->source, name, err)
                               : refuse_service(&r->scope, name, err);
        if (choose_service(ret, name, name_map_get(&r->scope.inv->service_names, name), err) < 0)
            return -1;
    }
    const struct service *service = NULL;
    if (adhoc_service(r->scope.inv, r->created, sel, &service, err) < 0)
        return -1;
    return service ? choose_service(ret, service->name, service, err) : 0;
}

static int refuse_labels(const struct inventory *inv, struct err *err)
{
    err_set(err, ERR_USAGE, inv->path ? "the inventory has no hosts" : "no inventory: no host has labels");
    return err_hint(err, "%s", HINT_NO_INVENTORY);
}

/* Sets the error of a selection with a source but without hosts. */
static int refuse_missing_hosts(const struct source *s, struct err *err)
{
    err_set(err, ERR_USAGE, "no host is selected: a source lists ports, not hosts to log in to");
    return err_hint(err, "add --host NAME[,...]; `profgrab hosts --from %s:%s` lists its targets",
                    source_kind_name(s->kind), s->url_or_path);
}

static int choose_hosts(const struct resolving *r, struct hostset *ret, struct err *err)
{
    const struct inventory *inv = r->scope.inv;
    const struct selection *sel = r->selection;
    const struct host *host;
    bool adhoc = sel->port || sel->unix_path || sel->services.n || sel->source;
    bool named = sel->hosts.n || sel->groups.n;
    for (size_t i = 0; i < sel->hosts.n; i++)
        if (add_pattern(r, sel->hosts.items[i], adhoc, ret, err) < 0)
            return -1;
    for (size_t i = 0; i < sel->groups.n; i++)
        if (add_group(inv, sel->groups.items[i], ret, err) < 0)
            return -1;
    bool all = !named && (sel->labels.n || sel->source);
    for (size_t i = 0; all && (host = scope_host_at(&r->scope, i)); i++)
        if (hostset_add(ret, host, err) < 0)
            return -1;
    if (!named && sel->source && !inv->hosts.n)
        return refuse_missing_hosts(sel->source->source, err);
    if (!named && sel->labels.n && !inv->hosts.n)
        return refuse_labels(inv, err);
    if (ret->n)
        return 0;
    err_set(err, ERR_USAGE, "no host is named");
    return err_hint(err, "add --host NAME, --group NAME or --label NAME=VALUE; `profgrab hosts` lists them");
}

static int add_target(struct targets *t, const struct host *host, const struct service *service,
                      struct err *err)
{
    size_t before = t->n;
    for (; before > 0 && t->items[before - 1].host == host; before--)
        if (t->items[before - 1].service == service)
            return 0;
    if (t->n - before == TARGETS_MAX_OF_HOST) {
        err_set(err, ERR_USAGE, "more than %d services of host \"%s\" are selected", TARGETS_MAX_OF_HOST,
                host->name);
        return err_hint(err, "--service NAME selects only these services");
    }
    if (array_reserve((void **)&t->items, &t->cap, t->n + 1, sizeof *t->items, err) < 0)
        return -1;
    t->items[t->n++] = (struct target){.host = host, .service = service};
    return 0;
}

static bool is_called(const struct service *s, const char *name)
{
    return strcmp(s->name, name) == 0 || (s->family && strcmp(s->family, name) == 0);
}

/* Adds one chosen service. A service that the host lists wins over the inventory's general definition of that
 * name. */
static int add_chosen(const struct resolving *r, struct targets *t, const struct host *host,
                      const struct chosen_service *c, struct err *err)
{
    const struct strlist *labels = &r->selection->labels;
    const struct service *service;
    bool host_has_it = false;
    for (size_t i = 0; (service = scope_service_at(&r->scope, host, i)); i++) {
        if (!is_called(service, c->name))
            continue;
        host_has_it = true;
        if (labels_match(host, service, labels) && add_target(t, host, service, err) < 0)
            return -1;
    }
    if (host_has_it)
        return 0;
    if (c->service)
        return labels_match(host, NULL, labels) ? add_target(t, host, c->service, err) : 0;
    err_set(err, ERR_USAGE,
            "host \"%s\" has no service \"%s\": sources list this service only for other hosts", host->name,
            c->name);
    return err_hint(err, "--exclude %s skips the host; `profgrab hosts` shows the services of each host",
                    host->name);
}

static int refuse_host_without_services(const struct scope *s, const struct host *host, struct err *err)
{
    err_set(err, ERR_USAGE, "host \"%s\" has no services", host->name);
    err_hint(err, "add --service NAME or --port N");
    return hint_failed_source(s, err);
}

static bool is_chosen(const struct chosen_services *chosen, const struct service *service)
{
    for (size_t c = 0; c < chosen->n; c++)
        if (is_called(service, chosen->items[c].name))
            return true;
    return chosen->n == 0;
}

/* Adds the chosen services of one source. A host without any is an error only if the user named it. */
static int add_from_source(const struct resolving *r, struct targets *t, const struct host *host,
                           const struct chosen_services *chosen, struct err *err)
{
    const struct selection *sel = r->selection;
    const struct source *source = sel->source->source;
    const struct service *service;
    size_t before = t->n;
    for (size_t i = 0; (service = scope_service_at(&r->scope, host, i)); i++)
        if (service->source == sel->source && is_chosen(chosen, service) &&
            labels_match(host, service, &sel->labels) && add_target(t, host, service, err) < 0)
            return -1;
    if (t->n > before || (!sel->hosts.n && !sel->groups.n))
        return 0;
    err_set(err, ERR_USAGE, "%s lists no %s on host \"%s\"", source->name,
            chosen->n ? "such service" : "service", host->name);
    return err_hint(err,
                    "`profgrab hosts --from %s:%s` lists its targets: a target belongs to the host that "
                    "has its address",
                    source_kind_name(source->kind), source->url_or_path);
}

/* Adds the chosen services, or all services of the host if none is chosen. With --label, only services whose
 * labels, together with those of the host, match. */
static int add_targets(const struct resolving *r, struct targets *t, const struct host *host,
                       const struct chosen_services *chosen, struct err *err)
{
    const struct service *service;
    if (!chosen->n && !scope_service_at(&r->scope, host, 0))
        return refuse_host_without_services(&r->scope, host, err);
    for (size_t i = 0; i < chosen->n; i++)
        if (add_chosen(r, t, host, &chosen->items[i], err) < 0)
            return hint_failed_source(&r->scope, err);
    for (size_t i = 0; !chosen->n && (service = scope_service_at(&r->scope, host, i)); i++)
        if (labels_match(host, service, &r->selection->labels) && add_target(t, host, service, err) < 0)
            return -1;
    return 0;
}

/* Sets the error of a selection that has hosts, but none of their services. */
static int refuse_empty_result(const struct selection *sel, struct err *err)
{
    const struct source *s = sel->source ? sel->source->source : NULL;
    if (!s) {
        err_set(err, ERR_USAGE, "none of the services has the requested labels");
        return err_hint(err, "`profgrab hosts --json` shows the labels of hosts and services");
    }
    err_set(err, ERR_USAGE, "%s: none of its targets belongs to a selected host", s->name);
    return err_hint(
        err, "`profgrab hosts --from %s:%s` lists the targets; --host ADDRESS selects the host of a target",
        source_kind_name(s->kind), s->url_or_path);
}

/* Limits the targets that come from sources, because their answers are untrusted. */
static int check_discovered(const struct targets *found, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++)
        n += found->items[i].service->source != NULL;
    if (n <= TARGETS_MAX_FROM_SOURCES)
        return 0;
    err_set(err, ERR_USAGE, "%zu services from sources are selected, more than %d", n,
            TARGETS_MAX_FROM_SOURCES);
    return err_hint(err, "--host, --service, --label or --sample N select fewer");
}

/* Appends the targets of `found`, and releases it. */
static int append_targets(struct targets *t, struct targets *found, struct err *err)
{
    int rc = array_reserve((void **)&t->items, &t->cap, t->n + found->n, sizeof *t->items, err);
    for (size_t i = 0; rc == 0 && i < found->n; i++)
        t->items[t->n++] = found->items[i];
    if (rc == 0 && found->n_before_sample)
        t->n_before_sample = found->n_before_sample;
    targets_release(found);
    return rc;
}

int inventory_select(const struct inventory *inv, const struct selection *sel, struct targets *t,
                     struct err *err)
{
    struct hostset hosts = {0};
    struct chosen_services chosen = {0};
    struct targets found = {0};
    struct created_objects *created = targets_created(t, err);
    const struct resolving r = {.scope = {inv, created}, .created = created, .selection = sel};
    int rc = -1;
    if (!created || choose_services(&r, &chosen, err) < 0 || choose_hosts(&r, &hosts, err) < 0 ||
        filter_apply(&r.scope, sel, &hosts, &found.n_before_sample, err) < 0)
        goto out;
    for (size_t i = 0; i < hosts.n; i++)
        if (sel->source ? add_from_source(&r, &found, hosts.items[i], &chosen, err) < 0
                        : add_targets(&r, &found, hosts.items[i], &chosen, err) < 0)
            goto out;
    if (check_discovered(&found, err) < 0)
        goto out;
    rc = found.n > 0 ? append_targets(t, &found, err) : refuse_empty_result(sel, err);
out:
    hostset_release(&hosts);
    free(chosen.items);
    targets_release(&found);
    return rc;
}

size_t targets_count_hosts(const struct targets *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += i == 0 || t->items[i].host != t->items[i - 1].host;
    return n;
}

void selection_release(struct selection *sel)
{
    strlist_release(&sel->hosts);
    strlist_release(&sel->groups);
    strlist_release(&sel->labels);
    strlist_release(&sel->exclude);
    strlist_release(&sel->services);
}
