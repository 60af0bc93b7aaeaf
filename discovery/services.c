/* Turns targets into services. Each source adds candidates. After the last source, discovery_finish sorts
 * them by host, name, port and address, so that names do not depend on the order of the sources. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/discovery.h"
#include "discovery/discovered.h"
#include "base/banned.h"

#define MAX_NAME 200 /* bytes of a service's name, which becomes part of a path */

/* A discovered service that has no final name yet. */
struct candidate {
    const struct host *host;
    struct service *service;
    size_t number; /* in the order of discovery */
};

void discovery_release(struct discovery *d)
{
    free(d->candidates);
    name_map_release(&d->addresses);
    strlist_release(&d->address_texts);
    *d = (struct discovery){0};
}

/* ---- the host of a target ------------------------------------------------------------------------------ */

/* Converts the host part of a host's address, [user@]host, to its canonical form. */
static int canonical_address(const struct host *host, char ret[static ADDRESS_MAX])
{
    const char *at = strrchr(host->address, '@');
    return address_canonical(at ? at + 1 : host->address, ret);
}

static int index_host(struct discovery *d, const struct host *host, struct err *err)
{
    char address[ADDRESS_MAX];
    if (canonical_address(host, address) < 0 || name_map_get(&d->addresses, address))
        return 0;
    if (strlist_add(&d->address_texts, address, err) < 0)
        return -1;
    return name_map_add(&d->addresses, d->address_texts.items[d->address_texts.n - 1], host, err);
}

/* Builds the index of addresses on first use. If two hosts have the same address, targets at this address
 * belong to the first host. */
static int index_addresses(struct discovery *d, struct err *err)
{
    size_t n = 0, n_named = 0;
    const struct host *const *hosts = inventory_hosts(d->inventory, &n);
    const struct host *const *named = targets_named_hosts(d->targets, &n_named);
    if (d->addresses.n > 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (index_host(d, hosts[i], err) < 0)
            return -1;
    for (size_t i = 0; i < n_named; i++)
        if (index_host(d, named[i], err) < 0)
            return -1;
    return 0;
}

static const struct host *match_host(const struct discovery *d, const struct source *s,
                                     const struct discovered_target *t)
{
    char address[ADDRESS_MAX + 16], name[256];
    if (!s->matcher)
        return NULL;
    bool v6 = strchr(t->address, ':') != NULL;
    snprintf(address, sizeof address, "%s%s%s:%u", v6 ? "[" : "", t->address, v6 ? "]" : "", t->port);
    return source_match(s, address, name, sizeof name) ? targets_find_host(d->inventory, d->targets, name)
                                                       : NULL;
}

/* One source whose targets become services. */
struct addition {
    struct discovery *discovery;
    const struct source_use *use;
    const struct discovered *found;
    struct discovered_counts counts;
};

static int refuse_slow_match(const struct addition *a, struct err *err)
{
    err_set(err, ERR_LIMIT,
            "searching its %zu targets for hosts by `match` takes more than %" PRId64 " s of processor time",
            a->found->n, (a->discovery->max_match_ms + 999) / 1000);
    return err_hint(err, "begin `match` with ^, so that it is tried at one place of each target, and use few "
                         "repeats, as in match: \"^(file-[0-9]+)-stor\"");
}

/* Sets the target's host, and counts the target. */
static void find_host(struct addition *a, struct discovered_target *t)
{
    const struct discovery *d = a->discovery;
    struct discovered_counts *count = &a->counts;
    bool loopback = address_is_loopback(t->address);
    t->host = match_host(d, a->use->source, t);
    if (!t->host)
        t->host = loopback ? a->use->host : name_map_get(&d->addresses, t->address);
    if (t->host)
        count->with_host++;
    else if (loopback)
        count->loopback++;
    else
        count->unmatched++;
}

/* ---- services ------------------------------------------------------------------------------------------ */

/* Chooses the service's name: the template's name, else the job's name made valid, else the source's name. */
static void choose_name(const struct source *s, const struct discovered_job *job, char ret[static MAX_NAME])
{
    const char *name = s->service ? s->service->name : job->name;
    while (*name && !isalnum((unsigned char)*name))
        name++;
    size_t n = 0;
    for (; n < MAX_NAME - 1 && name[n]; n++)
        ret[n] = (char)(isalnum((unsigned char)name[n]) || strchr("._-", name[n]) ? name[n] : '-');
    ret[n] = '\0';
    if (!n)
        snprintf(ret, MAX_NAME, "%s", s->name);
}

static const struct service *find_own_service(const struct host *host, const char *name)
{
    for (size_t i = 0; i < host->n_services; i++)
        if (strcmp(host->services[i]->name, name) == 0)
            return host->services[i];
    return NULL;
}

/* Returns whether the service has no secret, or the inventory determines the address that gets the secret:
 * the host's address, or its loopback. Any other address comes from the untrusted source. */
static bool is_secret_safe(const struct discovery *d, const struct source *s,
                           const struct discovered_target *t)
{
    return !s->service || s->service->auth.secret.kind == SECRET_NONE || s->service->host_is_set ||
           address_is_loopback(t->address) || name_map_get(&d->addresses, t->address) == t->host;
}

static int fill_service(struct service *service, const struct source_use *use,
                        const struct discovered_job *job, const struct discovered_target *t, struct err *err)
{
    const struct source *s = use->source;
    if (s->service && service_copy(service, s->service, err) < 0)
        return -1;
    service->source = use;
    service->port = t->port;
    if (!s->service || !s->service->host_is_set) {
        free(service->host);
        if (!(service->host = strdup(t->address)))
            return err_nomem(err);
    }
    if (s->service)
        return 0;
    service->https = t->https;
    if (job->path) {
        free(service->path);
        if (!(service->path = strdup(job->path)))
            return err_nomem(err);
    }
    if (job->query && !(service->query = strdup(job->query)))
        return err_nomem(err);
    for (size_t i = 0; i < job->kinds.n; i++)
        if (strlist_add(&service->kinds, job->kinds.items[i], err) < 0)
            return -1;
    return 0;
}

static int add_label(struct service *service, const char *name, size_t n_name, const char *value,
                     struct err *err)
{
    struct label *label = &service->labels[service->n_labels++];
    label->name = strndup(name, n_name);
    label->value = strdup(value);
    return label->name && label->value ? 0 : err_nomem(err);
}

/* Copies the target's labels, and adds its job as a label. */
static int set_labels(struct service *service, const struct discovered *found,
                      const struct discovered_target *t, struct err *err)
{
    const struct strlist *set =
        t->label_set ? &found->label_sets[t->label_set - 1] : &(const struct strlist){0};
    service->labels = calloc(set->n + 1, sizeof *service->labels);
    if (!service->labels)
        return err_nomem(err);
    for (size_t i = 0; i < set->n; i++) {
        const char *value = strchr(set->items[i], '=');
        if (add_label(service, set->items[i], (size_t)(value - set->items[i]), value + 1, err) < 0)
            return -1;
    }
    const char *job = found->jobs[t->job].name;
    return *job ? add_label(service, "job", strlen("job"), job, err) : 0;
}

static int make_service(const struct addition *a, const char *name, struct discovered_target *t,
                        struct err *err)
{
    struct discovery *d = a->discovery;
    struct service *service = service_new(name, t->port);
    if (!service)
        return err_nomem(err);
    if (fill_service(service, a->use, &a->found->jobs[t->job], t, err) < 0 ||
        set_labels(service, a->found, t, err) < 0) {
        service_free(service);
        return -1;
    }
    if (targets_take_service(d->targets, service, err) < 0 ||
        array_reserve((void **)&d->candidates, &d->cap, d->n + 1, sizeof *d->candidates, err) < 0)
        return -1;
    d->candidates[d->n] = (struct candidate){t->host, service, d->n};
    d->n++;
    t->service = service;
    return 0;
}

static bool is_selected(const struct source *s, const struct discovered_job *job)
{
    return s->jobs.n == 0 || strlist_has(&s->jobs, job->name);
}

static int refuse_loopback(const struct inventory *inv, const struct source_use *use,
                           const struct discovered *found, struct err *err)
{
    const struct source *s = use->source;
    const struct discovered_target *t = found->targets;
    while (!is_selected(s, &found->jobs[t->job]))
        t++;
    err_set(err, ERR_USAGE,
            "the source's targets are on loopback (%s port %u, job \"%s\"), and its entry does not name "
            "their host",
            t->address, t->port, found->jobs[t->job].name);
    if (s->line == 0 || use->is_only)
        return err_hint(err, "use --from with a single --host NAME, the host on which they listen");
    return err_hint(err, "add `host: NAME`%s: the host of the inventory on which they listen",
                    inventory_path(inv) ? " to its entry under `discovery`" : "");
}

/* Selects targets, and finds their hosts. */
static int find_hosts(struct addition *a, struct discovered *found, struct err *err)
{
    const struct source *source = a->use->source;
    const struct stop stop = stop_begin(-1, source->matcher ? a->discovery->max_match_ms : 0);
    for (size_t i = 0; i < found->n; i++) {
        struct discovered_target *t = &found->targets[i];
        t->is_selected = is_selected(source, &found->jobs[t->job]);
        if (!t->is_selected)
            continue;
        if (stop_is_out_of_time(&stop))
            return refuse_slow_match(a, err);
        a->counts.n++;
        find_host(a, t);
    }
    return 0;
}

/* Creates the service of a target that has a host. */
static int add_discovered_target(struct addition *a, struct discovered_target *t, struct err *err)
{
    const struct source *source = a->use->source;
    char name[MAX_NAME];
    choose_name(source, &a->found->jobs[t->job], name);
    t->service = a->use->is_only ? NULL : find_own_service(t->host, name);
    if (t->service)
        a->counts.in_inventory++;
    else if (!is_secret_safe(a->discovery, source, t))
        a->counts.withheld++;
    else
        return make_service(a, name, t, err);
    return 0;
}

int discovery_add(struct discovery *d, struct source_use *use, struct discovered *found,
                  struct discovered_counts *ret, struct err *err)
{
    struct addition a = {.discovery = d, .use = use, .found = found};
    if (index_addresses(d, err) < 0)
        return -1;
    use->answered_at = found->at;
    if (find_hosts(&a, found, err) < 0)
        return -1;
    for (size_t i = 0; i < found->n; i++) {
        struct discovered_target *t = &found->targets[i];
        if (t->is_selected && t->host && add_discovered_target(&a, t, err) < 0)
            return -1;
    }
    *ret = a.counts;
    return a.counts.loopback > 0 && a.counts.loopback == a.counts.n
               ? refuse_loopback(d->inventory, use, found, err)
               : 0;
}

/* ---- names --------------------------------------------------------------------------------------------- */

static int compare_candidates(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    int order = a->host == b->host ? 0 : strcmp(a->host->name, b->host->name);
    if (order == 0)
        order = strcmp(a->service->name, b->service->name);
    if (order == 0 && a->service->port != b->service->port)
        order = a->service->port < b->service->port ? -1 : 1;
    if (order == 0)
        order = strcmp(a->service->host, b->service->host);
    if (order == 0)
        order = a->number < b->number ? -1 : 1;
    return order;
}

static bool has_same_name(const struct candidate *a, const struct candidate *b)
{
    return a->host == b->host && strcmp(a->service->name, b->service->name) == 0;
}

static bool has_same_address(const struct candidate *a, const struct candidate *b)
{
    return a->service->port == b->service->port && strcmp(a->service->host, b->service->host) == 0;
}

/* Keeps one candidate for each address. Returns the number of candidates that remain. */
static size_t remove_repeated(struct candidate *items, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (left == 0 || !has_same_address(&items[left - 1], &items[i]))
            items[left++] = items[i];
    return left;
}

/* The host whose services are being named. The candidates are sorted by host. */
struct naming {
    struct discovery *discovery;
    const struct host *host;
    struct name_map taken; /* the names of its services */
    /* The last candidate that was named by its port: its own name, its port, and the number in its new name.
     * The next candidate with the same name and port gets a higher number. */
    const char *last_name;
    unsigned last_port;
    unsigned last_number;
};

static int register_name(struct naming *n, const char *name, struct err *err)
{
    return name_map_set(&n->taken, name, n->host, err);
}

static int begin_host(struct naming *n, const struct host *host, struct err *err)
{
    name_map_release(&n->taken);
    n->host = host;
    n->last_name = NULL;
    const struct service *service;
    for (size_t i = 0; (service = targets_service_at(n->discovery->targets, host, i)); i++)
        if (register_name(n, service->name, err) < 0)
            return -1;
    return 0;
}

/*
 * Names a service NAME-PORT, or NAME-PORT-2 if the first name is taken. The port keeps the name stable if
 * other services appear or disappear. For the next candidate with the same name and port the count continues,
 * so that no taken name is tried twice.
 */
static int name_by_port(struct naming *n, const struct candidate *c, struct err *err)
{
    char name[MAX_NAME + 40];
    struct service *s = c->service;
    bool continues = n->last_name && n->last_port == s->port && strcmp(n->last_name, s->name) == 0;
    unsigned number = continues ? n->last_number + 1 : 1;
    for (;; number++) {
        if (number == 1)
            snprintf(name, sizeof name, "%s-%u", s->name, s->port);
        else
            snprintf(name, sizeof name, "%s-%u-%u", s->name, s->port, number);
        if (!name_map_get(&n->taken, name))
            break;
    }
    char *copy = strdup(name);
    if (!copy)
        return err_nomem(err);
    n->last_name = s->name;
    n->last_port = s->port;
    n->last_number = number;
    s->family = s->name;
    s->name = copy;
    return 0;
}

static int add_to_host(struct naming *n, const struct candidate *c, struct err *err)
{
    struct discovery *d = n->discovery;
    if (targets_add_service(d->inventory, d->targets, c->host, c->service, err) < 0)
        return -1;
    return register_name(n, c->service->name, err);
}

/* Names the candidates that have the same name on one host, and adds them to the host. The name of a single
 * candidate may be taken too, for example by a service that was named NAME-PORT. */
static int name_candidates(struct naming *naming, struct candidate *items, size_t n, struct err *err)
{
    if (items->host != naming->host && begin_host(naming, items->host, err) < 0)
        return -1;
    n = remove_repeated(items, n);
    for (size_t i = 0; i < n; i++)
        if (((n > 1 || name_map_get(&naming->taken, items[i].service->name)) &&
             name_by_port(naming, &items[i], err) < 0) ||
            add_to_host(naming, &items[i], err) < 0)
            return -1;
    return 0;
}

int discovery_finish(struct discovery *d, struct err *err)
{
    struct naming naming = {.discovery = d};
    int rc = 0;
    if (d->n > 0)
        qsort(d->candidates, d->n, sizeof *d->candidates, compare_candidates);
    for (size_t from = 0, to; rc == 0 && from < d->n; from = to) {
        for (to = from + 1; to < d->n && has_same_name(&d->candidates[from], &d->candidates[to]); to++)
            ;
        rc = name_candidates(&naming, &d->candidates[from], to - from, err);
    }
    name_map_release(&naming.taken);
    d->n = 0;
    return rc;
}

/* ---- labels -------------------------------------------------------------------------------------------- */

/* Returns whether a target has the label `requested->items[i]`, or another requested value of the same name.
 * The job, the target's labels and its host's labels count. */
static bool target_has_label(const struct discovered *found, const struct discovered_target *t,
                             const struct strlist *requested, size_t i)
{
    const struct strlist *set =
        t->label_set ? &found->label_sets[t->label_set - 1] : &(const struct strlist){0};
    if (label_is_requested(requested, i, STR("job"), found->jobs[t->job].name))
        return true;
    for (size_t k = 0; k < set->n; k++) {
        const char *value = strchr(set->items[k], '=');
        if (label_is_requested(requested, i, (struct str){set->items[k], (size_t)(value - set->items[k])},
                               value + 1))
            return true;
    }
    for (size_t k = 0; t->host && k < t->host->n_labels; k++) {
        const struct label *l = &t->host->labels[k];
        if (label_is_requested(requested, i, (struct str){l->name, strlen(l->name)}, l->value))
            return true;
    }
    return false;
}

int discovered_filter(struct discovered *found, const struct strlist *labels, struct err *err)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < labels->n; i++)
        if (label_check(labels->items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < found->n; i++) {
        struct discovered_target *t = &found->targets[i];
        n += t->is_selected;
        for (size_t k = 0; t->is_selected && k < labels->n; k++)
            t->is_selected = target_has_label(found, t, labels, k);
        kept += t->is_selected;
    }
    return n == 0 || kept > 0
               ? 0
               : err_set(err, ERR_USAGE, "none of its %zu targets has the requested labels", n);
}
