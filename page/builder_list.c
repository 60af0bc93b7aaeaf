/* What there is to draw, of all that a manifest names. */
#include "page/builder.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

const char *page_builder_text(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static bool is(const json_t *o, const char *key, const char *value)
{
    const char *s = page_builder_text(o, key);
    return s && strcmp(s, value) == 0;
}

/* Whether goroutines of the same service are there as a text, which says more than their profile. */
static bool has_text_of_goroutines(const json_t *items)
{
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *file = page_builder_text(item, "file");
        if (file && is(item, "kind", "goroutines") && is(item, "status", "ok") && text_ends_in(file, ".txt"))
            return true;
    }
    return false;
}

static void decide(struct page_file *f, const json_t *item, const json_t *beside)
{
    bool goroutines = is(item, "kind", "goroutines"), profile = json_object_get(item, "profile") != NULL;
    if (!is(item, "status", "ok")) {
        f->why = is(item, "status", "damaged") ? "it did not pass its checks" : "it is not whole";
        return;
    }
    if (profile)
        f->how = PAGE_AS_PROFILE | (goroutines && !has_text_of_goroutines(beside) ? PAGE_AS_DUMP : 0);
    else if (goroutines && text_ends_in(f->entry.file, ".txt"))
        f->how = PAGE_AS_DUMP;
    else if (is(item, "kind", "text")) {
        f->how = PAGE_AS_DUMP;
        f->unsure = true;
    }
}

/* "file-03 gitaly cpu"; of a local file its path. */
static char *title_of(const json_t *item, const char *host, const char *service)
{
    char *title = NULL;
    const char *argument = page_builder_text(item, "argument"), *kind = page_builder_text(item, "kind");
    if (!host)
        return strdup(page_builder_text(item, "file"));
    bool later = json_integer_value(json_object_get(item, "pair")) == 2;
    if (asprintf(&title, "%s %s %s%s%s%s", host, service ? service : "", kind ? kind : "",
                 argument ? "=" : "", argument ? argument : "", later ? ", later" : "") < 0)
        return NULL;
    return title;
}

static int add_file(struct page_builder *d, const json_t *item, const json_t *beside,
                    const struct page_file *of, struct err *err)
{
    const char *host = of->entry.host, *service = of->entry.service;
    struct page_file f = *of;
    f.entry.file = page_builder_text(item, "file");
    f.entry.kind = page_builder_text(item, "kind");
    f.argument = page_builder_text(item, "argument");
    f.pair = (int)json_integer_value(json_object_get(item, "pair"));
    if (!f.entry.file || is(item, "kind", "trace"))
        return 0;
    decide(&f, item, beside);
    if (!f.how && !f.why)
        return 0;
    if (array_reserve((void **)&d->files, &d->cap, d->n + 1, sizeof *d->files, err) < 0)
        return -1;
    f.entry.title = f.title = title_of(item, host, service);
    if (!f.title || json_object_set_new(d->by_path, f.entry.file, json_integer((json_int_t)d->n)) < 0) {
        free(f.title);
        return err_nomem(err);
    }
    d->files[d->n++] = f;
    return 0;
}

/* `of`: what they have in common. */
static int add_files(struct page_builder *d, const json_t *items, const struct page_file *of, struct err *err)
{
    for (size_t i = 0; i < json_array_size(items); i++)
        if (add_file(d, json_array_get(items, i), items, of, err) < 0)
            return -1;
    return 0;
}

int page_builder_list(struct page_builder *d, struct err *err)
{
    const json_t *hosts = json_object_get(d->root, "hosts");
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i), *services = json_object_get(host, "services");
        for (size_t k = 0; k < json_array_size(services); k++) {
            const json_t *service = json_array_get(services, k);
            struct page_file of = {.entry = {.host = page_builder_text(host, "name"),
                                             .service = page_builder_text(service, "name")},
                                   .against = json_is_true(json_object_get(host, "against"))};
            if (add_files(d, json_object_get(service, "items"), &of, err) < 0)
                return -1;
        }
    }
    return add_files(d, json_object_get(d->root, "files"), &(struct page_file){0}, err);
}
