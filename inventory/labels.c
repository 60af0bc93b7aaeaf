/* Matches and lists the labels of hosts and discovered services, and selects hosts by labels. */
#include "inventory/labels.h"

#include <stdlib.h>
#include <string.h>

#include "inventory/schema.h"
#include "base/banned.h"

/* ---- matching ------------------------------------------------------------------------------------------ */

/* One of selection.labels: NAME is before the first `=`. */
struct requested_label {
    const char *text;
    size_t n_name;
    const char *value;
};

static struct requested_label parse_label(const char *text)
{
    size_t n = strcspn(text, "=");
    return (struct requested_label){text, n, text[n] ? text + n + 1 : ""};
}

static bool is_named(const struct label *label, const struct requested_label *w)
{
    return strlen(label->name) == w->n_name && memcmp(label->name, w->text, w->n_name) == 0;
}

/* Checks whether the selection requests the value for the name of `w`. */
static bool is_requested(const struct strlist *requested, const struct requested_label *w, const char *value)
{
    for (size_t i = 0; i < requested->n; i++) {
        const struct requested_label a = parse_label(requested->items[i]);
        if (a.n_name == w->n_name && memcmp(a.text, w->text, w->n_name) == 0 && strcmp(a.value, value) == 0)
            return true;
    }
    return false;
}

bool label_is_requested(const struct strlist *requested, size_t i, struct str name, const char *value)
{
    const struct requested_label w = parse_label(requested->items[i]);
    return w.n_name == name.n && memcmp(w.text, name.p, name.n) == 0 && is_requested(requested, &w, value);
}

/* Checks whether one of the labels has the name of `w` and a requested value. */
static bool has_label(const struct label *labels, size_t n, const struct requested_label *w,
                      const struct strlist *requested)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(&labels[i], w) && is_requested(requested, w, labels[i].value))
            return true;
    return false;
}

bool labels_match(const struct host *host, const struct service *service, const struct strlist *requested)
{
    for (size_t i = 0; i < requested->n; i++) {
        const struct requested_label w = parse_label(requested->items[i]);
        if (!has_label(host->labels, host->n_labels, &w, requested) &&
            !(service && has_label(service->labels, service->n_labels, &w, requested)))
            return false;
    }
    return true;
}

/* Checks whether the labels of the host match, alone or together with those of one of its services. */
static bool is_labelled(const struct scope *s, const struct host *host, const struct strlist *requested)
{
    const struct service *service;
    bool is = labels_match(host, NULL, requested);
    for (size_t i = 0; !is && (service = scope_service(s, host, i)); i++)
        is = service->n_labels > 0 && labels_match(host, service, requested);
    return is;
}

/* ---- all labels ---------------------------------------------------------------------------------------- */

/* Calls `visit` for every label of every host and of its discovered services, until it returns nonzero. */
static int each_label(const struct scope *s,
                      int (*visit)(void *ctx, const struct label *label, struct err *err), void *ctx,
                      struct err *err)
{
    const struct host *host;
    const struct service *service;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (host = scope_host_at(s, i)); i++) {
        for (size_t j = 0; rc == 0 && j < host->n_labels; j++)
            rc = visit(ctx, &host->labels[j], err);
        for (size_t k = 0; rc == 0 && (service = scope_service(s, host, k)); k++)
            for (size_t j = 0; rc == 0 && j < service->n_labels; j++)
                rc = visit(ctx, &service->labels[j], err);
    }
    return rc;
}

/* Collects the names of all labels, or the values of one name, each once. */
struct collection {
    const struct requested_label *values_of; /* NULL: collect names */
    struct name_map *into;
};

static int collect_label(void *ctx, const struct label *label, struct err *err)
{
    const struct collection *g = ctx;
    const char *text = g->values_of ? label->value : label->name;
    if ((g->values_of && !is_named(label, g->values_of)) || name_map_get(g->into, text))
        return 0;
    return name_map_add(g->into, text, label, err);
}

static int collect_labels(const struct scope *s, const struct requested_label *values_of,
                          struct name_map *into, struct err *err)
{
    return each_label(s, collect_label, &(struct collection){values_of, into}, err);
}

struct listing {
    struct strlist *list;
    struct name_map seen;
};

static int add_once(void *ctx, const struct label *label, struct err *err)
{
    struct listing *l = ctx;
    struct buf text = BUF_INIT(1u << 16);
    int rc = 0;
    buf_addf(&text, "%s=%s", label->name, label->value);
    if (!name_map_get(&l->seen, buf_str(&text)) && (rc = strlist_add(l->list, buf_str(&text), err)) == 0)
        rc = name_map_add(&l->seen, l->list->items[l->list->n - 1], label, err);
    buf_release(&text);
    return rc;
}

int inventory_labels(const struct inventory *inv, struct strlist *ret, struct err *err)
{
    struct listing l = {.list = ret};
    int rc = each_label(&(struct scope){.inv = inv}, add_once, &l, err);
    name_map_release(&l.seen);
    return rc;
}

/* Sets the error of a label that no host has: an unknown name, or an unknown value of a known name. The hint
 * has the nearest known names or values. */
static int refuse_label(const struct scope *s, const struct requested_label *w, struct err *err)
{
    char shown[120];
    struct name_map values = {0}, names = {0};
    if (collect_labels(s, w, &values, err) < 0 || collect_labels(s, NULL, &names, err) < 0)
        goto out;
    const char *part = values.n ? w->value : w->text;
    text_printable(shown, sizeof shown, part, values.n ? strlen(part) : w->n_name);
    if (values.n)
        err_set(err, ERR_USAGE, "no host has the label %.*s with the value \"%s\"", (int)w->n_name, w->text,
                shown);
    else
        err_set(err, ERR_USAGE, "no host has a label \"%s\"", shown);
    schema_hint_nearest(values.n ? &values : &names, shown, "`profgrab hosts` shows the labels", err);
out:
    name_map_release(&values);
    name_map_release(&names);
    return -1;
}

/* Returns 1 for the requested label. */
static int is_label(void *ctx, const struct label *label, struct err *err)
{
    const struct requested_label *w = ctx;
    (void)err;
    return is_named(label, w) && strcmp(label->value, w->value) == 0;
}

int label_check(const char *text, struct err *err)
{
    const struct requested_label w = parse_label(text);
    char shown[120];
    return w.n_name && *w.value ? 0
                                : err_set(err, ERR_USAGE, "a label must be NAME=VALUE, not \"%s\"",
                                          text_printable(shown, sizeof shown, text, strlen(text)));
}

static int check_label(const struct scope *s, const char *text, struct err *err)
{
    struct requested_label w = parse_label(text);
    if (label_check(text, err) < 0)
        return -1;
    return each_label(s, is_label, &w, err) == 1 ? 0 : refuse_label(s, &w, err);
}

int labels_filter(const struct scope *s, const struct strlist *labels, struct host_list *hosts,
                  struct err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < labels->n; i++)
        if (check_label(s, labels->items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < hosts->n; i++)
        if (is_labelled(s, hosts->items[i], labels))
            hosts->items[kept++] = hosts->items[i];
    if (hosts->n > 0 && kept == 0) {
        err_set(err, ERR_USAGE, "none of the %zu hosts has the requested labels", hosts->n);
        return err_hint(err,
                        "a host must have every requested name, with one of the values requested for it");
    }
    hosts->n = kept;
    return 0;
}
