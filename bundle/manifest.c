/*
 * The records are turned into JSON as they come; only what ends the capture is added when the whole is put
 * together, so that its keys come in the documented order. Of a manifest that was loaded (manifest_load.c) a
 * record takes the place of the one before.
 */
#include "bundle/manifest.h"

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
        if (json_equal(json_object_get(service, "name"), key))
            found = service;
    }
    json_decref(key);
    *ret = found;
    return 0;
}

static void put_hops(struct fields *host, const struct manifest_hop *hops, size_t n)
{
    if (!n)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct fields hop = fields_new();
        fields_text(&hop, "address", hops[i].address);
        if (hops[i].port)
            fields_number(&hop, "port", hops[i].port);
        fields_text(&hop, "user", hops[i].user);
        fields_text(&hop, "via", hops[i].via);
        fields_text(&hop, "host_key_type", hops[i].host_key_type);
        fields_text(&hop, "host_key", hops[i].host_key);
        if (hops[i].host_key_new)
            fields_put(&hop, "host_key_new", json_true());
        fields_text(&hop, "authentication", hops[i].authentication);
        fields_append(host, list, &hop);
    }
    fields_put(host, "hops", list);
}

/* Where `old` is in the list; its length if it is not there. */
static size_t index_of(const json_t *list, const json_t *old)
{
    size_t i = 0;
    while (i < json_array_size(list) && json_array_get(list, i) != old)
        i++;
    return i;
}

/* Puts it in the place of `old`, or behind the others if that is NULL. Takes it over. */
static int place(json_t *list, const json_t *old, json_t *made)
{
    return old ? json_array_set_new(list, index_of(list, old), made) : json_array_append_new(list, made);
}

/* The services stay: each is recorded by itself. */
static json_t *services_of(const json_t *known)
{
    return known ? json_incref(json_object_get(known, "services")) : json_array();
}

static void put_verdicts(struct fields *r, const struct manifest_verdict *verdicts, size_t n)
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

/* ---- what a failed try leaves of a record -------------------------------------------------------------- */

/* The key as the record before has it, if that has it. */
static void keep(struct fields *r, const char *key, const json_t *before)
{
    json_t *value = json_object_get(before, key);
    if (value)
        fields_put(r, key, json_incref(value));
}

/* Whether one of the first n is by that rule. */
static bool has_rule(const json_t *list, size_t n, const json_t *rule)
{
    bool found = false;
    for (size_t i = 0; i < n && !found; i++)
        found = json_equal(json_object_get(json_array_get(list, i), "rule"), rule);
    return found;
}

/* The verdicts of the record before by rules of which this one has none. */
static void keep_verdicts(struct fields *r, const json_t *before)
{
    json_t *old = json_object_get(before, "verdicts"), *made = json_object_get(r->o, "verdicts");
    size_t n = json_array_size(made);
    if (!made)
        keep(r, "verdicts", before);
    for (size_t i = 0; made && i < json_array_size(old); i++) {
        json_t *one = json_array_get(old, i);
        if (!has_rule(made, n, json_object_get(one, "rule")) && json_array_append(made, one) < 0)
            r->failed = true;
    }
}

/* A host that was not reached now has the way by which it was before: its files came by that. What was found
 * of the hosts of a run together is not found again where one of them is resumed alone. */
static json_t *host_json(const struct manifest_host *h, const json_t *known)
{
    const json_t *before = h->error ? known : NULL;
    struct fields r = fields_new();
    fields_put(&r, "name", fields_string(h->name));
    fields_text(&r, "address", h->address);
    keep(&r, "address", before);
    fields_text(&r, "route", h->route);
    keep(&r, "route", before);
    if (h->against)
        fields_put(&r, "against", json_true());
    keep(&r, "against", before);
    put_hops(&r, h->hops, h->n_hops);
    keep(&r, "hops", before);
    fields_text(&r, "error", h->error);
    put_verdicts(&r, h->verdicts, h->n_verdicts);
    keep_verdicts(&r, known);
    fields_put(&r, "services", services_of(known));
    return fields_take(&r);
}

int manifest_add_host(struct manifest *m, const struct manifest_host *h, struct err *err)
{
    json_t *known = NULL;
    if (manifest_find_host(m, h->name, &known, err) < 0)
        return -1;
    if (known && !m->resumed)
        return err_set(err, ERR_FAILED, "the manifest has the host %s already", h->name);
    json_t *host = host_json(h, known);
    const char *name = json_string_value(json_object_get(host, "name"));
    int rc = 0;
    if (!name || json_object_set(m->by_name, name, host) < 0 || place(m->hosts, known, json_incref(host)) < 0)
        rc = err_nomem(err);
    json_decref(host);
    return rc;
}

static void put_offers(struct fields *service, const struct manifest_offer *offers, size_t n)
{
    if (!n)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct fields offer = fields_new();
        fields_put(&offer, "name", fields_string(offers[i].name));
        if (offers[i].count >= 0)
            fields_number(&offer, "count", offers[i].count);
        fields_append(service, list, &offer);
    }
    fields_put(service, "offers", list);
}

static bool has_member(const json_t *list, const json_t *item)
{
    bool found = false;
    for (size_t i = 0; i < json_array_size(list) && !found; i++)
        found = manifest_same_item(json_array_get(list, i), item);
    return found;
}

/* What is kept of a service that is planned anew: not what neither came nor is planned any more. */
static json_t *items_of(const json_t *known, const json_t *planned)
{
    json_t *kept = json_array(), *items = json_object_get(known, "items");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        if (!planned || json_object_get(item, "file") || has_member(planned, item))
            rc = json_array_append(kept, item);
    }
    if (rc == 0)
        return kept;
    json_decref(kept);
    return NULL;
}

static void put_planned(struct fields *service, const struct manifest_service *s)
{
    if (!s->n_planned)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_planned; i++) {
        struct fields item = fields_new();
        fields_put(&item, "kind", fields_string(s->planned[i].kind));
        fields_text(&item, "argument", s->planned[i].argument);
        if (s->planned[i].pair)
            fields_number(&item, "pair", s->planned[i].pair);
        fields_append(service, list, &item);
    }
    fields_put(service, "planned", list);
    struct fields estimate = fields_new();
    fields_count(&estimate, "bytes", s->estimate_bytes);
    fields_number(&estimate, "profiled_ms", s->profiled_ms);
    fields_nest(service, "estimate", &estimate);
}

/* One that does not answer now is as it was planned before: that says which of its items are missing. */
static json_t *service_json(const struct manifest_service *s, const json_t *known)
{
    const json_t *before = s->error ? known : NULL;
    struct fields r = fields_new();
    fields_put(&r, "name", fields_string(s->name));
    fields_text(&r, "url", s->url);
    keep(&r, "url", before);
    put_offers(&r, s->offers, s->n_offers);
    keep(&r, "offers", before);
    if (s->has_clock_skew)
        fields_number(&r, "clock_skew_ms", s->clock_skew_ms);
    keep(&r, "clock_skew_ms", before);
    keep(&r, "go_version", known);
    put_planned(&r, s);
    keep(&r, "planned", before);
    keep(&r, "estimate", before);
    fields_text(&r, "error", s->error);
    put_verdicts(&r, s->verdicts, s->n_verdicts);
    keep_verdicts(&r, before);
    fields_put(&r, "items", items_of(known, before ? NULL : json_object_get(r.o, "planned")));
    return fields_take(&r);
}

int manifest_add_service(struct manifest *m, const struct manifest_service *s, struct err *err)
{
    json_t *host = NULL, *known = NULL;
    if (manifest_find_host(m, s->host, &host, err) < 0 ||
        manifest_find_service(host, s->name, &known, err) < 0)
        return -1;
    if (!host)
        return err_set(err, ERR_FAILED, "the manifest has no host %s", s->host);
    if (known && !m->resumed)
        return err_set(err, ERR_FAILED, "the manifest has the service %s of %s already", s->name, s->host);
    if (place(json_object_get(host, "services"), known, service_json(s, known)) < 0)
        return err_nomem(err);
    return 0;
}

/* The service an item belongs to; NULL for a local file. */
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
    static const char *const statuses[] = {[MANIFEST_OK] = "ok",
                                           [MANIFEST_DAMAGED] = "damaged",
                                           [MANIFEST_FAILED] = "failed",
                                           [MANIFEST_INTERRUPTED] = "interrupted",
                                           [MANIFEST_LEFT_OUT] = "left-out"};
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
    fields_put(&r, "status", json_string(statuses[i->status]));
    fields_text(&r, "error", i->error);
    fields_text(&r, "server_words", i->server_words);
    if (i->file) /* as it is: manifest_add_item has it checked */
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
    put_verdicts(&r, i->verdicts, i->n_verdicts);
    return fields_take(&r);
}

/* Keeps what says more: an exact version more than a bound. */
static int note_go_version(json_t *service, const char *version, struct err *err)
{
    const char *known = json_string_value(json_object_get(service, "go_version"));
    if (known && (known[0] != '>' || version[0] == '>'))
        return 0;
    return json_object_set_new(service, "go_version", fields_string(version)) < 0 ? err_nomem(err) : 0;
}

/* Of two items, or of an item and a plan's entry. */
static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    return x == y || json_equal(x, y);
}

bool manifest_same_item(const json_t *a, const json_t *b)
{
    return same_text(a, b, "kind") && same_text(a, b, "argument") && same_text(a, b, "pair");
}

/* The record that a loaded manifest has of that item; NULL: none. */
static json_t *find_known(const struct manifest *m, const json_t *list, const json_t *item)
{
    for (size_t i = 0; m->resumed && i < json_array_size(list); i++) {
        json_t *known = json_array_get(list, i);
        if (manifest_same_item(known, item))
            return known;
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
    return items_file(item, &file, err);
}

/* Has `paths` know the new record's file, and no more the one before. */
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
    const json_t *known = find_known(m, list, item);
    int rc = -1;
    if ((i->file && check_file(m, known, i->file, item, err) < 0) ||
        (i->go_version && service && note_go_version(service, i->go_version, err) < 0) ||
        note_path(m, known, i->file, err) < 0)
        goto out;
    if (place(list, known, json_incref(item)) < 0) {
        err_nomem(err);
        goto out;
    }
    rc = 0;
out:
    json_decref(item);
    return rc;
}

static void put_sync(struct fields *keys, const struct manifest_run *run)
{
    struct fields sync = fields_new();
    fields_time(&sync, "at", run->sync_at);
    fields_count(&sync, "targets", run->sync_targets);
    fields_count(&sync, "late", run->sync_late);
    if (run->has_sync_skew) {
        struct fields skew = fields_new();
        fields_number(&skew, "p50", run->sync_p50_ms);
        fields_number(&skew, "p95", run->sync_p95_ms);
        fields_number(&skew, "max", run->sync_max_ms);
        fields_nest(&sync, "skew_ms", &skew);
    }
    fields_nest(keys, "sync", &sync);
}

static void put_budget(struct fields *keys, const struct manifest_run *run)
{
    struct fields budget = fields_new();
    if (run->budget_bytes > 0)
        fields_count(&budget, "bytes", run->budget_bytes);
    if (run->budget_ms > 0)
        fields_number(&budget, "profiled_ms", run->budget_ms);
    fields_nest(keys, "budget", &budget);
}

int manifest_set_run(struct manifest *m, const struct manifest_run *run, struct err *err)
{
    struct fields keys = fields_new();
    if (run->retries > 0)
        fields_number(&keys, "retries", run->retries);
    if (run->deadline_ms > 0) {
        fields_number(&keys, "deadline_ms", run->deadline_ms);
        fields_put(&keys, "deadline_reached", json_boolean(run->deadline_reached));
    }
    if (run->budget_bytes > 0 || run->budget_ms > 0)
        put_budget(&keys, run);
    if (run->sync_at > 0)
        put_sync(&keys, run);
    else
        keep(&keys, "sync", m->run);
    json_t *made = fields_take(&keys);
    if (!made)
        return err_nomem(err);
    json_decref(m->run);
    m->run = made;
    return 0;
}

int manifest_set_summary(struct manifest *m, const struct manifest_sentence *sentences, size_t n,
                         struct err *err)
{
    struct fields all = fields_new();
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct fields sentence = fields_new();
        fields_put(&sentence, "rule", fields_string(sentences[i].rule));
        fields_put(&sentence, "text", fields_string(sentences[i].text));
        fields_text(&sentence, "file", sentences[i].file);
        fields_text(&sentence, "look", sentences[i].look);
        fields_append(&all, list, &sentence);
    }
    bool failed = all.failed || !list;
    json_decref(fields_take(&all));
    if (failed) {
        json_decref(list);
        return err_nomem(err);
    }
    json_decref(m->summary);
    m->summary = list;
    return 0;
}

int manifest_set_report(struct manifest *m, uint64_t bytes, const char *sha256, struct err *err)
{
    struct fields report = fields_new();
    fields_put(&report, "file", json_string(PATH_REPORT));
    fields_count(&report, "bytes", bytes);
    fields_put(&report, "sha256", json_string(sha256));
    json_t *made = fields_take(&report);
    if (!made)
        return err_nomem(err);
    json_decref(m->report);
    m->report = made;
    return 0;
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
    /* Without memory for a key jansson leaves it out of the copy. */
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

int manifest_save(const struct manifest *m, const struct workdir *w, struct err *err)
{
    int rc = -1;
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    char *path = file_join(workdir_path(w), PATH_MANIFEST);
    if (!path)
        err_nomem(err);
    else if (manifest_print(m, &text, err) == 0)
        rc = file_write(path, text.data, text.len, err);
    buf_release(&text);
    free(path);
    return rc;
}
