/* One item, and its file. */
#include "bundle/manifest_inside.h"

#include <string.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "base/banned.h"

const char *const manifest_statuses[] = {[MANIFEST_OK] = "ok",
                                         [MANIFEST_DAMAGED] = "damaged",
                                         [MANIFEST_FAILED] = "failed",
                                         [MANIFEST_INTERRUPTED] = "interrupted",
                                         [MANIFEST_LEFT_OUT] = "left-out",
                                         NULL};

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

static void put_profile(struct fields *item, const struct manifest_item *i)
{
    struct fields profile = fields_new();
    fields_count(&profile, "samples", i->samples);
    json_t *types = json_array();
    for (size_t k = 0; k < i->n_sample_types; k++) {
        struct fields type = fields_new();
        fields_put(&type, "type", fields_string(i->sample_types[k].type));
        fields_put(&type, "unit", fields_string(i->sample_types[k].unit));
        fields_number(&type, "total", i->sample_types[k].total);
        fields_append(&profile, types, &type);
    }
    fields_put(&profile, "sample_types", types);
    if (i->profile_duration_ns > 0)
        fields_number(&profile, "duration_ns", i->profile_duration_ns);
    fields_nest(item, "profile", &profile);
}

static json_t *item_json(const struct manifest_item *i)
{
    struct fields r = fields_new();
    fields_put(&r, "kind", fields_string(i->kind));
    fields_text(&r, "argument", i->argument);
    if (i->pair)
        fields_number(&r, "pair", i->pair);
    if (i->late)
        fields_put(&r, "late", json_true());
    if (i->has_sync_skew)
        fields_number(&r, "sync_skew_ms", i->sync_skew_ms);
    fields_text(&r, "request", i->request);
    fields_put(&r, "status", json_string(manifest_statuses[i->status]));
    fields_text(&r, "error", i->error);
    fields_text(&r, "server_words", i->server_words);
    if (i->file) /* unchanged: manifest_add_item has checked it */
        fields_put(&r, "file", json_string(i->file));
    if (i->http_status > 0)
        fields_number(&r, "http_status", i->http_status);
    fields_text(&r, "content_type", i->content_type);
    fields_time(&r, "started", i->started);
    if (i->started > 0)
        fields_number(&r, "duration_ms", i->duration_ms);
    if (i->file || i->bytes > 0)
        fields_count(&r, "bytes", i->bytes);
    fields_text(&r, "sha256", i->sha256);
    if (i->has_profile)
        put_profile(&r, i);
    manifest_put_verdicts(&r, i->verdicts, i->n_verdicts);
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

/* For two items, or an item and a plan's entry. */
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
