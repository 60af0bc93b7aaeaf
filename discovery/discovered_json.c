/*
 * Parses answers of Prometheus' API and of http_sd piece by piece (json_pick.h). In both formats labels may
 * follow the addresses, so the reader adds the targets of an element at the end of the element.
 *
 * Source: Prometheus, docs/querying/api.md (targets), docs/http_sd.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/discovered.h"
#include "discovery/json_pick.h"
#include "base/banned.h"

#define TEXT_MAX ((size_t)64 << 10) /* bytes of the longest string that json_pick.h reports */

struct discovered_reader {
    struct discovered *into;
    json_pick_fn *handle_value;
    void (*mask)(void *ctx, char *text); /* NULL: no text is masked */
    void *mask_ctx;
    struct buf masked; /* the current string, masked */
    struct json_pick *cut;
    bool has_list; /* the list of targets is complete */
    /* The current element. */
    char *job, *pool, *scheme;
    struct strlist addresses;
    struct strlist labels;
    struct name_map jobs; /* maps names to index plus one */
    char **names;         /* the keys of `jobs` */
    size_t n_names, cap_names;
};

enum { PROM_STATUS, PROM_ERROR, PROM_LIST, PROM_TARGET, PROM_POOL, PROM_URL, PROM_JOB, PROM_LABEL };
static const char *const prometheus_paths[] = {
    [PROM_STATUS] = "status",
    [PROM_ERROR] = "error",
    [PROM_LIST] = "data.activeTargets",
    [PROM_TARGET] = "data.activeTargets[]",
    [PROM_POOL] = "data.activeTargets[].scrapePool",
    [PROM_URL] = "data.activeTargets[].scrapeUrl",
    [PROM_JOB] = "data.activeTargets[].labels.job",
    [PROM_LABEL] = "data.activeTargets[].labels.*",
    NULL,
};

enum { SD_LIST, SD_GROUP, SD_TARGETS, SD_TARGET, SD_JOB, SD_SCHEME, SD_LABEL };
static const char *const sd_paths[] = {
    [SD_LIST] = "",
    [SD_GROUP] = "[]",
    [SD_TARGETS] = "[].targets",
    [SD_TARGET] = "[].targets[]",
    [SD_JOB] = "[].labels.job",
    [SD_SCHEME] = "[].labels.__scheme__",
    [SD_LABEL] = "[].labels.*",
    NULL,
};

static int set_text(char **text, const char *to, struct err *err)
{
    char *copy = strdup(to);
    if (!copy)
        return err_nomem(err);
    free(*text);
    *text = copy;
    return 0;
}

/* Finds the job of that name, or adds it. */
static int find_or_add_job(struct discovered_reader *r, const char *name, size_t *ret, struct err *err)
{
    uintptr_t index_plus_one = (uintptr_t)name_map_get(&r->jobs, name);
    if (index_plus_one) {
        *ret = index_plus_one - 1;
        return 0;
    }
    if (array_reserve((void **)&r->names, &r->cap_names, r->n_names + 1, sizeof *r->names, err) < 0)
        return -1;
    char *copy = strdup(name);
    if (!copy)
        return err_nomem(err);
    r->names[r->n_names++] = copy;
    if (discovered_add_job(r->into, name, ret, err) < 0)
        return -1;
    return name_map_add(&r->jobs, copy, (const void *)(uintptr_t)(*ret + 1), err);
}

/* Adds an address of the element. Checks the limit here, because one element can be as long as the answer. */
static int add_address(struct discovered_reader *r, const char *text, struct err *err)
{
    if (r->addresses.n == SOURCE_MAX_TARGETS)
        return err_set(err, ERR_LIMIT, "it has more than %d targets", SOURCE_MAX_TARGETS);
    return strlist_add(&r->addresses, text, err);
}

/* Adds a target for each address of the element. */
static int end_element(struct discovered_reader *r, struct err *err)
{
    size_t job = 0;
    const char *name = r->job ? r->job : r->pool ? r->pool : "";
    bool https = r->scheme && strcmp(r->scheme, "https") == 0;
    size_t before = r->into->n;
    int rc = r->addresses.n ? find_or_add_job(r, name, &job, err) : 0;
    for (size_t i = 0; rc == 0 && i < r->addresses.n; i++)
        rc = discovered_add_target(r->into, job, r->addresses.items[i], https, err);
    if (rc == 0)
        rc = discovered_set_labels(r->into, before, &r->labels, err);
    strlist_release(&r->addresses);
    strlist_release(&r->labels);
    free(r->job);
    free(r->pool);
    free(r->scheme);
    r->job = r->pool = r->scheme = NULL;
    return rc;
}

static int refuse_value(const char *name, const char *expected, struct err *err)
{
    return err_set(err, ERR_FAILED, "%s in it is not %s", name, expected);
}

/* Returns whether the value is null, which Go writes for a nil list. */
static bool is_null(enum json_pick_kind kind, const char *text)
{
    return kind == JSON_PICK_OTHER && strcmp(text, "null") == 0;
}

/* Adds a label that is not a job or a scheme. Masks its name too, because the source chooses the name. */
static int add_other_label(struct discovered_reader *r, enum json_pick_kind kind, const char *value,
                           struct err *err)
{
    if (kind != JSON_PICK_TEXT)
        return 0;
    char *name = strdup(json_pick_key(r->cut));
    if (!name)
        return err_nomem(err);
    if (r->mask)
        r->mask(r->mask_ctx, name);
    int rc = discovered_add_label(&r->labels, name, value, err);
    free(name);
    return rc;
}

static int on_prometheus_value(void *ctx, size_t path_index, enum json_pick_kind kind, const char *text,
                               struct err *err)
{
    struct discovered_reader *r = ctx;
    char shown[200];
    if (path_index == PROM_LIST) {
        r->has_list = kind == JSON_PICK_LIST || is_null(kind, text);
        return r->has_list ? 0 : refuse_value("activeTargets", "a list", err);
    }
    if (path_index == PROM_TARGET)
        return kind == JSON_PICK_MAP ? end_element(r, err) : refuse_value("a target", "a mapping", err);
    if (path_index == PROM_LABEL)
        return add_other_label(r, kind, text, err);
    if (kind != JSON_PICK_TEXT)
        return refuse_value(prometheus_paths[path_index], "text", err);
    switch (path_index) {
    case PROM_STATUS:
        return strcmp(text, "error") == 0 || strcmp(text, "success") == 0
                   ? 0
                   : refuse_value("status", "\"success\" or \"error\"", err);
    case PROM_ERROR:
        return err_set(err, ERR_FAILED, "it reports: %s",
                       text_printable(shown, sizeof shown, text, strlen(text)));
    case PROM_POOL:
        return set_text(&r->pool, text, err);
    case PROM_JOB:
        return set_text(&r->job, text, err);
    default:
        return add_address(r, text, err);
    }
}

static int on_sd_value(void *ctx, size_t path_index, enum json_pick_kind kind, const char *text,
                       struct err *err)
{
    struct discovered_reader *r = ctx;
    switch (path_index) {
    case SD_LIST:
        r->has_list = kind == JSON_PICK_LIST || is_null(kind, text);
        return r->has_list ? 0 : err_set(err, ERR_FAILED, "it is not a list of groups of targets");
    case SD_GROUP:
        return kind == JSON_PICK_MAP ? end_element(r, err)
                                     : refuse_value("a group of targets", "a mapping", err);
    case SD_TARGETS:
        return kind == JSON_PICK_LIST || is_null(kind, text) ? 0 : refuse_value("targets", "a list", err);
    default:
        break;
    }
    if (path_index == SD_LABEL)
        return add_other_label(r, kind, text, err);
    if (kind != JSON_PICK_TEXT)
        return refuse_value(path_index == SD_TARGET ? "a target" : "a label", "text", err);
    if (path_index == SD_TARGET)
        return add_address(r, text, err);
    return set_text(path_index == SD_JOB ? &r->job : &r->scheme, text, err);
}

static int on_value(void *ctx, size_t path_index, enum json_pick_kind kind, const char *text, struct err *err)
{
    struct discovered_reader *r = ctx;
    if (!r->mask || kind != JSON_PICK_TEXT)
        return r->handle_value(ctx, path_index, kind, text, err);
    buf_clear(&r->masked);
    buf_adds(&r->masked, text);
    if (buf_check(&r->masked, "a string in it", err) < 0)
        return -1;
    if (r->masked.data)
        r->mask(r->mask_ctx, r->masked.data);
    return r->handle_value(ctx, path_index, kind, buf_str(&r->masked), err);
}

int discovered_reader_new(enum source_kind kind, struct discovered *into, struct discovered_reader **ret,
                          struct err *err)
{
    bool prometheus = kind == SOURCE_PROMETHEUS;
    struct discovered_reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    r->into = into;
    r->handle_value = prometheus ? on_prometheus_value : on_sd_value;
    buf_init(&r->masked, TEXT_MAX);
    if (json_pick_new(prometheus ? prometheus_paths : sd_paths, on_value, r, &r->cut, err) < 0) {
        free(r);
        return -1;
    }
    *ret = r;
    return 0;
}

void discovered_reader_set_mask(struct discovered_reader *r, void (*mask)(void *ctx, char *text), void *ctx)
{
    r->mask = mask;
    r->mask_ctx = ctx;
}

int discovered_reader_feed(struct discovered_reader *r, const void *p, size_t n, struct err *err)
{
    return json_pick_feed(r->cut, p, n, err);
}

int discovered_reader_end(struct discovered_reader *r, struct err *err)
{
    if (json_pick_end(r->cut, err) < 0)
        return -1;
    return r->has_list ? 0 : err_set(err, ERR_FAILED, "there is no list of targets in it");
}

bool discovered_reader_is_malformed(const struct discovered_reader *r)
{
    return json_pick_is_malformed(r->cut);
}

void discovered_reader_free(struct discovered_reader *r)
{
    if (!r)
        return;
    json_pick_free(r->cut);
    buf_release(&r->masked);
    strlist_release(&r->addresses);
    strlist_release(&r->labels);
    free(r->job);
    free(r->pool);
    free(r->scheme);
    name_map_release(&r->jobs);
    for (size_t i = 0; i < r->n_names; i++)
        free(r->names[i]);
    free(r->names);
    free(r);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Adds the text as a JSON string. The text is printable, so only two characters need an escape. */
static void add_quoted(struct buf *to, const char *text)
{
    buf_addc(to, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_addc(to, '\\');
        buf_addc(to, *text);
    }
    buf_addc(to, '"');
}

static bool is_same_group(const struct discovered_target *a, const struct discovered_target *b)
{
    return a->job == b->job && a->https == b->https && a->label_set == b->label_set;
}

static void add_labels(struct buf *to, const struct discovered *found, const struct discovered_target *t)
{
    const struct strlist *set = t->label_set ? &found->label_sets[t->label_set - 1] : NULL;
    for (size_t i = 0; set && i < set->n; i++) {
        const char *value = strchr(set->items[i], '=');
        buf_addf(to, ",\"%.*s\":", (int)(value - set->items[i]), set->items[i]);
        add_quoted(to, value + 1);
    }
}

/* Writes a group for each run of targets with the same job, scheme and labels. */
int discovered_write(const struct discovered *found, struct buf *to, struct err *err)
{
    buf_addc(to, '[');
    for (size_t i = 0; i < found->n; i++) {
        const struct discovered_target *t = &found->targets[i];
        bool v6 = strchr(t->address, ':') != NULL;
        bool first = i == 0 || !is_same_group(&t[-1], t);
        bool last = i + 1 == found->n || !is_same_group(t, &t[1]);
        if (first)
            buf_adds(to, i ? ",\n{\"targets\":[" : "{\"targets\":[");
        buf_adds(to, first ? "\"" : ",\"");
        buf_adds(to, v6 ? "[" : "");
        buf_adds(to, t->address);
        buf_addf(to, "%s:%u\"", v6 ? "]" : "", t->port);
        if (!last)
            continue;
        buf_adds(to, "],\"labels\":{\"job\":");
        add_quoted(to, found->jobs[t->job].name);
        buf_addf(to, ",\"__scheme__\":\"%s\"", t->https ? "https" : "http");
        add_labels(to, found, t);
        buf_adds(to, "}}");
    }
    buf_adds(to, "]\n");
    return buf_check(to, "the answer", err);
}
