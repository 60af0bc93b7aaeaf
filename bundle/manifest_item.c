/* Finds the hosts, services and items of a manifest, and adds an item with its file. */
#include "bundle/manifest_inside.h"

#include <string.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/manifest_rows.h"
#include "base/banned.h"

int manifest_find_host(const struct manifest *m, const char *name, json_t **ret, struct err *err)
{
    json_t *key = fields_string(name);
    if (!key)
        return err_nomem(err);
    *ret = json_object_get(m->by_name, json_string_value(key));
    json_decref(key);
    return 0;
}

int manifest_find_service(const json_t *host, const char *name, json_t **ret, struct err *err)
{
    json_t *services = json_object_get(host, "services");
    json_t *key = fields_string(name), *found = NULL;
    if (!key)
        return err_nomem(err);
    for (size_t i = 0; i < json_array_size(services) && !found; i++) {
        json_t *service = json_array_get(services, i);
        const char *its = json_string_value(json_object_get(service, "name"));
        if (its && strcmp(its, json_string_value(key)) == 0)
            found = service;
    }
    json_decref(key);
    *ret = found;
    return 0;
}

/* The index of `old` in the list; the list's length if it is missing. */
static size_t find_index(const json_t *list, const json_t *old)
{
    size_t i = 0;
    while (i < json_array_size(list) && json_array_get(list, i) != old)
        i++;
    return i;
}

int manifest_place(json_t *list, const json_t *old, json_t *made)
{
    return old ? json_array_set_new(list, find_index(list, old), made) : json_array_append_new(list, made);
}

/* The service of an item; NULL for a local file. */
static int find_owner(const struct manifest *m, const struct manifest_item *i, json_t **ret, struct err *err)
{
    json_t *host = NULL, *service = NULL;
    if ((i->host && manifest_find_host(m, i->host, &host, err) < 0) ||
        (i->service && manifest_find_service(host, i->service, &service, err) < 0))
        return -1;
    if (!service && (i->host || i->service))
        return err_set(err, ERR_FAILED, "the manifest has no service %s of %s",
                       i->service ? i->service : "(none)", i->host ? i->host : "(none)");
    *ret = service;
    return 0;
}

static json_t *item_json(const struct manifest_item *i)
{
    struct fields r = fields_new();
    json_rows_write(manifest_item_rows, i, &r);
    return fields_take(&r);
}

/* Keeps the more precise version: an exact one before a bound. */
static int note_go_version(json_t *service, const char *version, struct err *err)
{
    const char *known = json_string_value(json_object_get(service, "go_version"));
    if (known && (known[0] != '>' || version[0] == '>'))
        return 0;
    return json_object_set_new(service, "go_version", fields_string(version)) < 0 ? err_nomem(err) : 0;
}

/* Whether two items, or an item and a plan's entry, have the same text. */
static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    return x == y || json_equal(x, y);
}

bool manifest_same_item(const json_t *a, const json_t *b)
{
    return same_text(a, b, "kind") && same_text(a, b, "argument") && same_text(a, b, "pair");
}

json_t *manifest_find_item(const json_t *list, const json_t *like, manifest_fits_fn *fits)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        if ((!fits || fits(item)) && manifest_same_item(item, like))
            return item;
    }
    return NULL;
}

static int check_file(const struct manifest *m, const json_t *known, const char *path, const json_t *item,
                      struct err *err)
{
    struct items_file file;
    const char *before = json_string_value(json_object_get(known, "file"));
    if (json_object_get(m->paths, path) && (!before || strcmp(before, path) != 0))
        return err_set(err, ERR_FAILED, "the manifest has the file %s already", path);
    return items_own_file(item, &file, err);
}

/* Replaces the old record's file in `paths` by the new one's. */
static int note_path(struct manifest *m, const json_t *known, const char *path, struct err *err)
{
    const char *before = json_string_value(json_object_get(known, "file"));
    if (path && json_object_set_new(m->paths, path, json_true()) < 0)
        return err_nomem(err);
    if (before && (!path || strcmp(before, path) != 0))
        json_object_del(m->paths, before);
    return 0;
}

int manifest_add_item(struct manifest *m, const struct manifest_item *i, struct err *err)
{
    json_t *service = NULL;
    if (find_owner(m, i, &service, err) < 0)
        return -1;
    json_t *list = service ? json_object_get(service, "items") : m->files;
    json_t *item = item_json(i);
    if (!item)
        return err_nomem(err);
    const json_t *known = m->resumed ? manifest_find_item(list, item, NULL) : NULL;
    int rc = -1;
    if ((i->file && check_file(m, known, i->file, item, err) < 0) ||
        (i->go_version && service && note_go_version(service, i->go_version, err) < 0) ||
        note_path(m, known, i->file, err) < 0)
        goto out;
    if (manifest_place(list, known, json_incref(item)) < 0) {
        err_nomem(err);
        goto out;
    }
    rc = 0;
out:
    json_decref(item);
    return rc;
}
