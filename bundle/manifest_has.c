/* Which requested items were collected intact. */
#include "bundle/manifest_inside.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/fields.h"
#include "base/banned.h"

static bool is_good(const json_t *item)
{
    const char *status = json_string_value(json_object_get(item, "status"));
    return status && strcmp(status, "ok") == 0 && json_object_get(item, "file");
}

static const json_t *find_service(const struct manifest *m, const char *host, const char *service)
{
    json_t *h = NULL, *s = NULL;
    if (manifest_find_host(m, host, &h, NULL) < 0 || manifest_find_service(h, service, &s, NULL) < 0)
        return NULL;
    return s;
}

static bool has_file(const json_t *item)
{
    return json_object_get(item, "file") != NULL;
}

/* Returns the intact item that is like `like`; NULL: none. */
static const json_t *find_good(const json_t *service, const json_t *like)
{
    return manifest_find_item(json_object_get(service, "items"), like, is_good);
}

static int64_t get_started(const json_t *item)
{
    const char *text = json_string_value(json_object_get(item, "started"));
    int64_t started = 0;
    return text && clock_parse(text, &started) == 0 && started > 0 ? started : 0;
}

bool manifest_has(const struct manifest *m, const struct manifest_wanted *w, int64_t *ret_started)
{
    struct fields f = fields_new();
    fields_put(&f, "kind", fields_string(w->kind));
    fields_text(&f, "argument", w->argument);
    if (w->pair)
        fields_number(&f, "pair", w->pair);
    json_t *like = fields_take(&f), *h = NULL, *s = NULL;
    if (like && manifest_find_host(m, w->host, &h, NULL) == 0)
        manifest_find_service(h, w->service, &s, NULL);
    const json_t *found = like ? find_good(s, like) : NULL;
    json_decref(like);
    if (ret_started)
        *ret_started = get_started(found);
    return found != NULL;
}

static bool has_planned(const json_t *service)
{
    const json_t *planned = json_object_get(service, "planned");
    bool all = planned != NULL;
    for (size_t i = 0; all && i < json_array_size(planned); i++)
        all = find_good(service, json_array_get(planned, i)) != NULL;
    return all;
}

bool manifest_has_all(const struct manifest *m, const char *host, const char *service)
{
    return has_planned(find_service(m, host, service));
}

static const char *get_text_at(const json_t *list, size_t i, const char *key)
{
    const char *text = json_string_value(json_object_get(json_array_get(list, i), key));
    return text ? text : "";
}

int manifest_forget_errors(struct manifest *m, struct err *err)
{
    const json_t *targets = json_object_get(json_object_get(m->head, "asked"), "targets");
    bool all = true;
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *name = get_text_at(targets, i, "host");
        json_t *host = json_object_get(m->by_name, name), *service = NULL;
        if (manifest_find_service(host, get_text_at(targets, i, "service"), &service, err) < 0)
            return -1;
        if (has_planned(service))
            json_object_del(service, "error");
        else
            all = false;
        if (strcmp(name, get_text_at(targets, i + 1, "host")) == 0)
            continue;
        if (all)
            json_object_del(host, "error");
        all = true;
    }
    return 0;
}

int manifest_unrecorded(const struct manifest *m, const char *host, const char *service,
                        struct manifest_planned **ret, size_t *ret_n, struct err *err)
{
    const json_t *s = find_service(m, host, service), *planned = json_object_get(s, "planned");
    struct manifest_planned *all = calloc(json_array_size(planned) + 1, sizeof *all);
    size_t n = 0;
    if (!all)
        return err_nomem(err);
    for (size_t i = 0; i < json_array_size(planned); i++) {
        const json_t *one = json_array_get(planned, i);
        if (!manifest_find_item(json_object_get(s, "items"), one, has_file))
            all[n++] =
                (struct manifest_planned){.kind = json_string_value(json_object_get(one, "kind")),
                                          .argument = json_string_value(json_object_get(one, "argument")),
                                          .pair = (unsigned)json_integer_value(json_object_get(one, "pair"))};
    }
    *ret = all;
    *ret_n = n;
    return 0;
}

static size_t count_good(const json_t *items)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(items); i++)
        n += is_good(json_array_get(items, i));
    return n;
}

size_t manifest_n_whole(const struct manifest *m)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(m->hosts); i++) {
        const json_t *services = json_object_get(json_array_get(m->hosts, i), "services");
        for (size_t k = 0; k < json_array_size(services); k++)
            n += count_good(json_object_get(json_array_get(services, k), "items"));
    }
    return n;
}

size_t manifest_n_files(const struct manifest *m)
{
    return json_object_size(m->paths);
}

static uint64_t sum_bytes(const json_t *items)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_int_t bytes = json_integer_value(json_object_get(json_array_get(items, i), "bytes"));
        sum += bytes > 0 ? (uint64_t)bytes : 0;
    }
    return sum;
}

uint64_t manifest_n_bytes(const struct manifest *m)
{
    uint64_t sum = sum_bytes(m->files);
    for (size_t i = 0; i < json_array_size(m->hosts); i++) {
        const json_t *services = json_object_get(json_array_get(m->hosts, i), "services");
        for (size_t k = 0; k < json_array_size(services); k++)
            sum += sum_bytes(json_object_get(json_array_get(services, k), "items"));
    }
    return sum;
}
