/* Adds records of hosts, services and items, and keeps the parts of an earlier record that stay. */
#include "bundle/manifest_internal.h"

#include <string.h>

#include "bundle/manifest_rows.h"
#include "base/banned.h"

/* Returns the list of n entries if it has room for one more, else a larger copy; NULL without memory. The
 * list before stays in the arena. */
static void *grow(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
{
    size_t more = n ? 2 * n : 1;
    if (n < *cap)
        return items;
    void *larger = arena_alloc(a, more * size);
    if (!larger)
        return NULL;
    if (n)
        memcpy(larger, items, n * size);
    *cap = more;
    return larger;
}

/* ---- findings ------------------------------------------------------------------------------------------ */

struct verdicts {
    const struct manifest_verdict *items;
    size_t n;
};

static bool has_rule(struct verdicts list, const char *rule)
{
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.items[i].rule, rule) == 0)
            return true;
    return false;
}

/* Adds the findings of the record before whose rules have none in the new record. */
static int keep_verdicts(struct manifest *m, struct verdicts before, struct verdicts *made, struct err *err)
{
    struct manifest_verdict *all = arena_alloc(&m->index->arena, (made->n + before.n) * sizeof *all);
    size_t n = made->n;
    if (!all)
        return err_nomem(err);
    if (n)
        memcpy(all, made->items, n * sizeof *all);
    for (size_t i = 0; i < before.n; i++)
        if (!has_rule(*made, before.items[i].rule))
            all[n++] = before.items[i];
    *made = (struct verdicts){all, n};
    return 0;
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

/* An unreachable host keeps its earlier route, because its files were fetched over that route. */
static void keep_route(struct manifest_host *made, const struct manifest_host *known)
{
    if (known->address)
        made->address = known->address;
    if (known->route)
        made->route = known->route;
    made->against = made->against || known->against;
    if (known->n_hops == 0)
        return;
    made->hops = known->hops;
    made->n_hops = known->n_hops;
}

/* Keeps the services, because each has its own record, and findings on several hosts, because resuming one
 * host does not compute them. */
static int keep_of_host(struct manifest *m, struct manifest_host *made, const struct manifest_host *known,
                        struct err *err)
{
    struct verdicts verdicts = {made->verdicts, made->n_verdicts};
    if (keep_verdicts(m, (struct verdicts){known->verdicts, known->n_verdicts}, &verdicts, err) < 0)
        return -1;
    made->verdicts = verdicts.items;
    made->n_verdicts = verdicts.n;
    if (made->error)
        keep_route(made, known);
    made->services = known->services;
    made->n_services = known->n_services;
    made->cap_services = known->cap_services;
    return 0;
}

int manifest_add_host(struct manifest *m, const struct manifest_host *h, struct err *err)
{
    struct manifest_host *known = manifest_find_host(m, h->name), made = {0};
    if (known && !m->index->resumed)
        return err_set(err, ERR_FAILED, "the manifest has the host %s already", h->name);
    if (json_rows_copy(manifest_host_rows, h, &made, &m->index->arena, err) < 0)
        return -1;
    if (known) {
        if (keep_of_host(m, &made, known, err) < 0)
            return -1;
        *known = made;
        return 0;
    }
    struct manifest_host *list = grow(&m->index->arena, m->hosts, m->n_hosts, &m->cap_hosts, sizeof made);
    size_t *at = arena_alloc(&m->index->arena, sizeof *at);
    if (!list || !at)
        return err_nomem(err);
    m->hosts = list;
    *at = m->n_hosts;
    if (names_set(&m->index->hosts, made.name, at, err) < 0)
        return -1;
    m->hosts[m->n_hosts++] = made;
    return 0;
}

/* ---- services ------------------------------------------------------------------------------------------ */

/* A service that does not answer now keeps its plan, which shows its missing items. */
static int keep_plan(struct manifest *m, struct manifest_service *made, const struct manifest_service *known,
                     struct err *err)
{
    struct verdicts verdicts = {made->verdicts, made->n_verdicts};
    if (keep_verdicts(m, (struct verdicts){known->verdicts, known->n_verdicts}, &verdicts, err) < 0)
        return -1;
    made->verdicts = verdicts.items;
    made->n_verdicts = verdicts.n;
    if (known->url)
        made->url = known->url;
    if (known->n_offers) {
        made->offers = known->offers;
        made->n_offers = known->n_offers;
    }
    if (known->has_clock_skew) {
        made->has_clock_skew = true;
        made->clock_skew_ms = known->clock_skew_ms;
    }
    if (known->n_planned) {
        made->planned = known->planned;
        made->n_planned = known->n_planned;
        made->estimate_bytes = known->estimate_bytes;
        made->profiled_ms = known->profiled_ms;
    }
    return 0;
}

static bool is_planned(const struct manifest_service *s, const struct manifest_item *item)
{
    for (size_t i = 0; i < s->n_planned; i++)
        if (manifest_is_same_item(item, &s->planned[i]))
            return true;
    return false;
}

/* When a service is planned again, drops the items without a file that are no longer planned. */
static void keep_items(struct manifest_service *made, const struct manifest_service *known)
{
    bool all = made->error || made->n_planned == 0;
    made->items = known->items;
    made->cap_items = known->cap_items;
    for (size_t i = 0; i < known->n_items; i++)
        if (all || known->items[i].file || is_planned(made, &known->items[i]))
            made->items[made->n_items++] = known->items[i];
}

int manifest_add_service(struct manifest *m, const struct manifest_service *s, struct err *err)
{
    struct manifest_host *host = manifest_find_host(m, s->host);
    struct manifest_service *known = manifest_find_service(host, s->name), made = {0};
    if (!host)
        return err_set(err, ERR_FAILED, "the manifest has no host %s", s->host);
    if (known && !m->index->resumed)
        return err_set(err, ERR_FAILED, "the manifest has the service %s of %s already", s->name, s->host);
    if (json_rows_copy(manifest_service_rows, s, &made, &m->index->arena, err) < 0)
        return -1;
    if (known) {
        if (made.error && keep_plan(m, &made, known, err) < 0)
            return -1;
        made.go_version = known->go_version;
        keep_items(&made, known);
        *known = made;
        return 0;
    }
    struct manifest_service *list =
        grow(&m->index->arena, host->services, host->n_services, &host->cap_services, sizeof made);
    if (!list)
        return err_nomem(err);
    host->services = list;
    list[host->n_services++] = made;
    return 0;
}

/* ---- items --------------------------------------------------------------------------------------------- */

void manifest_set_status(struct manifest_item *item, enum manifest_status status)
{
    item->status = status;
    item->status_text = manifest_statuses[status];
}

/* The service of an item; NULL for a local file. */
static int find_owner(const struct manifest *m, const struct manifest_item *i, struct manifest_service **ret,
                      struct err *err)
{
    struct manifest_service *service =
        i->host && i->service ? manifest_find_service(manifest_find_host(m, i->host), i->service) : NULL;
    if (!service && (i->host || i->service))
        return err_set(err, ERR_FAILED, "the manifest has no service %s of %s",
                       i->service ? i->service : "(none)", i->host ? i->host : "(none)");
    *ret = service;
    return 0;
}

/* Keeps the more precise version: an exact one before a bound. */
static int note_go_version(struct manifest *m, struct manifest_service *service, const char *version,
                           struct err *err)
{
    const char *known = service->go_version;
    if (known && (known[0] != '>' || version[0] == '>'))
        return 0;
    const char *copy = json_rows_copy_text(version, &m->index->arena);
    if (!copy)
        return err_nomem(err);
    service->go_version = copy;
    return 0;
}

static int check_file(const struct manifest *m, const char *before, const struct manifest_item *made,
                      struct err *err)
{
    const struct items_file file = {made->file, made->bytes, made->sha256};
    if (manifest_has_path(m, file.path) && (!before || strcmp(before, file.path) != 0))
        return err_set(err, ERR_FAILED, "the manifest has the file %s already", file.path);
    return items_check_item_file(&file, err);
}

/* Replaces the old record's file by the new one's. */
static int note_path(struct manifest *m, const char *before, const char *path, struct err *err)
{
    if (path && manifest_add_path(m, path, err) < 0)
        return -1;
    return before && (!path || strcmp(before, path) != 0) ? manifest_remove_path(m, before, err) : 0;
}

int manifest_add_item(struct manifest *m, const struct manifest_item *i, struct err *err)
{
    struct manifest_service *service = NULL;
    struct manifest_item made = {0}, *known = NULL;
    if (find_owner(m, i, &service, err) < 0 ||
        json_rows_copy(manifest_item_rows, i, &made, &m->index->arena, err) < 0)
        return -1;
    manifest_set_status(&made, i->status);
    struct manifest_item **list = service ? &service->items : &m->files, *larger = *list;
    size_t *n = service ? &service->n_items : &m->n_files,
           *cap = service ? &service->cap_items : &m->cap_files;
    const struct manifest_planned like = {.kind = made.kind, .argument = made.argument, .pair = made.pair};
    if (m->index->resumed)
        known = manifest_find_item(*list, *n, &like, NULL);
    const char *before = known ? known->file : NULL;
    if (!known && !(larger = grow(&m->index->arena, *list, *n, cap, sizeof made)))
        return err_nomem(err);
    *list = larger;
    if ((made.file && check_file(m, before, &made, err) < 0) ||
        (i->go_version && *i->go_version && service && note_go_version(m, service, i->go_version, err) < 0) ||
        note_path(m, before, made.file, err) < 0)
        return -1;
    if (known)
        *known = made;
    else
        (*list)[(*n)++] = made;
    return 0;
}
