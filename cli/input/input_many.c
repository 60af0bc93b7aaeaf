/*
 * Reads several inputs at the same time. Two threads share a queue of files. The caller's thread first reads
 * standard input and members of bundles, in their order.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/input/input.h"
#include "base/banned.h"

/* The least bytes of files that justify a second thread. */
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
    if (confined_budget_check(budget, item->name, &item->err) == 0)
        input_profile(item->name, keys, &item->profile, &item->err);
}

/* Reads files until the queue is empty. */
static void *read_files(void *ctx)
{
    struct queue *q = ctx;
    for (size_t at; (at = atomic_fetch_add(&q->next, 1)) < q->n;)
        if (q->items[at].is_file)
            read_item(&q->items[at], NULL, q->budget);
    return NULL;
}

/* Marks the inputs that are files. Returns their total size without the largest one. */
static uint64_t mark_files(struct input_item *items, size_t n)
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
    /* Without the second thread, reading is only slower. */
    bool helped = mark_files(items, n) >= WORTH_IT && thread_has_second_processor() &&
                  thread_start(&thread, read_files, &q, &unused) == 0;
    read_others(items, n, keys, budget);
    read_files(&q);
    if (helped)
        pthread_join(thread, NULL);
}
