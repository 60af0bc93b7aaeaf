#include "cli/capture/outcome_table.h"

#include <stdint.h>
#include <string.h>

#include "cli/term/columns.h"
#include "cli/term/rows.h"
#include "base/banned.h"

/* The maximum number of complete targets that have a row each. If there are more, one row has their sums, so
 * that the failures stay on the screen. */
#define LISTED_MAX 20

static const char *describe_size(char *dst, size_t cap, uint64_t bytes)
{
    return bytes ? text_bytes(dst, cap, bytes) : "-";
}

static void add_target(struct rows *table, const struct outcome *t)
{
    const struct host *host = t->target->host;
    char name[600], items[60] = "-", size[32], duration[32] = "-", why[760];
    /* A host that could not be opened has one row for all of its services. */
    snprintf(name, sizeof name, "%s%s%s", host->name, t->host_failed ? "" : ": ",
             t->host_failed ? "" : t->target->service->name);
    if (t->planned)
        snprintf(items, sizeof items, "%zu/%zu", t->n_collected, t->n_to_fetch);
    if (t->began)
        text_duration(duration, sizeof duration, outcome_duration(t));
    /* `is_wrong_request`: the request itself is wrong. A message above the table explains this once for all
     * targets. */
    snprintf(why, sizeof why, "%s", t->is_wrong_request ? "nothing was fetched: see above" : t->why);
    if (!*why && !outcome_is_complete(t))
        snprintf(why, sizeof why, "%s", t->began ? "not finished" : "not begun");
    if (t->failures > 1 && t->planned)
        snprintf(why, sizeof why, "%s (and %zu more)", t->why, t->failures - 1);
    rows_add(table,
             (const char *const[]){name, items, describe_size(size, sizeof size, t->bytes), duration, why});
}

/* Adds the row of all complete targets: 90 targets, 270 items, 12.3 MB, 1.2s to 7.4s. */
static void add_complete(struct rows *table, const struct outcomes *t, size_t n)
{
    char name[60], items[60], size[32], duration[80], shortest_text[32], longest_text[32];
    size_t collected = 0;
    uint64_t bytes = 0;
    int64_t shortest = INT64_MAX, longest = 0;
    for (size_t i = 0; i < t->targets->n; i++) {
        const struct outcome *outcome = &t->items[i];
        int64_t ms = outcome_duration(outcome);
        if (!outcome_is_complete(outcome))
            continue;
        collected += outcome->n_collected;
        bytes += outcome->bytes;
        shortest = ms < shortest ? ms : shortest;
        longest = ms > longest ? ms : longest;
    }
    snprintf(name, sizeof name, "%zu targets", n);
    snprintf(items, sizeof items, "%zu", collected);
    snprintf(duration, sizeof duration, "%s to %s",
             text_duration(shortest_text, sizeof shortest_text, shortest),
             text_duration(longest_text, sizeof longest_text, longest));
    rows_add(table,
             (const char *const[]){name, items, describe_size(size, sizeof size, bytes), duration, ""});
}

/* Returns whether the row of the host's first service already shows this failure. */
static bool is_repeated(const struct outcomes *t, size_t i)
{
    return i > 0 && t->items[i].host_failed && t->items[i - 1].host_failed &&
           t->items[i].target->host == t->items[i - 1].target->host;
}

void outcome_table_print(const struct outcomes *t, bool all, FILE *out)
{
    struct rows table = {.columns = "lrrrl", .min_last_cell = 40};
    size_t n_complete = 0;
    for (size_t i = 0; i < t->targets->n; i++)
        n_complete += outcome_is_complete(&t->items[i]);
    rows_add(&table, (const char *const[]){"TARGET", "ITEMS", "BYTES", "TIME",
                                           n_complete < t->targets->n ? "WHAT FAILED" : ""});
    bool summed = n_complete > LISTED_MAX && !all;
    if (summed)
        add_complete(&table, t, n_complete);
    for (size_t i = 0; i < t->targets->n && !summed; i++)
        if (outcome_is_complete(&t->items[i]))
            add_target(&table, &t->items[i]);
    for (size_t i = 0; i < t->targets->n; i++)
        if (!outcome_is_complete(&t->items[i]) && !is_repeated(t, i))
            add_target(&table, &t->items[i]);
    rows_print(&table, columns_line_max(out), out);
    rows_release(&table);
}
