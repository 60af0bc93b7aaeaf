/*
 * Records become JSON as they are added (manifest_records.c, manifest_item.c). The keys of the whole run
 * (manifest_run.c) are added when the manifest is assembled, so that all keys are in the documented order. In
 * a loaded manifest (manifest_load.c) a record replaces the one before.
 */
#include "bundle/manifest_inside.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/items.h"
#include "bundle/path.h"
#include "bundle/fields.h"
#include "base/banned.h"

static json_t *head_json(const struct manifest_info *info)
{
    struct fields tool = fields_new();
    fields_put(&tool, "name", json_string("profgrab"));
    fields_text(&tool, "version", info->version);
    struct fields who = fields_new();
    fields_text(&who, "user", info->user);
    fields_text(&who, "workstation", info->workstation);
    struct fields head = fields_new();
    fields_put(&head, "format", json_string("profgrab-bundle"));
    fields_number(&head, "version", 1);
    fields_put(&head, "name", fields_string(info->name));
    fields_nest(&head, "tool", &tool);
    fields_nest(&head, "collector", &who);
    fields_text(&head, "reason", info->reason);
    fields_time(&head, "started", info->started);
    return fields_take(&head);
}

int manifest_new(const struct manifest_info *info, struct manifest **ret, struct err *err)
{
    struct manifest *m = calloc(1, sizeof *m);
    if (!m)
        return err_nomem(err);
    m->head = head_json(info);
    m->hosts = json_array();
    m->files = json_array();
    m->by_name = json_object();
    m->paths = json_object();
    if (!m->head || !m->hosts || !m->files || !m->by_name || !m->paths) {
        manifest_free(m);
        return err_nomem(err);
    }
    *ret = m;
    return 0;
}

void manifest_free(struct manifest *m)
{
    if (!m)
        return;
    json_decref(m->head);
    json_decref(m->hosts);
    json_decref(m->files);
    json_decref(m->run);
    json_decref(m->summary);
    json_decref(m->report);
    json_decref(m->by_name);
    json_decref(m->paths);
    free(m);
}

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

void manifest_put_verdicts(struct fields *r, const struct manifest_verdict *verdicts, size_t n)
{
    if (!n)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct fields verdict = fields_new();
        fields_put(&verdict, "rule", fields_string(verdicts[i].rule));
        fields_put(&verdict, "text", fields_string(verdicts[i].text));
        fields_append(r, list, &verdict);
    }
    fields_put(r, "verdicts", list);
}

int manifest_finish(struct manifest *m, int64_t finished, bool interrupted, bool complete, struct err *err)
{
    if (m->finished)
        return err_set(err, ERR_FAILED, "the manifest is finished already");
    m->finished = finished;
    m->interrupted = interrupted;
    m->complete = complete;
    return manifest_forget_errors(m, err) < 0 ? -1 : manifest_order(m, err);
}

json_t *manifest_json(const struct manifest *m)
{
    struct fields root = {.o = json_copy(m->head)};
    /* Without memory for a key, jansson omits it from the copy. */
    root.failed = json_object_size(root.o) != json_object_size(m->head);
    fields_time(&root, "finished", m->finished);
    fields_put(&root, "interrupted", json_boolean(m->interrupted));
    fields_put(&root, "complete", json_boolean(m->complete));
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(m->run, key, value) fields_put(&root, key, json_incref(value));
    if (json_array_size(m->summary) > 0)
        fields_put(&root, "summary", json_incref(m->summary));
    fields_put(&root, "hosts", json_incref(m->hosts));
    fields_put(&root, "files", json_incref(m->files));
    if (m->report)
        fields_put(&root, "report", json_incref(m->report));
    return fields_take(&root);
}

int manifest_print(const struct manifest *m, struct buf *ret, struct err *err)
{
    json_t *root = manifest_json(m);
    int rc = root ? items_print(root, ret, err) : err_nomem(err);
    json_decref(root);
    return rc;
}

int manifest_save_text(const struct buf *text, const struct workdir *w, struct err *err)
{
    return beneath_write(workdir_files(w), PATH_MANIFEST, text->data, text->len, err);
}

int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err)
{
    int rc = -1;
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    if (manifest_print(m, &text, err) == 0)
        rc = manifest_save_text(&text, w, err);
    buf_release(&text);
    return rc;
}
