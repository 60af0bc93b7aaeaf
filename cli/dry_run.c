#include "cli/dry_run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_hint.h"
#include "cli/term/document.h"
#include "cli/ending.h"
#include "cli/term/exit.h"
#include "cli/term/progress.h"
#include "cli/term/rows.h"
#include "cli/term/signals.h"
#include "cli/term/talk.h"
#include "cli/target.h"
#include "base/banned.h"

/* What is known of one target. */
struct estimate {
    const struct target *target;
    bool planned;
    int64_t began, opened_ms; /* clock_now(); how long it took to come as far as the plan */
    char route[400];
    json_t *items; /* of the plan, as the JSON has them */
    size_t n, left_out, absent;
    uint64_t bytes;
    int64_t profiled_ms; /* how long the process profiles itself */
    int64_t takes_ms;    /* from the first request to the last */
    struct err failure;  /* why nothing would come; ERR_NONE */
};

struct dry {
    const struct dry_run *how;
    struct progress progress;
    struct estimate *targets;
    size_t n;
    bool starved; /* there was no memory for all of it */
};

/* What all of it comes to. */
struct total {
    size_t targets, hosts, items, left_out, absent, failures, unusable;
    uint64_t bytes, most_bytes; /* of all processes, and of one */
    int64_t takes_ms, most_profiled_ms;
};

/* ---- the observer -------------------------------------------------------------------------------------- */

static void on_opening(void *ctx, const struct host *host)
{
    struct dry *d = ctx;
    progress_opening(&d->progress, host);
    for (size_t i = 0; i < d->n; i++)
        if (d->targets[i].target->host == host)
            d->targets[i].began = clock_now();
}

/* direct, ssh, or ssh through BASTION */
static void describe_route(const struct host *host, const struct gateway *gw, char *dst, size_t cap)
{
    struct buf b = BUF_INIT(8192);
    const struct gateway_hop *hop;
    buf_adds(&b, host->direct ? "direct" : "ssh");
    for (size_t i = 0; gw && (hop = gateway_hop(gw, i)) && gateway_hop(gw, i + 1); i++)
        buf_addf(&b, "%s%s", i ? ", " : " through ", hop->address);
    snprintf(dst, cap, "%s", buf_str(&b));
    buf_release(&b);
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *why)
{
    struct dry *d = ctx;
    struct err told = ERR_INIT;
    const struct err *failure = NULL;
    if (why) {
        told = check_hint(d->how->way, d->how->fetch.targets, host, NULL, why);
        failure = &told;
    }
    progress_host(&d->progress, host, gw, failure);
    for (size_t i = 0; i < d->n; i++) {
        struct estimate *e = &d->targets[i];
        if (e->target->host != host)
            continue;
        describe_route(host, gw, e->route, sizeof e->route);
        if (failure)
            e->failure = *failure;
    }
}

static json_t *item_json(const struct fetch_planned *p)
{
    json_t *o = json_pack("{s:s, s:I, s:I}", "kind", p->kind, "bytes", (json_int_t)p->bytes, "timed_ms",
                          (json_int_t)p->timed_ms);
    if (*p->argument)
        json_object_set_new(o, "argument", json_string(p->argument));
    if (p->pair)
        json_object_set_new(o, "pair", json_integer(p->pair));
    if (p->count >= 0)
        json_object_set_new(o, "count", json_integer(p->count));
    if (p->absent)
        json_object_set_new(o, "absent", json_true());
    if (p->left_out)
        json_object_set_new(o, "left_out", json_string(p->left_out));
    return o;
}

static void add_planned(struct dry *d, struct estimate *e, const struct fetch_planned *p)
{
    bool concurrent = d->how->fetch.options.concurrent;
    d->starved |= json_array_append_new(e->items, item_json(p)) != 0;
    e->absent += p->absent;
    e->left_out += !p->absent && p->left_out;
    if (p->absent || p->left_out)
        return;
    e->n++;
    e->bytes += p->bytes;
    e->profiled_ms += p->timed_ms;
    if (p->timed_ms > e->takes_ms || !concurrent)
        e->takes_ms = concurrent ? p->timed_ms : e->takes_ms + p->timed_ms;
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service *service)
{
    struct dry *d = ctx;
    struct estimate *e = &d->targets[target - d->how->fetch.targets->items];
    bool pairs = false;
    struct err told = ERR_INIT;
    struct fetch_service explained = *service, *s = &explained;
    if (s->failure) {
        told = check_hint(d->how->way, d->how->fetch.targets, target->host, target->service, s->failure);
        s->failure = &told;
    }
    progress_service(&d->progress, target, s);
    e->opened_ms = e->began ? clock_now() - e->began : 0;
    e->planned = !s->failure;
    if (s->failure)
        e->failure = *s->failure;
    for (size_t i = 0; i < s->n_items; i++) {
        add_planned(d, e, &s->planned[i]);
        pairs = pairs || s->planned[i].pair;
    }
    if (pairs && e->takes_ms < d->how->fetch.options.pair_ms)
        e->takes_ms = d->how->fetch.options.pair_ms;
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    struct dry *d = ctx;
    progress_step(&d->progress, host, service, step);
}

/* ---- what it comes to ---------------------------------------------------------------------------------- */

/* The services at one place are one process: they are asked one after the other, others beside them. Adds up
 * those of the process whose first target that is; nothing if it is not the first. */
static void add_process(const struct estimate *host, size_t n, size_t first, struct total *t,
                        int64_t *ret_takes)
{
    uint64_t bytes = 0;
    int64_t takes = 0, profiled = 0;
    for (size_t i = 0; i < n; i++) {
        if (!service_is_beside(host[i].target->service, host[first].target->service))
            continue;
        if (i < first)
            return;
        bytes += host[i].bytes;
        takes += host[i].takes_ms;
        profiled += host[i].profiled_ms;
    }
    t->bytes += bytes;
    t->most_bytes = bytes > t->most_bytes ? bytes : t->most_bytes;
    t->most_profiled_ms = profiled > t->most_profiled_ms ? profiled : t->most_profiled_ms;
    *ret_takes = takes > *ret_takes ? takes : *ret_takes;
}

static int64_t add_host(const struct estimate *host, size_t n, struct total *t)
{
    int64_t takes = 0, opened = 0;
    for (size_t i = 0; i < n; i++) {
        const struct estimate *e = &host[i];
        t->items += e->n;
        t->left_out += e->left_out;
        t->absent += e->absent;
        t->failures += !e->planned;
        t->unusable += !e->planned && e->failure.kind == ERR_USAGE;
        opened = e->opened_ms > opened ? e->opened_ms : opened;
        add_process(host, n, i, t, &takes);
    }
    t->hosts++;
    return takes + opened;
}

/* The hosts in turn, each where a thread is free first. */
static int add_up(const struct dry *d, struct total *t, struct err *err)
{
    size_t lanes = fetch_at_once(&d->how->fetch);
    int64_t *until = calloc(lanes + 1, sizeof *until);
    if (!until)
        return err_nomem(err);
    *t = (struct total){.targets = d->n};
    for (size_t i = 0, n; i < d->n; i += n) {
        size_t free_lane = 0;
        for (n = 1; i + n < d->n && d->targets[i + n].target->host == d->targets[i].target->host;)
            n++;
        for (size_t lane = 1; lane < lanes; lane++)
            free_lane = until[lane] < until[free_lane] ? lane : free_lane;
        until[free_lane] += add_host(&d->targets[i], n, t);
        t->takes_ms = until[free_lane] > t->takes_ms ? until[free_lane] : t->takes_ms;
    }
    free(until);
    return 0;
}

/* As a capture would end in which everything comes that is planned. */
static int code_of(const struct total *t)
{
    const struct ending ending = {.whole = t->items,
                                  .missing = t->failures + t->left_out + t->absent,
                                  .unusable = t->unusable,
                                  .signal = signals_received(),
                                  .bundled = t->items > 0};
    return ending_code(&ending);
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *item, const char *key)
{
    const char *s = json_string_value(json_object_get(item, key));
    return s ? s : "";
}

/* heap (1234 records), goroutines (87 records), cpu=30s */
static void describe_items(const struct estimate *e, struct buf *b)
{
    char timed[32];
    for (size_t i = 0; i < json_array_size(e->items); i++) {
        const json_t *item = json_array_get(e->items, i), *count = json_object_get(item, "count");
        int64_t ms = json_integer_value(json_object_get(item, "timed_ms"));
        const char *argument = text_of(item, "argument");
        text_duration(timed, sizeof timed, ms);
        buf_addf(b, "%s%s", i ? ", " : "", text_of(item, "kind"));
        if (*argument || (ms > 0 && text_of(item, "kind")[0] != '/'))
            buf_addf(b, "=%s", *argument ? argument : timed);
        if (json_integer_value(json_object_get(item, "pair")) == 2)
            buf_adds(b, " later");
        else if (json_integer_value(count) > 0)
            buf_addf(b, " (%lld record%s)", (long long)json_integer_value(count),
                     json_integer_value(count) == 1 ? "" : "s");
        if (json_object_get(item, "absent"))
            buf_adds(b, " not there");
        else if (json_object_get(item, "left_out"))
            buf_adds(b, " left out");
    }
}

static void add_row(struct rows *rows, const struct estimate *e)
{
    char takes[32] = "-", bytes[32] = "-";
    struct buf items = BUF_INIT(1u << 16);
    if (e->planned) {
        text_duration(takes, sizeof takes, (e->opened_ms + e->takes_ms + 50) / 100 * 100);
        text_bytes(bytes, sizeof bytes, e->bytes);
        describe_items(e, &items);
    } else {
        buf_addf(&items, "failed: %s", e->failure.kind == ERR_NONE ? "not asked" : e->failure.msg);
    }
    rows_add(rows, (const char *const[]){e->target->host->name, e->target->service->name, e->route, takes,
                                         bytes, buf_str(&items)});
    buf_release(&items);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void print_total(const struct dry *d, const struct total *t)
{
    char takes[32], bytes[32], most[32], profiled[32];
    size_t at_once = fetch_at_once(&d->how->fetch);
    text_bytes(bytes, sizeof bytes, t->bytes);
    text_duration(takes, sizeof takes, (t->takes_ms + 50) / 100 * 100);
    printf("\n%zu item%s of %zu target%s on %zu host%s: about %s in about %s", t->items, plural(t->items),
           t->targets, plural(t->targets), t->hosts, plural(t->hosts), bytes, takes);
    if (t->hosts > 1)
        printf(", %zu host%s at a time", at_once, plural(at_once));
    if (t->most_profiled_ms > 0)
        printf("\nestimate for each process: up to %s of profiling and %s\n",
               text_duration(profiled, sizeof profiled, t->most_profiled_ms),
               text_bytes(most, sizeof most, t->most_bytes));
    else
        printf("\nestimate for each process: up to %s, and no profiling over time\n",
               text_bytes(most, sizeof most, t->most_bytes));
    if (t->left_out > 0)
        printf("%zu item%s would be left out by the budget\n", t->left_out, plural(t->left_out));
    if (t->absent > 0)
        printf("%zu item%s would not come: the program has no such profile, by its index page\n", t->absent,
               plural(t->absent));
    if (t->failures > 0)
        printf("%zu of %zu targets would bring nothing\n", t->failures, t->targets);
}

static void print_table(const struct dry *d, const struct total *t)
{
    struct rows rows = {.columns = "lllrrl"};
    rows_add(&rows, (const char *const[]){"HOST", "SERVICE", "ROUTE", "TIME", "BYTES", "ITEMS"});
    for (size_t i = 0; i < d->n; i++)
        add_row(&rows, &d->targets[i]);
    rows_print(&rows, rows_width(stdout), stdout);
    rows_release(&rows);
    print_total(d, t);
}

static json_t *target_json(const struct estimate *e)
{
    json_t *o = json_pack("{s:s, s:s, s:O}", "host", e->target->host->name, "service",
                          e->target->service->name, "items", e->items);
    if (*e->route)
        json_object_set_new(o, "route", json_string(e->route));
    if (e->planned) {
        json_object_set_new(o, "bytes", json_integer((json_int_t)e->bytes));
        json_object_set_new(o, "profiled_ms", json_integer(e->profiled_ms));
        json_object_set_new(o, "duration_ms", json_integer(e->opened_ms + e->takes_ms));
    } else if (e->failure.kind != ERR_NONE) {
        char printable[sizeof e->failure.msg * 3];
        text_printable(printable, sizeof printable, e->failure.msg, strlen(e->failure.msg));
        json_object_set_new(o, "error", json_string(printable));
    }
    return o;
}

static int print_json(const struct dry *d, const struct total *t, int code, struct err *err)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->n; i++)
        json_array_append_new(list, target_json(&d->targets[i]));
    json_t *o =
        json_pack("{s:b, s:i, s:o, s:I, s:I, s:I, s:I}", "dry_run", 1, "exit_code", code, "targets", list,
                  "bytes", (json_int_t)t->bytes, "duration_ms", (json_int_t)t->takes_ms, "most_bytes",
                  (json_int_t)t->most_bytes, "most_profiled_ms", (json_int_t)t->most_profiled_ms);
    if (o && json_array_size(list) == d->n)
        return document_print(o, stdout, err);
    json_decref(o);
    return err_nomem(err);
}

/* Everything that can be known of it was looked at before. */
static void say_handover(const struct delivery *h)
{
    char to[60];
    size_t n = h->recipients ? age_recipients_count(h->recipients) : 0;
    snprintf(to, sizeof to, "encrypted to %zu recipient%s", n, n == 1 ? "" : "s");
    talk("the bundle would go to %s%s%s%s%s%s%s, %s", h->team ? "team " : "", h->team ? h->team->name : "",
         h->team && h->tracker ? ": " : "", h->tracker ? h->tracker->name : "", h->tracker ? ":" : "",
         h->project ? h->project : "", h->issue ? " (an issue that exists)" : "", n ? to : "in plain text");
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int look(struct dry *d, struct err *err)
{
    struct fetch_grab grab = d->how->fetch;
    const struct fetch_observer observer = {
        .ctx = d, .opening = on_opening, .host = on_host, .service = on_service, .step = on_step};
    progress_init(&d->progress, &(struct progress_options){.quiet = d->how->quiet,
                                                           .verbose = d->how->verbose,
                                                           .out = stderr,
                                                           .prompt = d->how->prompt});
    grab.observer = &observer;
    int rc = target_begin(&grab, err);
    if (rc == 0) {
        rc = fetch_plan(&grab, err);
        target_end();
    }
    progress_end(&d->progress);
    return rc;
}

static int tell(const struct dry *d, struct err *err)
{
    struct total total = {0};
    if (d->starved || add_up(d, &total, err) < 0) {
        err_nomem(err);
        return EXIT_NOTHING;
    }
    int code = code_of(&total);
    if (!d->how->json)
        print_table(d, &total);
    else if (print_json(d, &total, code, err) < 0)
        return exit_status_of(err);
    if (d->how->handover && !d->how->quiet)
        say_handover(d->how->handover);
    return code;
}

int dry_run(const struct dry_run *how, struct err *err)
{
    const struct targets *targets = how->fetch.targets;
    struct dry d = {.how = how, .n = targets->n};
    int code = EXIT_NOTHING;
    if (!(d.targets = calloc(d.n + 1, sizeof *d.targets))) {
        err_nomem(err);
        return code;
    }
    for (size_t i = 0; i < d.n; i++) {
        d.targets[i] = (struct estimate){.target = &targets->items[i], .items = json_array()};
        d.starved |= !d.targets[i].items;
    }
    code = look(&d, err) < 0 ? exit_status_of(err) : tell(&d, err);
    for (size_t i = 0; i < d.n; i++)
        json_decref(d.targets[i].items);
    free(d.targets);
    return code;
}
