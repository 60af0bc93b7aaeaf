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
