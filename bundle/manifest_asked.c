/* The request of a run: the manifest's key `asked`. */
#include "bundle/manifest_inside.h"

#include <stdlib.h>

#include "bundle/fields.h"
#include "base/banned.h"

/* ---- written ------------------------------------------------------------------------------------------- */

static void put_texts(struct fields *r, const char *key, const struct strlist *texts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < texts->n; i++)
        if (json_array_append_new(list, fields_string(texts->items[i])) < 0)
            r->failed = true;
    fields_put(r, key, list);
}

static void put_targets(struct fields *r, const struct manifest_asked *asked)
{
    json_t *list = json_array();
    for (size_t i = 0; i < asked->n_targets; i++) {
        struct fields target = fields_new();
        fields_put(&target, "host", fields_string(asked->targets[i].host));
        fields_put(&target, "service", fields_string(asked->targets[i].service));
        fields_text(&target, "address", asked->targets[i].address);
        fields_append(r, list, &target);
    }
    fields_put(r, "targets", list);
}

static void put_sample(struct fields *r, const struct manifest_asked *asked)
{
    struct fields sample = fields_new();
    fields_count(&sample, "of", asked->sample_of);
    fields_count(&sample, "taken", asked->sample_taken);
    fields_nest(r, "sample", &sample);
}

int manifest_set_asked(struct manifest *m, const struct manifest_asked *asked, struct err *err)
{
    struct fields r = fields_new();
    put_texts(&r, "kinds", &asked->kinds);
    put_targets(&r, asked);
    if (asked->port)
        fields_number(&r, "port", asked->port);
    fields_text(&r, "unix", asked->unix_path);
    /* "" is the root, not the default path. */
    if (asked->path)
        fields_put(&r, "path", fields_string(asked->path));
    if (asked->https)
        fields_put(&r, "https", json_true());
    if (asked->against.n)
        put_texts(&r, "against", &asked->against);
    if (asked->pair_ms)
        fields_number(&r, "pair_ms", asked->pair_ms);
    if (asked->sample_of)
        put_sample(&r, asked);
    json_t *made = fields_take(&r);
    return !made || json_object_set_new(m->head, "asked", made) < 0 ? err_nomem(err) : 0;
}

/* ---- the order ----------------------------------------------------------------------------------------- */

/* Moves `value` to the end of the sorted part; `at` is the length of that part. */
static int move_to_sorted(json_t *list, json_t *value, size_t *at)
{
    size_t i = *at;
    while (i < json_array_size(list) && json_array_get(list, i) != value)
        i++;
    if (i == json_array_size(list))
        return 0;
    json_incref(value);
    int rc = json_array_remove(list, i);
    return json_array_insert_new(list, (*at)++, value) < 0 ? -1 : rc;
}

int manifest_order(struct manifest *m, struct err *err)
{
    json_t *target, *last = NULL;
    size_t i, hosts = 0, services = 0;
    json_array_foreach(json_object_get(json_object_get(m->head, "asked"), "targets"), i, target)
    {
        json_t *host = NULL, *service = NULL;
        if (manifest_find_host(m, json_string_value(json_object_get(target, "host")), &host, err) < 0)
            return -1;
        if (!host)
            continue;
        if (host != last)
            services = 0;
        if (host != last && move_to_sorted(m->hosts, host, &hosts) < 0)
            return err_nomem(err);
        last = host;
        if (manifest_find_service(host, json_string_value(json_object_get(target, "service")), &service,
                                  err) < 0)
            return -1;
        if (service && move_to_sorted(json_object_get(host, "services"), service, &services) < 0)
            return err_nomem(err);
    }
    return 0;
}

/* ---- read ---------------------------------------------------------------------------------------------- */

static const char *get_text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static int read_texts(const json_t *list, struct strlist *ret, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
        rc = strlist_add(ret, json_string_value(json_array_get(list, i)), err);
    return rc;
}

/* The set of the requested services of a host; creates it on first use. */
static json_t *services_asked(json_t *by_host, const char *host)
{
    json_t *known = json_object_get(by_host, host);
    if (known)
        return known;
    known = json_object();
    return json_object_set_new(by_host, host, known) < 0 ? NULL : known;
}

/* Checks that the targets are grouped by host and unique. */
static int check_targets(const json_t *list, struct err *err)
{
    json_t *by_host = json_object(), *last = NULL;
    int rc = by_host ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *host = get_text(one, "host"), *service = get_text(one, "service");
        json_t *known = json_object_get(by_host, host), *services = services_asked(by_host, host);
        if (!services)
            rc = err_nomem(err);
        else if (json_object_get(services, service))
            rc = err_set(err, ERR_FAILED, "%.100s: %.100s is asked for twice", host, service);
        else if (known && known != last)
            rc = err_set(err, ERR_FAILED, "%.100s is asked for again behind other hosts", host);
        else if (json_object_set_new(services, service, json_true()) < 0)
            rc = err_nomem(err);
        last = services;
    }
    json_decref(by_host);
    return rc;
}

static int read_targets(const json_t *list, struct manifest_asked *ret, struct err *err)
{
    size_t n = json_array_size(list);
    if (check_targets(list, err) < 0)
        return -1;
    ret->targets = calloc(n + 1, sizeof *ret->targets);
    if (!ret->targets)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        ret->targets[ret->n_targets++] = (struct manifest_target){.host = get_text(one, "host"),
                                                                  .service = get_text(one, "service"),
                                                                  .address = get_text(one, "address")};
    }
    return 0;
}

static int unknown_error(const struct manifest *m, struct err *err)
{
    if (json_array_size(m->files) > 0)
        return err_set(err, ERR_NOT_FOUND, "it is made of local files: nothing was asked of any host");
    err_set(err, ERR_NOT_FOUND, "it does not say what was asked for, so nobody knows what is missing");
    return err_hint(err, "it may come from an older profgrab: collect anew");
}

int manifest_get_asked(const struct manifest *m, struct manifest_asked *ret, struct err *err)
{
    const json_t *o = json_object_get(m->head, "asked");
    if (!o)
        return unknown_error(m, err);
    struct manifest_asked a = {
        .port = (unsigned)json_integer_value(json_object_get(o, "port")),
        .unix_path = get_text(o, "unix"),
        .path = get_text(o, "path"),
        .https = json_is_true(json_object_get(o, "https")),
        .pair_ms = json_integer_value(json_object_get(o, "pair_ms")),
    };
    if (read_texts(json_object_get(o, "kinds"), &a.kinds, err) < 0 ||
        read_texts(json_object_get(o, "against"), &a.against, err) < 0 ||
        read_targets(json_object_get(o, "targets"), &a, err) < 0) {
        manifest_asked_release(&a);
        return -1;
    }
    *ret = a;
    return 0;
}

void manifest_asked_release(struct manifest_asked *a)
{
    strlist_release(&a->kinds);
    strlist_release(&a->against);
    free(a->targets);
    *a = (struct manifest_asked){0};
}
