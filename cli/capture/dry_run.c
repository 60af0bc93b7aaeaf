#include "cli/capture/dry_run.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/hosts/suggest.h"
#include "cli/capture/ending.h"
#include "cli/term/document.h"
#include "cli/term/exit.h"
#include "cli/term/progress.h"
#include "cli/term/columns.h"
#include "cli/term/rows.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "base/banned.h"

struct display {
    const struct dry_run *dry;
    struct progress progress;
};

/* Returns the exit code that a successful capture would return. */
static int exit_code_of(const struct estimates *e)
{
    const struct estimate_total *t = &e->total;
    const struct capture_outcome outcome = {.end = t->items > 0 ? CAPTURE_PACKED : CAPTURE_NOTHING,
                                            .cancelled = e->cancelled,
                                            .counts = {.complete = t->items,
                                                       .missing = t->failures + t->n_left_out + t->n_absent,
                                                       .wrong_requests = t->n_wrong_requests}};
    return ending_code(&outcome, signals_received());
}

/* ---- output -------------------------------------------------------------------------------------------- */

/* Adds the items, such as "heap (1234 records), goroutines (87 records), cpu=30s". */
static void describe_items(const struct estimate *e, struct buf *b)
{
    char timed[32];
    for (size_t i = 0; i < e->n_items; i++) {
        const struct estimate_item *item = &e->items[i];
        text_duration(timed, sizeof timed, item->timed_ms);
        buf_addf(b, "%s%s", i ? ", " : "", item->kind);
        if (*item->argument || (item->timed_ms > 0 && item->kind[0] != '/'))
            buf_addf(b, "=%s", *item->argument ? item->argument : timed);
        if (item->pair == 2)
            buf_adds(b, " later");
        else if (item->count > 0)
            buf_addf(b, " (%lld record%s)", (long long)item->count, text_plural_s((uint64_t)item->count));
        if (item->absent)
            buf_adds(b, " not there");
        else if (item->left_out_reason)
            buf_adds(b, " left out");
    }
}

static void add_row(struct rows *rows, const struct estimate *e)
{
    char duration[32] = "-", bytes[32] = "-";
    struct buf items = BUF_INIT(1u << 16);
    if (e->planned) {
        text_duration(duration, sizeof duration, (e->opened_ms + e->duration_ms + 50) / 100 * 100);
        text_bytes(bytes, sizeof bytes, e->bytes);
        describe_items(e, &items);
    } else {
        buf_addf(&items, "failed: %s", e->failure.kind == ERR_NONE ? "not opened" : e->failure.msg);
    }
    rows_add(rows, (const char *const[]){e->target->host->name, e->target->service->name, e->route, duration,
                                         bytes, buf_str(&items)});
    buf_release(&items);
}

static void print_total(const struct estimates *e)
{
    const struct estimate_total *t = &e->total;
    char duration[32], bytes[32], largest[32], profiled[32];
    text_bytes(bytes, sizeof bytes, t->bytes);
    text_duration(duration, sizeof duration, (t->duration_ms + 50) / 100 * 100);
    printf("\n%zu item%s of %zu target%s on %zu host%s: about %s in about %s", t->items,
           text_plural_s(t->items), t->targets, text_plural_s(t->targets), t->hosts, text_plural_s(t->hosts),
           bytes, duration);
    if (t->hosts > 1)
        printf(", %zu host%s at a time", e->hosts_at_once, text_plural_s(e->hosts_at_once));
    if (t->max_process_profiled_ms > 0)
        printf("\nestimate for each process: up to %s of profiling and %s\n",
               text_duration(profiled, sizeof profiled, t->max_process_profiled_ms),
               text_bytes(largest, sizeof largest, t->max_process_bytes));
    else
        printf("\nestimate for each process: up to %s, and no profiling over time\n",
               text_bytes(largest, sizeof largest, t->max_process_bytes));
    if (t->n_left_out > 0)
        printf("%zu item%s would be left out by the budget\n", t->n_left_out, text_plural_s(t->n_left_out));
    if (t->n_absent > 0)
        printf("%zu item%s cannot be fetched: the index page of the service lists no such profile\n",
               t->n_absent, text_plural_s(t->n_absent));
    if (t->failures > 0)
        printf("%zu of %zu targets would give no item\n", t->failures, t->targets);
}

static void print_table(const struct estimates *e)
{
    struct rows rows = {.columns = "lllrrl", .min_last_cell = SIZE_MAX};
    rows_add(&rows, (const char *const[]){"HOST", "SERVICE", "ROUTE", "TIME", "BYTES", "ITEMS"});
    for (size_t i = 0; i < e->n; i++)
        add_row(&rows, &e->items[i]);
    rows_print(&rows, columns_line_max(stdout), stdout);
    rows_release(&rows);
    print_total(e);
}

static json_t *item_json(const struct estimate_item *item)
{
    json_t *o = json_pack("{s:s, s:I, s:I}", "kind", item->kind, "bytes", (json_int_t)item->bytes, "timed_ms",
                          (json_int_t)item->timed_ms);
    if (*item->argument)
        json_object_set_new(o, "argument", json_string(item->argument));
    if (item->pair)
        json_object_set_new(o, "pair", json_integer(item->pair));
    if (item->count >= 0)
        json_object_set_new(o, "count", json_integer(item->count));
    if (item->absent)
        json_object_set_new(o, "absent", json_true());
    if (item->left_out_reason)
        json_object_set_new(o, "left_out", json_string(item->left_out_reason));
    return o;
}

/* Returns NULL if memory runs out. */
static json_t *target_json(const struct estimate *e)
{
    json_t *items = json_array();
    for (size_t i = 0; i < e->n_items; i++)
        json_array_append_new(items, item_json(&e->items[i]));
    if (json_array_size(items) != e->n_items) {
        json_decref(items);
        return NULL;
    }
    json_t *o = json_pack("{s:s, s:s, s:o}", "host", e->target->host->name, "service",
                          e->target->service->name, "items", items);
    if (*e->route)
        json_object_set_new(o, "route", json_string(e->route));
    if (e->planned) {
        json_object_set_new(o, "bytes", json_integer((json_int_t)e->bytes));
        json_object_set_new(o, "profiled_ms", json_integer(e->profiled_ms));
        json_object_set_new(o, "duration_ms", json_integer(e->opened_ms + e->duration_ms));
    } else if (e->failure.kind != ERR_NONE) {
        char printable[sizeof e->failure.msg * 3];
        text_printable(printable, sizeof printable, e->failure.msg, strlen(e->failure.msg));
        json_object_set_new(o, "error", json_string(printable));
    }
    return o;
}

static int print_json(const struct estimates *e, int code, struct err *err)
{
    const struct estimate_total *t = &e->total;
    json_t *list = json_array();
    for (size_t i = 0; i < e->n; i++)
        json_array_append_new(list, target_json(&e->items[i]));
    json_t *o = json_pack("{s:b, s:i, s:o, s:I, s:I, s:I, s:I}", "dry_run", 1, "exit_code", code, "targets",
                          list, "bytes", (json_int_t)t->bytes, "duration_ms", (json_int_t)t->duration_ms,
                          "most_bytes", (json_int_t)t->max_process_bytes, "most_profiled_ms",
                          (json_int_t)t->max_process_profiled_ms);
    if (o && json_array_size(list) == e->n)
        return document_print(o, stdout, err);
    json_decref(o);
    return err_nomem(err);
}

/* Prints the destination of the hand-off. */
static void print_handoff(const struct delivery *delivery)
{
    char to[60];
    size_t n = delivery->recipients ? age_recipients_count(delivery->recipients) : 0;
    snprintf(to, sizeof to, "encrypted to %zu recipient%s", n, text_plural_s(n));
    message_print("the bundle would go to %s%s%s%s%s%s%s, %s", delivery->team ? "team " : "",
                  delivery->team ? delivery->team->name : "", delivery->team && delivery->tracker ? ": " : "",
                  delivery->tracker ? delivery->tracker->name : "", delivery->tracker ? ":" : "",
                  delivery->project ? delivery->project : "",
                  delivery->issue ? " (an issue that exists)" : "", n ? to : "in plain text");
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static void show_event(void *ctx, const struct capture_event *e)
{
    struct display *d = ctx;
    struct err explained;
    const struct err *failure = NULL;
    if (e->failure) {
        explained =
            suggest_check(d->dry->target, d->dry->request.targets, e->host ? e->host : e->target->host,
                          e->host ? NULL : e->target->service, e->failure);
        failure = &explained;
    }
    if (e->kind == CAPTURE_FEWER_HOSTS)
        target_print_fewer_hosts(e->parallel, e->open_files);
    else if (e->kind == CAPTURE_OPENING)
        progress_show_opening(&d->progress, e->host);
    else if (e->kind == CAPTURE_HOST)
        progress_show_host(&d->progress, e->host, e->gateway, failure);
    else if (e->kind == CAPTURE_STEP)
        progress_show_step(&d->progress, e->host, e->service, e->step);
    else if (e->kind == CAPTURE_SERVICE) {
        struct fetch_service_report plan = *e->planned_service;
        plan.failure = failure;
        progress_show_service(&d->progress, e->target, &plan);
    }
}

static int make_estimates(const struct dry_run *dry, struct estimates *ret, struct err *err)
{
    struct display display = {.dry = dry};
    const struct capture_observer observer = {.ctx = &display, .event = show_event};
    if (capture_global_init(err) < 0)
        return -1;
    progress_init(&display.progress,
                  &(struct progress_options){
                      .quiet = dry->quiet, .verbose = dry->verbose, .out = stderr, .prompt = dry->prompt});
    int rc = capture_estimate(&dry->request, &observer, signals_cancel_fd(), ret, err);
    progress_end(&display.progress);
    capture_global_cleanup();
    return rc;
}

static int print_estimates(const struct dry_run *dry, const struct estimates *e, struct err *err)
{
    int code = exit_code_of(e);
    if (!dry->json)
        print_table(e);
    else if (print_json(e, code, err) < 0)
        return exit_status_of(err);
    if (dry->delivery && !dry->quiet)
        print_handoff(dry->delivery);
    return code;
}

int dry_run(const struct dry_run *dry, struct err *err)
{
    struct estimates estimates = {0};
    int code = make_estimates(dry, &estimates, err) < 0 ? exit_status_of(err)
                                                        : print_estimates(dry, &estimates, err);
    estimates_release(&estimates);
    return code;
}
