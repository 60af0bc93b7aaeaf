/*
 * Several sources, read side by side. Files are taken up one after the other by two threads, each the next
 * that nobody has taken; standard input and members of bundles are the caller's, in their order.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/input/input.h"
#include "base/banned.h"

/* Bytes of files that are worth a thread. */
enum { WORTH_IT = 256 << 10 };

struct queue {
    struct input_item *items;
    size_t n;
    const struct confined_budget *budget;
    atomic_size_t next;
};

static void read_item(struct input_item *item, struct input_keys *keys, const struct confined_budget *budget)
{
    item->err = (struct err)ERR_INIT;
    item->profile = NULL;
    if (confined_check(budget, item->name, &item->err) == 0)
        input_profile(item->name, keys, &item->profile, &item->err);
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
static uint64_t look(struct input_item *items, size_t n)
{
    uint64_t all = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        items[i].is_file =
            !input_is_stdin(items[i].name) && stat(items[i].name, &st) == 0 && S_ISREG(st.st_mode);
        uint64_t size = items[i].is_file ? (uint64_t)st.st_size : 0;
        all += size;
        largest = size > largest ? size : largest;
    }
    return all - largest;
}

static void read_others(struct input_item *items, size_t n, struct input_keys *keys,
                        const struct confined_budget *budget)
{
    for (size_t i = 0; i < n; i++)
        if (!items[i].is_file)
            read_item(&items[i], keys, budget);
}

void input_profiles(struct input_item *items, size_t n, struct input_keys *keys,
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
