#include "bundle/manifest_inside.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/path.h"
#include "bundle/manifest_rows.h"
#include "base/banned.h"

/* ---- checks beyond the rows ---------------------------------------------------------------------------- */

static int refuse_copy(const json_t *root, struct err *err)
{
    if (!json_object_get(root, "handoff"))
        return 0;
    err_set(err, ERR_FAILED,
            "it is a copy that was handed off, not all of which need be as it was collected");
    return err_hint(err, "whoever handed it off has the bundle that it was made of");
}

static int add_path(void *ctx, const struct items_file *file, struct err *err)
{
    json_t *paths = ctx;
    if (json_object_get(paths, file->path))
        return err_set(err, ERR_FAILED, PATH_MANIFEST " describes %s twice", file->path);
    return json_object_set_new(paths, file->path, json_true()) < 0 ? err_nomem(err) : 0;
}

static bool is_below(const char *file, const char *outer, const char *inner)
{
    size_t n = strlen(outer), m = strlen(inner);
    return strncmp(file, outer, n) == 0 && file[n] == '/' && strncmp(file + n + 1, inner, m) == 0 &&
           file[n + 1 + m] == '/';
}

/* Checks that each item's file is below its own service. Otherwise the search of a work directory would
 * assign another service's file to the item. */
static int check_places(const json_t *of, const char *outer, const char *inner, struct err *err)
{
    const json_t *items = json_object_get(of, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const char *file = json_string_value(json_object_get(json_array_get(items, i), "file"));
        if (file && !is_below(file, outer, inner))
            return err_set(err, ERR_FAILED,
                           PATH_MANIFEST " is malformed: %.200s is no place for a file of %.100s: %.100s",
                           file, outer, inner);
    }
    return 0;
}

/* Checks that the services of a host are unique and have only their own files. */
static int check_services(const json_t *one, struct err *err)
{
    const json_t *services = json_object_get(one, "services");
    const char *of = json_string_value(json_object_get(one, "name"));
    int rc = 0;
    json_t *seen = json_object();
    if (!seen)
        return err_nomem(err);
    for (size_t i = 0; rc == 0 && i < json_array_size(services); i++) {
        const json_t *each = json_array_get(services, i);
        const char *name = json_string_value(json_object_get(each, "name"));
        if (json_object_get(seen, name))
            rc = err_set(err, ERR_FAILED, PATH_MANIFEST " has the service %.100s of %.100s twice", name, of);
        else if (json_object_set_new(seen, name, json_true()) < 0)
            rc = err_nomem(err);
        else
            rc = check_places(each, of, name, err);
    }
    json_decref(seen);
    return rc;
}

static int add_hosts(struct manifest *m, struct err *err)
{
    for (size_t i = 0; i < json_array_size(m->hosts); i++) {
        json_t *one = json_array_get(m->hosts, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (json_object_get(m->by_name, name))
            return err_set(err, ERR_FAILED, PATH_MANIFEST " has the host %.100s twice", name);
        if (check_services(one, err) < 0)
            return -1;
        if (json_object_set(m->by_name, name, one) < 0)
            return err_nomem(err);
    }
    return 0;
}

/* ---- loading ------------------------------------------------------------------------------------------- */

/* Drops the keys that the end of a capture adds, because the resumed run ends later. */
static json_t *load_head(const json_t *root)
{
    static const char *const not [] = {
        "finished", "interrupted", "complete", "retries", "deadline_ms", "deadline_reached",
        "budget",   "sync",        "summary",  "hosts",   "files",       "report"};
    json_t *head = json_copy((json_t *)(uintptr_t)root);
    if (json_object_size(head) != json_object_size(root)) {
        json_decref(head);
        return NULL;
    }
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        json_object_del(head, not [i]);
    return head;
}

/* Drops the limits of the run, but keeps when its profiles began, because its files stay. */
static json_t *load_run(const json_t *root)
{
    struct fields run = fields_new();
    json_t *known = json_object_get(root, "sync");
    if (known)
        fields_put(&run, "sync", json_incref(known));
    return fields_take(&run);
}

static struct manifest *load_members(const json_t *root)
{
    struct manifest *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->head = load_head(root);
    m->run = load_run(root);
    m->hosts = json_incref(json_object_get(root, "hosts"));
    m->files = json_incref(json_object_get(root, "files"));
    m->by_name = json_object();
    m->paths = json_object();
    m->resumed = true;
    if (m->head && m->run && m->by_name && m->paths)
        return m;
    manifest_free(m);
    return NULL;
}

int manifest_load(const char *text, size_t n, struct manifest **ret, struct err *err)
{
    json_t *root = NULL;
    struct manifest *m = NULL;
    int rc = -1;
    if (items_parse(text, n, &root, err) < 0)
        return -1;
    if (refuse_copy(root, err) < 0 || json_rows_check(root, manifest_rows, err) < 0)
        goto out;
    if (!(m = load_members(root))) {
        err_nomem(err);
        goto out;
    }
    json_object_del(root, "report");
    if (items_each_file(root, add_path, m->paths, err) < 0 || add_hosts(m, err) < 0)
        goto out;
    *ret = m;
    m = NULL;
    rc = 0;
out:
    manifest_free(m);
    json_decref(root);
    return rc;
}

const char *manifest_name(const struct manifest *m)
{
    return json_string_value(json_object_get(m->head, "name"));
}

int manifest_resume(struct manifest *m, const struct manifest_info *now, struct err *err)
{
    struct fields run = fields_new();
    fields_time(&run, "time", now->started);
    fields_text(&run, "version", now->version);
    fields_text(&run, "user", now->user);
    fields_text(&run, "workstation", now->workstation);
    json_t *made = fields_take(&run), *list = json_object_get(m->head, "resumed");
    if (!list && json_object_set_new(m->head, "resumed", list = json_array()) < 0) {
        json_decref(made);
        return err_nomem(err);
    }
    if (json_array_append_new(list, made) < 0 ||
        json_object_set_new(m->head, "name", fields_string(now->name)) < 0)
        return err_nomem(err);
    return 0;
}
