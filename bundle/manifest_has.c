/* Finds out which requested items were collected intact. */
#include "bundle/manifest_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static bool is_intact(const struct manifest_item *item)
{
    return item->status == MANIFEST_OK && item->file;
}

static bool has_file(const struct manifest_item *item)
{
    return item->file;
}

static const struct manifest_service *find_service(const struct manifest *m, const char *host,
                                                   const char *service)
{
    return manifest_find_service(manifest_find_host(m, host), service);
}

/* Returns the intact item with the kind, argument and pair of `wanted`; NULL: none. */
static const struct manifest_item *find_intact(const struct manifest_service *s,
                                               const struct manifest_planned *wanted)
{
    return s ? manifest_find_item(s->items, s->n_items, wanted, is_intact) : NULL;
}

bool manifest_has_item(const struct manifest *m, const struct manifest_item_key *key, int64_t *ret_started)
{
    const struct manifest_planned wanted = {.kind = key->kind, .argument = key->argument, .pair = key->pair};
    const struct manifest_item *found = find_intact(find_service(m, key->host, key->service), &wanted);
    if (ret_started)
        *ret_started = found ? found->started : 0;
    return found;
}

static bool has_all_planned(const struct manifest_service *s)
{
    bool all = s && s->n_planned > 0;
    for (size_t i = 0; all && i < s->n_planned; i++)
        all = find_intact(s, &s->planned[i]);
    return all;
}

bool manifest_has_all_items(const struct manifest *m, const char *host, const char *service)
{
    return has_all_planned(find_service(m, host, service));
}

void manifest_drop_resolved_errors(struct manifest *m)
{
    const struct manifest_target *targets = m->request.targets;
    bool all = true;
    for (size_t i = 0; i < m->request.n_targets; i++) {
        struct manifest_host *host = manifest_find_host(m, targets[i].host);
        struct manifest_service *service = manifest_find_service(host, targets[i].service);
        if (has_all_planned(service))
            service->error = NULL;
        else
            all = false;
        if (i + 1 < m->request.n_targets && strcmp(targets[i].host, targets[i + 1].host) == 0)
            continue;
        if (all)
            host->error = NULL;
        all = true;
    }
}

int manifest_list_planned_without_file(const struct manifest *m, const char *host, const char *service,
                                       struct manifest_planned_list *ret, struct err *err)
{
    const struct manifest_service *s = find_service(m, host, service);
    size_t n_planned = s ? s->n_planned : 0, n = 0;
    struct manifest_planned *all = calloc(n_planned + 1, sizeof *all);
    if (!all)
        return err_nomem(err);
    for (size_t i = 0; i < n_planned; i++)
        if (!manifest_find_item(s->items, s->n_items, &s->planned[i], has_file))
            all[n++] = s->planned[i];
    *ret = (struct manifest_planned_list){all, n};
    return 0;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

size_t manifest_count_complete_service_items(const struct manifest *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++)
            for (size_t l = 0; l < m->hosts[i].services[k].n_items; l++)
                n += is_intact(&m->hosts[i].services[k].items[l]);
    return n;
}

size_t manifest_count_files(const struct manifest *m)
{
    return m->index->n_paths;
}

static uint64_t sum_on_disk(const struct manifest_item *items, size_t n, const struct dir *files)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += items[i].file ? dir_bytes_on_disk(files, items[i].file) : 0;
    return sum;
}

uint64_t manifest_bytes_on_disk(const struct manifest *m, const struct dir *files)
{
    uint64_t sum = sum_on_disk(m->files, m->n_files, files);
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++) {
            const struct manifest_service *service = &m->hosts[i].services[k];
            sum += sum_on_disk(service->items, service->n_items, files);
        }
    return sum;
}
