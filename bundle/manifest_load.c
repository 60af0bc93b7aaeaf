#include "bundle/manifest_inside.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/path.h"
#include "bundle/shape.h"
#include "base/banned.h"

/* ---- the schema of docs/formats.md
 * ---------------------------------------------------------------------- */

static const struct shape verdict[] = {{.key = "rule", .type = SHAPE_TEXT, .needed = true},
                                       {.key = "text", .type = SHAPE_TEXT, .needed = true},
                                       SHAPES_END};

static const struct shape hop[] = {{.key = "address", .type = SHAPE_TEXT},
                                   {.key = "port", .type = SHAPE_COUNT, .most = 65535},
                                   {.key = "user", .type = SHAPE_TEXT},
                                   {.key = "via", .type = SHAPE_TEXT},
                                   {.key = "host_key_type", .type = SHAPE_TEXT},
                                   {.key = "host_key", .type = SHAPE_TEXT},
                                   {.key = "host_key_new", .type = SHAPE_FLAG},
                                   {.key = "authentication", .type = SHAPE_TEXT},
                                   SHAPES_END};

static const struct shape offer[] = {
    {.key = "name", .type = SHAPE_TEXT, .needed = true}, {.key = "count", .type = SHAPE_COUNT}, SHAPES_END};

static const struct shape planned[] = {{.key = "kind", .type = SHAPE_TEXT, .needed = true},
                                       {.key = "argument", .type = SHAPE_TEXT},
                                       {.key = "pair", .type = SHAPE_COUNT, .most = 2},
                                       SHAPES_END};

static const struct shape estimate[] = {
    {.key = "bytes", .type = SHAPE_COUNT}, {.key = "profiled_ms", .type = SHAPE_COUNT}, SHAPES_END};

static const struct shape sample_type[] = {{.key = "type", .type = SHAPE_TEXT, .needed = true},
                                           {.key = "unit", .type = SHAPE_TEXT, .needed = true},
                                           {.key = "total", .type = SHAPE_NUMBER, .needed = true},
                                           SHAPES_END};

static const struct shape profile[] = {
    {.key = "samples", .type = SHAPE_COUNT, .needed = true},
    {.key = "sample_types", .type = SHAPE_OBJECTS, .needed = true, .inside = sample_type},
    {.key = "duration_ns", .type = SHAPE_COUNT},
    SHAPES_END};

/* items_file checks names, sizes and hashes of files. */
static const struct shape item[] = {
    {.key = "kind", .type = SHAPE_TEXT, .needed = true},
    {.key = "argument", .type = SHAPE_TEXT},
    {.key = "pair", .type = SHAPE_COUNT, .most = 2},
    {.key = "request", .type = SHAPE_TEXT},
    {.key = "status", .type = SHAPE_WORD, .needed = true, .words = manifest_statuses},
    {.key = "error", .type = SHAPE_TEXT},
    {.key = "server_words", .type = SHAPE_TEXT},
    {.key = "http_status", .type = SHAPE_COUNT},
    {.key = "content_type", .type = SHAPE_TEXT},
    {.key = "started", .type = SHAPE_TEXT},
    {.key = "duration_ms", .type = SHAPE_NUMBER},
    {.key = "bytes", .type = SHAPE_COUNT},
    {.key = "profile", .type = SHAPE_OBJECT, .inside = profile},
    {.key = "verdicts", .type = SHAPE_OBJECTS, .inside = verdict},
    {.key = "sync_skew_ms", .type = SHAPE_NUMBER},
    {.key = "late", .type = SHAPE_FLAG},
    SHAPES_END};

/* Each requested target needs a linear search of a host's services and a service's items. These bounds are
 * far above real numbers and limit that time. */
enum { MAX_SERVICES = 1024, MAX_ITEMS = 256 };

static const struct shape service[] = {
    {.key = "name", .type = SHAPE_NAME, .needed = true},
    {.key = "url", .type = SHAPE_TEXT},
    {.key = "offers", .type = SHAPE_OBJECTS, .inside = offer},
    {.key = "clock_skew_ms", .type = SHAPE_NUMBER},
    {.key = "go_version", .type = SHAPE_TEXT},
    {.key = "error", .type = SHAPE_TEXT},
    {.key = "verdicts", .type = SHAPE_OBJECTS, .inside = verdict},
    {.key = "planned", .type = SHAPE_OBJECTS, .inside = planned, .most = MAX_ITEMS},
    {.key = "estimate", .type = SHAPE_OBJECT, .inside = estimate},
    {.key = "items", .type = SHAPE_OBJECTS, .needed = true, .inside = item, .most = MAX_ITEMS},
    SHAPES_END};

static const struct shape host[] = {
    {.key = "name", .type = SHAPE_NAME, .needed = true},
    {.key = "address", .type = SHAPE_TEXT},
    {.key = "route", .type = SHAPE_TEXT},
    {.key = "hops", .type = SHAPE_OBJECTS, .inside = hop},
    {.key = "error", .type = SHAPE_TEXT},
    {.key = "against", .type = SHAPE_FLAG},
    {.key = "verdicts", .type = SHAPE_OBJECTS, .inside = verdict},
    {.key = "services", .type = SHAPE_OBJECTS, .needed = true, .inside = service, .most = MAX_SERVICES},
    SHAPES_END};

static const struct shape who[] = {
    {.key = "time", .type = SHAPE_TEXT},        {.key = "name", .type = SHAPE_TEXT},
    {.key = "version", .type = SHAPE_TEXT},     {.key = "user", .type = SHAPE_TEXT},
    {.key = "workstation", .type = SHAPE_TEXT}, SHAPES_END};

static const struct shape target[] = {{.key = "host", .type = SHAPE_NAME, .needed = true},
                                      {.key = "service", .type = SHAPE_NAME, .needed = true},
                                      {.key = "address", .type = SHAPE_TEXT},
                                      SHAPES_END};

static const struct shape sample[] = {{.key = "of", .type = SHAPE_COUNT, .needed = true},
                                      {.key = "taken", .type = SHAPE_COUNT, .needed = true},
                                      SHAPES_END};

static const struct shape asked[] = {
    {.key = "kinds", .type = SHAPE_TEXTS, .needed = true},
    {.key = "targets", .type = SHAPE_OBJECTS, .needed = true, .inside = target},
    {.key = "port", .type = SHAPE_COUNT, .most = 65535},
    {.key = "unix", .type = SHAPE_TEXT},
    {.key = "path", .type = SHAPE_TEXT},
    {.key = "https", .type = SHAPE_FLAG},
    {.key = "against", .type = SHAPE_TEXTS},
    {.key = "pair_ms", .type = SHAPE_COUNT, .most = INT64_C(24) * 3600 * 1000},
    {.key = "sample", .type = SHAPE_OBJECT, .inside = sample},
    SHAPES_END};

static const struct shape budget[] = {
    {.key = "bytes", .type = SHAPE_COUNT}, {.key = "profiled_ms", .type = SHAPE_COUNT}, SHAPES_END};

static const struct shape skew[] = {{.key = "p50", .type = SHAPE_COUNT, .needed = true},
                                    {.key = "p95", .type = SHAPE_COUNT, .needed = true},
                                    {.key = "max", .type = SHAPE_COUNT, .needed = true},
                                    SHAPES_END};

static const struct shape in_step[] = {{.key = "at", .type = SHAPE_TEXT, .needed = true},
                                       {.key = "targets", .type = SHAPE_COUNT, .needed = true},
                                       {.key = "late", .type = SHAPE_COUNT, .needed = true},
                                       {.key = "skew_ms", .type = SHAPE_OBJECT, .inside = skew},
                                       SHAPES_END};

static const struct shape manifest[] = {
    {.key = "name", .type = SHAPE_NAME, .needed = true},
    {.key = "tool", .type = SHAPE_OBJECT, .needed = true, .inside = who},
    {.key = "collector", .type = SHAPE_OBJECT, .needed = true, .inside = who},
    {.key = "reason", .type = SHAPE_TEXT},
    {.key = "started", .type = SHAPE_TEXT},
    {.key = "asked", .type = SHAPE_OBJECT, .inside = asked},
    {.key = "resumed", .type = SHAPE_OBJECTS, .inside = who},
    {.key = "retries", .type = SHAPE_COUNT},
    {.key = "deadline_ms", .type = SHAPE_COUNT},
    {.key = "deadline_reached", .type = SHAPE_FLAG},
    {.key = "budget", .type = SHAPE_OBJECT, .inside = budget},
    {.key = "sync", .type = SHAPE_OBJECT, .inside = in_step},
    {.key = "hosts", .type = SHAPE_OBJECTS, .needed = true, .inside = host},
    {.key = "files", .type = SHAPE_OBJECTS, .needed = true, .inside = item},
    SHAPES_END};

/* ---- checks beyond the schema
 * ---------------------------------------------------------------------------- */

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

/* Otherwise the search of a work directory would assign another service's file to it. */
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

/* Checks its services: unique, each with its own files. */
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
    if (refuse_copy(root, err) < 0 || shape_check(root, manifest, err) < 0)
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
