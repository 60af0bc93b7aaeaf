/* Records of hosts and services, and the parts of an earlier record that stay. */
#include "bundle/manifest_inside.h"

#include "bundle/fields.h"
#include "base/banned.h"

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

/* Keeps the services of the earlier record, because each has its own record. */
static json_t *keep_services(const json_t *known)
{
    return known ? json_incref(json_object_get(known, "services")) : json_array();
}

/* Whether one of the first n findings is of that rule. */
static bool has_rule(const json_t *list, size_t n, const json_t *rule)
{
    bool found = false;
    for (size_t i = 0; i < n && !found; i++)
        found = json_equal(json_object_get(json_array_get(list, i), "rule"), rule);
    return found;
}

/* Keeps findings of the record before if their rules have none in the new record. */
static void keep_verdicts(struct fields *r, const json_t *before)
{
    json_t *old = json_object_get(before, "verdicts"), *made = json_object_get(r->o, "verdicts");
    size_t n = json_array_size(made);
    if (!made)
        fields_keep(r, "verdicts", before);
    for (size_t i = 0; made && i < json_array_size(old); i++) {
        json_t *one = json_array_get(old, i);
        if (!has_rule(made, n, json_object_get(one, "rule")) && json_array_append(made, one) < 0)
            r->failed = true;
    }
}

/* The record of a host. An unreachable host keeps its earlier route, because its files were fetched over that
 * route, and its findings on several hosts, because resuming one host does not compute them. */
static json_t *host_json(const struct manifest_host *h, const json_t *known)
{
    const json_t *before = h->error ? known : NULL;
    struct fields r = fields_new();
    fields_put(&r, "name", fields_string(h->name));
    fields_text(&r, "address", h->address);
    fields_keep(&r, "address", before);
    fields_text(&r, "route", h->route);
    fields_keep(&r, "route", before);
    if (h->against)
        fields_put(&r, "against", json_true());
    fields_keep(&r, "against", before);
    put_hops(&r, h->hops, h->n_hops);
    fields_keep(&r, "hops", before);
    fields_text(&r, "error", h->error);
    put_verdicts(&r, h->verdicts, h->n_verdicts);
    keep_verdicts(&r, known);
    fields_put(&r, "services", keep_services(known));
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
    if (!name || json_object_set(m->by_name, name, host) < 0 ||
        manifest_place(m->hosts, known, json_incref(host)) < 0)
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

/* The items to keep when a service is planned again: drops those without a file that are no longer
 * planned. */
static json_t *keep_items(const json_t *known, const json_t *planned)
{
    json_t *kept = json_array(), *items = json_object_get(known, "items");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        if (!planned || json_object_get(item, "file") || manifest_find_item(planned, item, NULL))
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

/* The record of a service. A service that does not answer now keeps its plan, which shows its missing items.
 */
static json_t *service_json(const struct manifest_service *s, const json_t *known)
{
    const json_t *before = s->error ? known : NULL;
    struct fields r = fields_new();
    fields_put(&r, "name", fields_string(s->name));
    fields_text(&r, "url", s->url);
    fields_keep(&r, "url", before);
    put_offers(&r, s->offers, s->n_offers);
    fields_keep(&r, "offers", before);
    if (s->has_clock_skew)
        fields_number(&r, "clock_skew_ms", s->clock_skew_ms);
    fields_keep(&r, "clock_skew_ms", before);
    fields_keep(&r, "go_version", known);
    put_planned(&r, s);
    fields_keep(&r, "planned", before);
    fields_keep(&r, "estimate", before);
    fields_text(&r, "error", s->error);
    put_verdicts(&r, s->verdicts, s->n_verdicts);
    keep_verdicts(&r, before);
    fields_put(&r, "items", keep_items(known, before ? NULL : json_object_get(r.o, "planned")));
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
    if (manifest_place(json_object_get(host, "services"), known, service_json(s, known)) < 0)
        return err_nomem(err);
    return 0;
}
