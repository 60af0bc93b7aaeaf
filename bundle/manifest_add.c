/* Adds records of hosts, services and items. If a run continues the manifest, parts of the earlier record
 * stay. */
#include "bundle/manifest_internal.h"

#include <string.h>

#include "bundle/manifest_rows.h"
#include "base/banned.h"

/* Returns the list of n entries if it has room for one more, else a larger copy; NULL without memory. The
 * arena keeps the old list. */
static void *reserve_entry(struct arena *a, void *items, size_t n, size_t *cap, size_t size)
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

struct findings_list {
    const struct manifest_finding *items;
    size_t n;
};

static bool has_rule(struct findings_list list, const char *rule)
{
    for (size_t i = 0; i < list.n; i++)
        if (strcmp(list.items[i].rule, rule) == 0)
            return true;
    return false;
}

/* Adds the findings of the earlier record whose rules have no finding in the new record. */
static int keep_findings(struct manifest *m, struct findings_list before, struct findings_list *added,
                         struct err *err)
{
    struct manifest_finding *all = arena_alloc(&m->index->arena, (added->n + before.n) * sizeof *all);
    size_t n = added->n;
    if (!all)
        return err_nomem(err);
    if (n)
        memcpy(all, added->items, n * sizeof *all);
    for (size_t i = 0; i < before.n; i++)
        if (!has_rule(*added, before.items[i].rule))
            all[n++] = before.items[i];
    *added = (struct findings_list){all, n};
    return 0;
}

/* ---- hosts --------------------------------------------------------------------------------------------- */

/* An unreachable host keeps its earlier route, because its files were fetched over that route. */
static void keep_route(struct manifest_host *added, const struct manifest_host *earlier)
{
    if (earlier->address)
        added->address = earlier->address;
    if (earlier->route)
        added->route = earlier->route;
    added->is_baseline = added->is_baseline || earlier->is_baseline;
    if (earlier->n_hops == 0)
        return;
    added->hops = earlier->hops;
    added->n_hops = earlier->n_hops;
}

/* Keeps the services, which are added separately, and the findings on several hosts, which a resumed run of
 * one host does not compute. */
static int keep_host_records(struct manifest *m, struct manifest_host *added,
                             const struct manifest_host *earlier, struct err *err)
{
    struct findings_list findings = {added->findings, added->n_findings};
    if (keep_findings(m, (struct findings_list){earlier->findings, earlier->n_findings}, &findings, err) < 0)
        return -1;
    added->findings = findings.items;
    added->n_findings = findings.n;
    if (added->error)
        keep_route(added, earlier);
    added->services = earlier->services;
    added->n_services = earlier->n_services;
    added->cap_services = earlier->cap_services;
    return 0;
}

int manifest_add_host(struct manifest *m, const struct manifest_host *h, struct err *err)
{
    struct manifest_host *earlier = manifest_find_host(m, h->name), added = {0};
    if (earlier && !m->index->resumed)
        return err_set(err, ERR_FAILED, "the manifest has the host %s already", h->name);
    if (json_rows_copy(manifest_host_rows, h, &added, &m->index->arena, err) < 0)
        return -1;
    if (earlier) {
        if (keep_host_records(m, &added, earlier, err) < 0)
            return -1;
        *earlier = added;
        return 0;
    }
    struct manifest_host *list =
        reserve_entry(&m->index->arena, m->hosts, m->n_hosts, &m->cap_hosts, sizeof added);
    size_t *at = arena_alloc(&m->index->arena, sizeof *at);
    if (!list || !at)
        return err_nomem(err);
    m->hosts = list;
    *at = m->n_hosts;
    if (name_map_set(&m->index->hosts, added.name, at, err) < 0)
        return -1;
    m->hosts[m->n_hosts++] = added;
    return 0;
}

/* ---- services ------------------------------------------------------------------------------------------ */

/* A failed service keeps the data of its earlier record. The kept plan shows which items are missing. */
static int keep_service_records(struct manifest *m, struct manifest_service *added,
                                const struct manifest_service *earlier, struct err *err)
{
    struct findings_list findings = {added->findings, added->n_findings};
    if (keep_findings(m, (struct findings_list){earlier->findings, earlier->n_findings}, &findings, err) < 0)
        return -1;
    added->findings = findings.items;
    added->n_findings = findings.n;
    if (earlier->url)
        added->url = earlier->url;
    if (earlier->n_offers) {
        added->offers = earlier->offers;
        added->n_offers = earlier->n_offers;
    }
    if (earlier->has_clock_skew) {
        added->has_clock_skew = true;
        added->clock_skew_ms = earlier->clock_skew_ms;
    }
    if (earlier->n_planned) {
        added->planned = earlier->planned;
        added->n_planned = earlier->n_planned;
        added->estimate_bytes = earlier->estimate_bytes;
        added->profiled_ms = earlier->profiled_ms;
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
static void keep_items(struct manifest_service *added, const struct manifest_service *earlier)
{
    bool all = added->error || added->n_planned == 0;
    added->items = earlier->items;
    added->cap_items = earlier->cap_items;
    for (size_t i = 0; i < earlier->n_items; i++)
        if (all || earlier->items[i].file || is_planned(added, &earlier->items[i]))
            added->items[added->n_items++] = earlier->items[i];
}

int manifest_add_service(struct manifest *m, const struct manifest_service *s, struct err *err)
{
    struct manifest_host *host = manifest_find_host(m, s->host);
    struct manifest_service *earlier = manifest_find_service(host, s->name), added = {0};
    if (!host)
        return err_set(err, ERR_FAILED, "the manifest has no host %s", s->host);
    if (earlier && !m->index->resumed)
        return err_set(err, ERR_FAILED, "the manifest has the service %s of %s already", s->name, s->host);
    if (json_rows_copy(manifest_service_rows, s, &added, &m->index->arena, err) < 0)
        return -1;
    if (earlier) {
        if (added.error && keep_service_records(m, &added, earlier, err) < 0)
            return -1;
        added.go_version = earlier->go_version;
        keep_items(&added, earlier);
        *earlier = added;
        return 0;
    }
    struct manifest_service *list =
        reserve_entry(&m->index->arena, host->services, host->n_services, &host->cap_services, sizeof added);
    if (!list)
        return err_nomem(err);
    host->services = list;
    list[host->n_services++] = added;
    return 0;
}

/* ---- items --------------------------------------------------------------------------------------------- */

void manifest_set_status(struct manifest_item *item, enum manifest_status status)
{
    item->status = status;
    item->status_text = manifest_statuses[status];
}

/* Finds the service of an item. *ret is NULL for a local file. */
static int find_service_of_item(const struct manifest *m, const struct manifest_item *i,
                                struct manifest_service **ret, struct err *err)
{
    struct manifest_service *service =
        i->host && i->service ? manifest_find_service(manifest_find_host(m, i->host), i->service) : NULL;
    if (!service && (i->host || i->service))
        return err_set(err, ERR_FAILED, "the manifest has no service %s of %s",
                       i->service ? i->service : "(none)", i->host ? i->host : "(none)");
    *ret = service;
    return 0;
}

/* Sets the Go version if none is known, or if the known version is only a bound and the new version is
 * exact. */
static int set_go_version(struct manifest *m, struct manifest_service *service, const char *version,
                          struct err *err)
{
    const char *earlier = service->go_version;
    if (earlier && (earlier[0] != '>' || version[0] == '>'))
        return 0;
    const char *copy = json_rows_copy_text(version, &m->index->arena);
    if (!copy)
        return err_nomem(err);
    service->go_version = copy;
    return 0;
}

static int check_file(const struct manifest *m, const char *old_path, const struct manifest_item *added,
                      struct err *err)
{
    const struct file_entry file = {added->file, added->bytes, added->sha256};
    if (manifest_has_path(m, file.path) && (!old_path || strcmp(old_path, file.path) != 0))
        return err_set(err, ERR_FAILED, "the manifest has the file %s already", file.path);
    return manifest_json_check_file_entry(&file, err);
}

/* Replaces the path of the earlier record in the index with the new path. */
static int replace_path(struct manifest *m, const char *old_path, const char *path, struct err *err)
{
    if (path && manifest_add_path(m, path, err) < 0)
        return -1;
    return old_path && (!path || strcmp(old_path, path) != 0) ? manifest_remove_path(m, old_path, err) : 0;
}

int manifest_add_item(struct manifest *m, const struct manifest_item *i, struct err *err)
{
    struct manifest_service *service = NULL;
    struct manifest_item added = {0}, *earlier = NULL;
    if (find_service_of_item(m, i, &service, err) < 0 ||
        json_rows_copy(manifest_item_rows, i, &added, &m->index->arena, err) < 0)
        return -1;
    manifest_set_status(&added, i->status);
    struct manifest_item **list = service ? &service->items : &m->files, *larger = *list;
    size_t *n = service ? &service->n_items : &m->n_files,
           *cap = service ? &service->cap_items : &m->cap_files;
    const struct manifest_planned wanted = {
        .kind = added.kind, .argument = added.argument, .pair = added.pair};
    if (m->index->resumed)
        earlier = manifest_find_item(*list, *n, &wanted, NULL);
    const char *old_path = earlier ? earlier->file : NULL;
    if (!earlier && !(larger = reserve_entry(&m->index->arena, *list, *n, cap, sizeof added)))
        return err_nomem(err);
    *list = larger;
    if ((added.file && check_file(m, old_path, &added, err) < 0) ||
        (i->go_version && *i->go_version && service && set_go_version(m, service, i->go_version, err) < 0) ||
        replace_path(m, old_path, added.file, err) < 0)
        return -1;
    if (earlier)
        *earlier = added;
    else
        (*list)[(*n)++] = added;
    return 0;
}
