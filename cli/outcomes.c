#include "cli/outcomes.h"

#include <stdlib.h>
#include <string.h>

#include "cli/term/rows.h"
#include "base/banned.h"

/* So many whole ones are listed one by one: the broken ones below them are still on the screen. */
#define LISTED_MAX 20

int outcomes_new(struct outcomes *t, const struct targets *targets, struct err *err)
{
    struct outcome *items = calloc(targets->n + 1, sizeof *items);
    if (!items)
        return err_nomem(err);
    for (size_t i = 0; i < targets->n; i++)
        items[i].target = &targets->items[i];
    *t = (struct outcomes){.targets = targets, .items = items};
    return 0;
}

void outcomes_release(struct outcomes *t)
{
    free(t->items);
    *t = (struct outcomes){0};
}

/* ---- counting ------------------------------------------------------------------------------------------ */

static struct outcome *find(struct outcomes *t, const struct target *target)
{
    return &t->items[target - t->targets->items];
}

static void failed(struct outcome *t, const char *what, const struct err *why)
{
    if (t->failures++ == 0)
        snprintf(t->why, sizeof t->why, "%.200s%s%s", what, *what ? ": " : "", why->msg);
}

void outcomes_opening(struct outcomes *t, const struct host *host)
{
    for (size_t i = 0; i < t->targets->n; i++)
        if (t->items[i].target->host == host)
            t->items[i].began = clock_now();
}

void outcomes_host(struct outcomes *t, const struct host *host, const struct err *failure)
{
    for (size_t i = 0; failure && i < t->targets->n; i++) {
        struct outcome *target = &t->items[i];
        if (target->target->host != host)
            continue;
        target->ended = clock_now();
        target->unopened = true;
        failed(target, "", failure);
    }
}

void outcomes_service(struct outcomes *t, const struct target *target, const struct fetch_service *s)
{
    struct outcome *one = find(t, target);
    one->ended = clock_now();
    one->planned = !s->failure;
    one->asked = 0;
    for (size_t i = 0; i < s->n_items; i++)
        one->asked += !s->planned[i].already_collected;
    if (s->failure)
        failed(one, "", s->failure);
    one->unusable = s->failure && s->failure->kind == ERR_USAGE;
}

void outcomes_item(struct outcomes *t, const struct target *target, const struct fetch_item *item)
{
    struct outcome *one = find(t, target);
    char what[320];
    one->ended = clock_now();
    one->bytes += item->status == FETCH_OK ? item->bytes : 0;
    one->got += item->status == FETCH_OK;
    snprintf(what, sizeof what, "%s%s%s", item->kind, *item->argument ? "=" : "", item->argument);
    /* It was not asked for: that the service has none, and what to try instead, was said already. */
    if (item->lasting && item->err.kind == ERR_NOT_FOUND && item->http_status == 0)
        failed(one, what, &(struct err){.kind = ERR_NOT_FOUND, .msg = "not there: see above"});
    else if (item->status != FETCH_OK)
        failed(one, what, &item->err);
}

bool outcome_is_whole(const struct outcome *t)
{
    return t->planned && t->failures == 0 && t->got >= t->asked;
}

int64_t outcome_took(const struct outcome *t)
{
    return t->began && t->ended ? t->ended - t->began : 0;
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static void add_row(struct rows *table, const char *name, const char *items, uint64_t bytes, const char *took,
                    const char *why)
{
    char size[32] = "-";
    if (bytes)
        text_bytes(size, sizeof size, bytes);
    rows_add(table, (const char *const[]){name, items, size, took, why});
}

static void add_target(struct rows *table, const struct outcome *t)
{
    const struct host *host = t->target->host;
    char name[600], items[60] = "-", took[32] = "-", why[760];
    /* Of a host that could not be opened its services are not told apart: it has one row. */
    snprintf(name, sizeof name, "%s%s%s", host->name, t->unopened ? "" : ": ",
             t->unopened ? "" : t->target->service->name);
    if (t->planned)
        snprintf(items, sizeof items, "%zu/%zu", t->got, t->asked);
    if (t->began)
        text_duration(took, sizeof took, outcome_took(t));
    /* A wrong word was told with what would be right; the table need not repeat it for every target. */
    snprintf(why, sizeof why, "%s", t->unusable ? "nothing was fetched: see above" : t->why);
    if (!*why && !outcome_is_whole(t))
        snprintf(why, sizeof why, "%s", t->began ? "not finished" : "not begun");
    if (t->failures > 1 && t->planned)
        snprintf(why, sizeof why, "%s (and %zu more)", t->why, t->failures - 1);
    add_row(table, name, items, t->bytes, took, why);
}

/* 90 targets: 270 items, 12.3 MB, 1.2s to 7.4s */
static void add_whole(struct rows *table, const struct outcomes *t, size_t n)
{
    char name[60], items[60], took[80], least[32], most[32];
    size_t got = 0;
    uint64_t bytes = 0;
    int64_t shortest = INT64_MAX, longest = 0;
    for (size_t i = 0; i < t->targets->n; i++) {
        const struct outcome *one = &t->items[i];
        int64_t ms = outcome_took(one);
        if (!outcome_is_whole(one))
            continue;
        got += one->got;
        bytes += one->bytes;
        shortest = ms < shortest ? ms : shortest;
        longest = ms > longest ? ms : longest;
    }
    snprintf(name, sizeof name, "%zu targets", n);
    snprintf(items, sizeof items, "%zu", got);
    snprintf(took, sizeof took, "%s to %s", text_duration(least, sizeof least, shortest),
             text_duration(most, sizeof most, longest));
    add_row(table, name, items, bytes, took, "");
}

/* Its host's other services say the same. */
static bool is_repeated(const struct outcomes *t, size_t i)
{
    return i > 0 && t->items[i].unopened && t->items[i - 1].unopened &&
           t->items[i].target->host == t->items[i - 1].target->host;
}

void outcomes_print(const struct outcomes *t, bool all, FILE *out)
{
    struct rows table = {.columns = "lrrrl", .below = true};
    size_t whole = 0;
    for (size_t i = 0; i < t->targets->n; i++)
        whole += outcome_is_whole(&t->items[i]);
    rows_add(&table, (const char *const[]){"TARGET", "ITEMS", "BYTES", "TIME",
                                           whole < t->targets->n ? "WHAT FAILED" : ""});
    bool one_line = whole > LISTED_MAX && !all;
    if (one_line)
        add_whole(&table, t, whole);
    for (size_t i = 0; i < t->targets->n && !one_line; i++)
        if (outcome_is_whole(&t->items[i]))
            add_target(&table, &t->items[i]);
    for (size_t i = 0; i < t->targets->n; i++)
        if (!outcome_is_whole(&t->items[i]) && !is_repeated(t, i))
            add_target(&table, &t->items[i]);
    rows_print(&table, rows_width(out), out);
    rows_release(&table);
}
