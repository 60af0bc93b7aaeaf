/* Finds the hosts, services, items and files of a manifest. */
#include "bundle/manifest_internal.h"

#include <string.h>

#include "bundle/json_rows.h"
#include "base/banned.h"

struct manifest_host *manifest_find_host(const struct manifest *m, const char *name)
{
    char shown[JSON_ROWS_TEXT_SIZE];
    const size_t *at = name_map_get(&m->index->hosts, json_rows_make_printable(shown, name));
    return at ? &m->hosts[*at] : NULL;
}

struct manifest_service *manifest_find_service(const struct manifest_host *host, const char *name)
{
    char shown[JSON_ROWS_TEXT_SIZE];
    json_rows_make_printable(shown, name);
    for (size_t i = 0; host && i < host->n_services; i++)
        if (strcmp(host->services[i].name, shown) == 0)
            return &host->services[i];
    return NULL;
}

/* Returns whether a stored text equals `wanted`, or its printable form. */
static bool is_same_text(const char *stored, const char *wanted)
{
    char shown[JSON_ROWS_TEXT_SIZE];
    if (!stored || !wanted)
        return str_equal(str_of(stored), str_of(wanted));
    return strcmp(stored, wanted) == 0 || strcmp(stored, json_rows_make_printable(shown, wanted)) == 0;
}

bool manifest_is_same_item(const struct manifest_item *item, const struct manifest_planned *wanted)
{
    return item->pair == wanted->pair && is_same_text(item->kind, wanted->kind) &&
           is_same_text(item->argument, wanted->argument);
}

struct manifest_item *manifest_find_item(struct manifest_item *items, size_t n,
                                         const struct manifest_planned *wanted, manifest_filter_fn *filter)
{
    for (size_t i = 0; i < n; i++)
        if ((!filter || filter(&items[i])) && manifest_is_same_item(&items[i], wanted))
            return &items[i];
    return NULL;
}

int manifest_index_hosts(struct manifest *m, size_t *indices, struct err *err)
{
    for (size_t i = 0; i < m->n_hosts; i++) {
        indices[i] = i;
        if (name_map_set(&m->index->hosts, m->hosts[i].name, &indices[i], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* The values of index.paths are the addresses of these two. */
static const char is_path = 1, no_path = 0;

bool manifest_has_path(const struct manifest *m, const char *path)
{
    return name_map_get(&m->index->paths, path) == &is_path;
}

int manifest_add_path(struct manifest *m, const char *path, struct err *err)
{
    bool is_new = !manifest_has_path(m, path);
    if (name_map_set(&m->index->paths, path, &is_path, err) < 0)
        return -1;
    m->index->n_paths += is_new;
    return 0;
}

int manifest_remove_path(struct manifest *m, const char *path, struct err *err)
{
    bool is_known = manifest_has_path(m, path);
    if (is_known && name_map_set(&m->index->paths, path, &no_path, err) < 0)
        return -1;
    m->index->n_paths -= is_known;
    return 0;
}
