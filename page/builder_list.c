/* Chooses the files of a manifest that the page draws, and how. */
#include "page/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static bool is_kind(const struct manifest_item *item, const char *kind)
{
    return item->kind && strcmp(item->kind, kind) == 0;
}

/* The items of one service, with its host and name; or the manifest's local files (`files`), where host and
 * service are NULL. */
struct item_list {
    const struct manifest_item *items;
    size_t n;
    const char *host, *service;
    bool is_baseline;
    bool has_goroutine_text; /* add_files sets it: has_goroutine_text(list) */
};

/* Returns whether the list has the goroutines as a text, which has more detail than their profile. */
static bool has_goroutine_text(const struct item_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct manifest_item *item = &list->items[i];
        if (item->file && is_kind(item, "goroutines") && item->status == MANIFEST_OK &&
            text_ends_in(item->file, ".txt"))
            return true;
    }
    return false;
}

static void choose_form(struct page_file *file, const struct manifest_item *item,
                        const struct item_list *list)
{
    bool is_goroutines = is_kind(item, "goroutines");
    if (item->status != MANIFEST_OK) {
        file->why =
            item->status == MANIFEST_DAMAGED ? "it did not pass its checks" : "it was not fetched completely";
        return;
    }
    if (item->has_profile)
        file->draw_as = PAGE_AS_PROFILE | (is_goroutines && !list->has_goroutine_text ? PAGE_AS_DUMP : 0);
    else if (is_goroutines && text_ends_in(item->file, ".txt"))
        file->draw_as = PAGE_AS_DUMP;
    else if (is_kind(item, "text")) {
        file->draw_as = PAGE_AS_DUMP;
        file->is_unknown_type = true;
    }
}

/* Returns a title such as "file-03 gitaly cpu", or the path of a local file, as a new string. */
static char *make_title(const struct manifest_item *item, const char *host, const char *service)
{
    char *title = NULL;
    const char *argument = item->argument;
    if (!host)
        return strdup(item->file);
    if (asprintf(&title, "%s %s %s%s%s%s", host, service ? service : "", item->kind ? item->kind : "",
                 argument ? "=" : "", argument ? argument : "", item->pair == 2 ? ", later" : "") < 0)
        return NULL;
    return title;
}

static int add_file(struct page_builder *builder, const struct manifest_item *item,
                    const struct item_list *list, struct err *err)
{
    struct page_file f = {
        .entry = {.host = list->host, .service = list->service, .file = item->file, .kind = item->kind},
        .is_baseline = list->is_baseline,
        .argument = item->argument,
        .pair = (int)item->pair};
    if (!item->file || is_kind(item, "trace"))
        return 0;
    choose_form(&f, item, list);
    if (!f.draw_as && !f.why)
        return 0;
    if (array_reserve((void **)&builder->files, &builder->cap, builder->n + 1, sizeof *builder->files, err) <
        0)
        return -1;
    f.entry.title = f.title = make_title(item, list->host, list->service);
    if (!f.title)
        return err_nomem(err);
    builder->files[builder->n++] = f;
    return 0;
}

static int add_files(struct page_builder *builder, struct item_list *list, struct err *err)
{
    list->has_goroutine_text = has_goroutine_text(list);
    for (size_t i = 0; i < list->n; i++)
        if (add_file(builder, &list->items[i], list, err) < 0)
            return -1;
    return 0;
}

static int map_paths(struct page_builder *builder, struct err *err)
{
    for (size_t i = 0; i < builder->n; i++)
        if (name_map_set(&builder->by_path, builder->files[i].entry.file, &builder->files[i], err) < 0)
            return -1;
    return 0;
}

int page_builder_list(struct page_builder *builder, struct err *err)
{
    const struct manifest *m = builder->manifest;
    if (!m)
        return 0;
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++) {
            const struct manifest_service *service = &m->hosts[i].services[k];
            struct item_list list = {.items = service->items,
                                     .n = service->n_items,
                                     .host = m->hosts[i].name,
                                     .service = service->name,
                                     .is_baseline = m->hosts[i].is_baseline};
            if (add_files(builder, &list, err) < 0)
                return -1;
        }
    struct item_list local = {.items = m->files, .n = m->n_files};
    return add_files(builder, &local, err) < 0 ? -1 : map_paths(builder, err);
}
