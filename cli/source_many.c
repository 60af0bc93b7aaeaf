/*
 * Several sources, read side by side. Files are taken up one after the other by two threads, each the next
 * that nobody has taken; standard input and members of bundles are the caller's, in their order.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/confined.h"
#include "cli/source.h"
#include "cli/whole.h"
#include "base/banned.h"

/* Bytes of files that are worth a thread. */
enum { WORTH_IT = 256 << 10 };

struct queue {
    struct source_item *items;
    size_t n;
    const struct confined_budget *budget;
    atomic_size_t next;
};

static void read_item(struct source_item *item, struct source_keys *keys,
                      const struct confined_budget *budget)
{
    item->err = (struct err)ERR_INIT;
    item->profile = NULL;
    if (confined_check(budget, item->name, &item->err) == 0)
        source_profile(item->name, keys, &item->profile, &item->err);
}

/* Files, until there are no more. */
static void *read_files(void *ctx)
{
    struct queue *q = ctx;
    for (size_t at; (at = atomic_fetch_add(&q->next, 1)) < q->n;)
        if (q->items[at].is_file)
            read_item(&q->items[at], NULL, q->budget);
    return NULL;
}

/* Finds out which are files. Returns how large they are together, but for the largest of them. */
static uint64_t look(struct source_item *items, size_t n)
{
    uint64_t all = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        items[i].is_file =
            !source_is_input(items[i].name) && stat(items[i].name, &st) == 0 && S_ISREG(st.st_mode);
        uint64_t size = items[i].is_file ? (uint64_t)st.st_size : 0;
        all += size;
        largest = size > largest ? size : largest;
    }
    return all - largest;
}

/* ---- members of a bundle, in one pass -------------------------------------------------------------------
 */

struct pass {
    struct source_item *items; /* those of one bundle */
    size_t n, unread;
    uint64_t most; /* bytes of a member */
    const struct confined_budget *budget;
};

static struct source_item *item_of(const struct pass *p, const char *member)
{
    for (size_t i = 0; i < p->n; i++) {
        const char *of = NULL;
        if (!p->items[i].is_read && text_ends_in(p->items[i].name, member) &&
            (of = p->items[i].name + strlen(p->items[i].name) - strlen(member)) > p->items[i].name &&
            of[-1] == ':')
            return &p->items[i];
    }
    return NULL;
}

static bool wants(void *ctx, const struct bundle_member *member)
{
    const struct pass *p = ctx;
    return member->size <= p->most && item_of(p, member->path);
}

static int take(void *ctx, const struct bundle_member *member, struct buf *bytes, struct err *err)
{
    struct pass *p = ctx;
    struct source_item *item = item_of(p, member->path);
    if (confined_check(p->budget, item->name, err) < 0)
        return -1;
    bytes->max = p->most;
    item->is_read = true;
    source_parse(bytes, item->name, &item->profile, &item->err);
    return --p->unread > 0 ? 0 : err_set(err, ERR_FAILED, "enough");
}

/* Where a bundle has several of the items from the first one on, reads those, as far as that succeeds.
 * Returns how many items there are of that bundle. */
static size_t read_members(struct source_item *items, size_t n, struct source_keys *keys,
                           const struct confined_budget *budget)
{
    struct err why = ERR_INIT;
    const char *member = NULL;
    char *bundle = file_exists(items->name) ? NULL : source_bundle_of(items->name, &member);
    size_t of = bundle ? strlen(bundle) + 1 : 0, same = 1;
    while (bundle && same < n && !items[same].is_file && strncmp(items[same].name, items->name, of) == 0)
        same++;
    struct pass p = {.items = items, .n = same, .unread = same, .budget = budget};
    const struct whole *whole = same > 1 && source_most(&p.most, &why) == 0 ? whole_get(&why) : NULL;
    if (whole)
        (void)!whole->source_visit(bundle, keys, wants, take, &p, &why);
    free(bundle);
    return same;
}

/* Those that are no files. A member that the pass over its bundle has not read is read by itself, which says
 * why it cannot be. */
static void read_others(struct source_item *items, size_t n, struct source_keys *keys,
                        const struct confined_budget *budget)
{
    /* The items that are files may be the other thread's by now. */
    for (size_t i = 0; i < n; i++)
        if (!items[i].is_file) {
            items[i].err = (struct err)ERR_INIT;
            items[i].profile = NULL;
            items[i].is_read = false;
        }
    for (size_t i = 0; i < n;)
        i += items[i].is_file ? 1 : read_members(items + i, n - i, keys, budget);
    for (size_t i = 0; i < n; i++)
        if (!items[i].is_file && !items[i].is_read)
            read_item(&items[i], keys, budget);
}

void source_profiles(struct source_item *items, size_t n, struct source_keys *keys,
                     const struct confined_budget *budget)
{
    struct queue q = {.items = items, .n = n, .budget = budget};
    struct err unused = ERR_INIT;
    pthread_t thread;
    /* Without the thread it takes longer, and no more. */
    bool helped =
        look(items, n) >= WORTH_IT && thread_pays() && thread_start(&thread, read_files, &q, &unused) == 0;
    read_others(items, n, keys, budget);
    read_files(&q);
    if (helped)
        pthread_join(thread, NULL);
}
