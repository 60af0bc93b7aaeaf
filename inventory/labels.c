/* Matches and lists the labels of hosts and discovered services, and selects hosts by labels. */
#include "inventory/labels.h"

#include <stdlib.h>
#include <string.h>

#include "inventory/schema.h"
#include "base/banned.h"

/* ---- matching ------------------------------------------------------------------------------------------ */

/* A label of the selection, NAME=VALUE: NAME ends at the first `=`. */
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

static bool is_named(const struct label *label, const struct requested_label *wanted)
{
    return strlen(label->name) == wanted->n_name && memcmp(label->name, wanted->text, wanted->n_name) == 0;
}

/* Checks whether a requested label has the name of `wanted` and this value. */
static bool is_requested(const struct strlist *requested, const struct requested_label *wanted,
                         const char *value)
{
    for (size_t i = 0; i < requested->n; i++) {
        const struct requested_label label = parse_label(requested->items[i]);
        if (label.n_name == wanted->n_name && memcmp(label.text, wanted->text, wanted->n_name) == 0 &&
            strcmp(label.value, value) == 0)
            return true;
    }
    return false;
}

bool label_is_requested(const struct strlist *requested, size_t i, struct str name, const char *value)
{
    const struct requested_label wanted = parse_label(requested->items[i]);
    return wanted.n_name == name.n && memcmp(wanted.text, name.p, name.n) == 0 &&
           is_requested(requested, &wanted, value);
}

/* Checks whether one of the labels has the name of `wanted` and a requested value. */
static bool has_label(const struct label *labels, size_t n, const struct requested_label *wanted,
                      const struct strlist *requested)
{
    for (size_t i = 0; i < n; i++)
        if (is_named(&labels[i], wanted) && is_requested(requested, wanted, labels[i].value))
            return true;
    return false;
}

bool labels_match(const struct host *host, const struct service *service, const struct strlist *requested)
{
    for (size_t i = 0; i < requested->n; i++) {
        const struct requested_label wanted = parse_label(requested->items[i]);
        if (!has_label(host->labels, host->n_labels, &wanted, requested) &&
            !(service && has_label(service->labels, service->n_labels, &wanted, requested)))
            return false;
    }
    return true;
}

/* Checks whether the labels of the host match, alone or together with those of one of its services. */
static bool host_matches(const struct scope *s, const struct host *host, const struct strlist *requested)
{
    const struct service *service;
    bool matches = labels_match(host, NULL, requested);
    for (size_t i = 0; !matches && (service = scope_service_at(s, host, i)); i++)
        matches = service->n_labels > 0 && labels_match(host, service, requested);
    return matches;
}

/* ---- all labels ---------------------------------------------------------------------------------------- */

/* Calls `visit` for every label of every host and of its discovered services, until `visit` returns nonzero.
 */
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
        for (size_t k = 0; rc == 0 && (service = scope_service_at(s, host, k)); k++)
            for (size_t j = 0; rc == 0 && j < service->n_labels; j++)
                rc = visit(ctx, &service->labels[j], err);
    }
    return rc;
}

/* The names of all labels, or all values of one name, each once. */
struct collection {
    const struct requested_label *values_of; /* NULL: collect names */
    struct name_map *into;
};

static int collect_label(void *ctx, const struct label *label, struct err *err)
{
    const struct collection *c = ctx;
    const char *text = c->values_of ? label->value : label->name;
    if ((c->values_of && !is_named(label, c->values_of)) || name_map_get(c->into, text))
        return 0;
    return name_map_add(c->into, text, label, err);
}

static int collect_labels(const struct scope *s, const struct requested_label *values_of,
                          struct name_map *into, struct err *err)
{
    return each_label(s, collect_label, &(struct collection){values_of, into}, err);
}

/* All labels as NAME=VALUE, each once. */
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
static int refuse_label(const struct scope *s, const struct requested_label *wanted, struct err *err)
{
    char shown[120];
    struct name_map values = {0}, names = {0};
    if (collect_labels(s, wanted, &values, err) < 0 || collect_labels(s, NULL, &names, err) < 0)
        goto out;
    const char *part = values.n ? wanted->value : wanted->text;
    text_printable(shown, sizeof shown, part, values.n ? strlen(part) : wanted->n_name);
    if (values.n)
        err_set(err, ERR_USAGE, "no host has the label %.*s with the value \"%s\"", (int)wanted->n_name,
                wanted->text, shown);
    else
        err_set(err, ERR_USAGE, "no host has a label \"%s\"", shown);
    schema_hint_nearest(values.n ? &values : &names, shown, "`profgrab hosts` shows the labels", err);
out:
    name_map_release(&values);
    name_map_release(&names);
    return -1;
}

/* For each_label: returns 1 if the label has the wanted name and value. */
static int is_wanted_label(void *ctx, const struct label *label, struct err *err)
{
    const struct requested_label *wanted = ctx;
    (void)err;
    return is_named(label, wanted) && strcmp(label->value, wanted->value) == 0;
}

int label_check(const char *text, struct err *err)
{
    const struct requested_label wanted = parse_label(text);
    char shown[120];
    return wanted.n_name && *wanted.value ? 0
                                          : err_set(err, ERR_USAGE, "a label must be NAME=VALUE, not \"%s\"",
                                                    text_printable(shown, sizeof shown, text, strlen(text)));
}

static int require_known_label(const struct scope *s, const char *text, struct err *err)
{
    struct requested_label wanted = parse_label(text);
    if (label_check(text, err) < 0)
        return -1;
    return each_label(s, is_wanted_label, &wanted, err) == 1 ? 0 : refuse_label(s, &wanted, err);
}

int labels_filter(const struct scope *s, const struct strlist *labels, struct host_list *hosts,
                  struct err *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < labels->n; i++)
        if (require_known_label(s, labels->items[i], err) < 0)
            return -1;
    for (size_t i = 0; i < hosts->n; i++)
        if (host_matches(s, hosts->items[i], labels))
            hosts->items[kept++] = hosts->items[i];
    if (hosts->n > 0 && kept == 0) {
        err_set(err, ERR_USAGE, "none of the %zu hosts has the requested labels", hosts->n);
        return err_hint(err,
                        "a host must have every requested name, with one of the values requested for it");
    }
    hosts->n = kept;
    return 0;
}
