/*
 * `profgrab check`: tests the connection to each service step by step, stops at the step that fails and
 * prints the next command to run. Fetches no profile and writes no file.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term/columns.h"
#include "cli/args/command.h"
#include "cli/term/document.h"
#include "cli/term/exit.h"
#include "cli/hosts/suggest.h"
#include "cli/term/rows.h"
#include "cli/term/signals.h"
#include "cli/hosts/resolve.h"
#include "cli/hosts/target.h"
#include "base/banned.h"

/* The timeout is shorter than that of grab, because the user waits for the result. */
#define CHECK_TIMEOUT_MS 10000

struct check_options {
    struct target_options target;
    bool json;
};

static const struct option options[] = {
    TARGET_OPTION_ROWS(struct check_options, target),
    TARGET_MANY_ROWS(struct check_options, target),
    {"json", 0, OPTION_FLAG, NULL, "as JSON", offsetof(struct check_options, json), 0},
    OPTIONS_END,
};

/* The result for a host, or for one of its services. */
struct report {
    const struct host *host;
    const struct service *service; /* NULL: the host itself */
    struct buf text;
    json_t *steps;
    json_t *children;      /* the profiles of a service, or the services of a host */
    bool failure_reported; /* the text has a failed step */
    bool failed;           /* a step failed, or the service's host could not be opened */
    bool has_heading;      /* the heading is in the text */
    bool ended;            /* there are no further steps: the text of the next report may follow */
    bool has_clock_skew;
    int64_t clock_skew_ms;
};

/* One run of the command. */
struct check {
    const struct check_options *options;
    struct report *reports; /* each host, followed by its services */
    size_t n;
    bool is_one_host; /* if set, each line is printed as soon as the lines before it are complete */
};

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Prints the reports in order, although the services of a host are checked at the same time: a report that
 * has not ended delays the next ones, unless `all` is set. */
static void print_reports(struct check *c, bool all)
{
    if (c->options->json || (!all && !c->is_one_host))
        return;
    for (size_t i = 0; i < c->n; i++) {
        struct report *r = &c->reports[i];
        fputs(buf_str(&r->text), stdout);
        buf_clear(&r->text);
        if (!all && !r->ended)
            break;
    }
    fflush(stdout);
}

static void add_failure(struct buf *b, const char *indent, const struct err *failure, const char *next)
{
    buf_addf(b, "%s  %s\n", indent, failure->msg);
    if (failure->hint[0])
        buf_addf(b, "%s  hint: %s\n", indent, failure->hint);
    if (*next)
        buf_addf(b, "%s  next: %s\n", indent, next);
}

static void add_heading(struct report *r)
{
    char url[600];
    if (!r->has_heading && r->service)
        buf_addf(&r->text, "  %s  %s\n", r->service->name, fetch_service_url(r->service, url, sizeof url));
    else if (!r->has_heading)
        buf_addf(&r->text, "%s\n", r->host->name);
    r->has_heading = true;
}

/* Adds the line with its detail. If they are wider than the terminal, folds the detail below the line. */
static void add_detail(struct report *r, const char *line, const char *detail)
{
    size_t width = columns_line_max(stdout), indent = r->service ? 8 : 6, n = strlen(line);
    if (!*detail || width == 0 || columns_width(line) + 2 + columns_width(detail) <= width) {
        buf_addf(&r->text, "%s%s%s\n", line, *detail ? "  " : "", detail);
        return;
    }
    while (n > 0 && line[n - 1] == ' ')
        n--;
    buf_addf(&r->text, "%.*s\n%*s", (int)n, line, (int)indent, "");
    columns_fold(&r->text, detail,
                 &(struct columns_fold){.width = width, .column = indent, .indent = indent});
    buf_addc(&r->text, '\n');
}

static void add_line(struct report *r, const char *name, const char *result, int64_t ms, const char *detail)
{
    char duration[32], line[160];
    add_heading(r);
    snprintf(line, sizeof line, "%s%-*s %-7s %7s", r->service ? "    " : "  ", r->service ? 14 : 16, name,
             result, ms >= 0 ? text_duration(duration, sizeof duration, ms) : "");
    add_detail(r, line, detail);
}

/* ---- the observer -------------------------------------------------------------------------------------- */

static struct report *find_report(struct check *c, const struct host *host, const struct service *service)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->reports[i].host == host && c->reports[i].service == service)
            return &c->reports[i];
    return NULL; /* unreachable: every target has a report */
}

static void set_text(json_t *o, const char *key, const char *text)
{
    if (text && *text)
        json_object_set_new(o, key, json_string(text));
}

static void record_step(struct report *r, const char *name, const struct fetch_step *s, const char *next)
{
    json_t *o = json_object();
    json_object_set_new(o, "step", json_string(name));
    if (s->n_hops > 1) {
        json_object_set_new(o, "hop", json_integer((json_int_t)s->hop + 1));
        json_object_set_new(o, "hops", json_integer((json_int_t)s->n_hops));
    }
    json_object_set_new(o, "ok", json_boolean(!s->failure));
    json_object_set_new(o, "warning", json_boolean(s->warning));
    json_object_set_new(o, "duration_ms", json_integer(s->duration_ms));
    set_text(o, "detail", s->detail);
    if (s->failure) {
        set_text(o, "error", s->failure->msg);
        set_text(o, "hint", s->failure->hint);
        set_text(o, "next", next);
    }
    json_array_append_new(r->steps, o);
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *s)
{
    struct check *c = ctx;
    struct report *r = find_report(c, host, service);
    char name[40];
    struct buf next = BUF_INIT(2000);
    struct suggest_subject subject = {host, service, c->options->target.ssh_config};
    if (s->kind == FETCH_STEP_REQUEST || (s->failure && s->failure->kind == ERR_CANCELLED))
        return;
    snprintf(name, sizeof name, "%s", fetch_step_name(s->kind));
    if (s->n_hops > 1)
        snprintf(name, sizeof name, "%zu/%zu %s", s->hop + 1, s->n_hops, fetch_step_name(s->kind));
    if (s->failure)
        suggest_command(&subject, s->kind, &next);
    add_line(r, name, s->failure ? "FAILED" : s->warning ? "WARNING" : "ok", s->duration_ms, s->detail);
    if (s->failure)
        add_failure(&r->text, r->service ? "    " : "  ", s->failure, buf_str(&next));
    record_step(r, fetch_step_name(s->kind), s, buf_str(&next));
    r->failure_reported = r->failure_reported || s->failure;
    r->failed = r->failed || s->failure;
    buf_release(&next);
    print_reports(c, false);
}

static void on_opening(void *ctx, const struct host *host)
{
    struct check *c = ctx;
    add_heading(find_report(c, host, NULL));
    print_reports(c, false);
}

/* Adds a failure that no step has reported. */
static void add_unreported(struct report *r, const struct err *failure)
{
    r->failed = true;
    if (r->failure_reported || failure->kind == ERR_CANCELLED)
        return;
    add_line(r, "other", "FAILED", -1, "");
    add_failure(&r->text, r->service ? "    " : "  ", failure, "");
    record_step(r, "other", &(struct fetch_step){.failure = failure}, "");
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    struct check *c = ctx;
    struct report *r = find_report(c, host, NULL);
    (void)gw;
    if (failure)
        add_unreported(r, failure);
    r->ended = true;
    print_reports(c, false);
}

static void add_profiles(struct report *r, const struct fetch_service_report *s)
{
    struct buf names = BUF_INIT(8000);
    for (size_t i = 0; i < s->n_offers; i++) {
        buf_addf(&names, "%s%s", i ? ", " : "", s->offers[i].name);
        if (s->offers[i].count > 0)
            buf_addf(&names, " %lld", (long long)s->offers[i].count);
        json_array_append_new(r->children, json_pack("{s:s, s:I}", "name", s->offers[i].name, "count",
                                                     (json_int_t)s->offers[i].count));
    }
    if (s->n_offers)
        add_line(r, "profiles", "", -1, buf_str(&names));
    buf_release(&names);
}

/* Adds the clock skew. Ignores less than a second, because the Date header has whole seconds. */
static void add_clock(struct report *r, const struct fetch_service_report *s)
{
    char text[100], size[32];
    int64_t skew = s->clock_skew_ms / 1000 * 1000;
    if (!s->has_clock_skew)
        return;
    if (skew == 0)
        snprintf(text, sizeof text, "the same as here, to a second");
    else
        snprintf(text, sizeof text, "%s %s this workstation's",
                 text_duration(size, sizeof size, skew < 0 ? -skew : skew), skew < 0 ? "behind" : "ahead of");
    add_line(r, "clock", "", -1, text);
    r->has_clock_skew = true;
    r->clock_skew_ms = s->clock_skew_ms;
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service_report *s)
{
    struct check *c = ctx;
    struct report *r = find_report(c, target->host, target->service);
    struct fetch_step step = {.n_hops = 0};
    add_profiles(r, s);
    add_clock(r, s);
    for (size_t i = 0; i < s->findings->n; i++) {
        add_line(r, "finding", "WARNING", -1, s->findings->items[i].text);
        snprintf(step.detail, sizeof step.detail, "%s", s->findings->items[i].text);
        step.warning = true;
        record_step(r, s->findings->items[i].rule->id, &step, "");
    }
    if (s->failure)
        add_unreported(r, s->failure);
    r->ended = true;
    print_reports(c, false);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int add_report(struct check *c, size_t *cap, const struct host *host, const struct service *service,
                      struct err *err)
{
    if (array_reserve((void **)&c->reports, cap, c->n + 1, sizeof *c->reports, err) < 0)
        return -1;
    struct report *r = &c->reports[c->n++];
    *r = (struct report){.host = host,
                         .service = service,
                         .text = BUF_INIT(1u << 20),
                         .steps = json_array(),
                         .children = json_array()};
    if (!r->steps || !r->children)
        return err_nomem(err);
    return 0;
}

static int make_reports(struct check *c, const struct targets *targets, struct err *err)
{
    size_t cap = 0, hosts = 0;
    for (size_t i = 0; i < targets->n; i++) {
        const struct target *t = &targets->items[i];
        bool is_new_host = i == 0 || targets->items[i - 1].host != t->host;
        hosts += is_new_host;
        if (is_new_host && add_report(c, &cap, t->host, NULL, err) < 0)
            return -1;
        if (add_report(c, &cap, t->host, t->service, err) < 0)
            return -1;
    }
    c->is_one_host = hosts == 1;
    return 0;
}

static json_t *report_json(const struct report *r)
{
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(r->service ? r->service->name : r->host->name));
    if (!r->service)
        json_object_set_new(o, "address", json_string(r->host->address));
    json_object_set_new(o, "ok", json_boolean(!r->failed));
    json_object_set(o, "steps", r->steps);
    json_object_set(o, r->service ? "profiles" : "services", r->children);
    if (r->has_clock_skew)
        json_object_set_new(o, "clock_skew_ms", json_integer(r->clock_skew_ms));
    return o;
}

static int print_json(const struct check *c, struct err *err)
{
    json_t *list = json_array(), *host = NULL;
    for (size_t i = 0; i < c->n; i++) {
        json_t *o = report_json(&c->reports[i]);
        if (c->reports[i].service)
            json_array_append_new(json_object_get(host, "services"), o);
        else
            json_array_append_new(list, host = o);
    }
    return document_print(list, stdout, err);
}

static void release_check(struct check *c)
{
    for (size_t i = 0; i < c->n; i++) {
        buf_release(&c->reports[i].text);
        json_decref(c->reports[i].steps);
        json_decref(c->reports[i].children);
    }
    free(c->reports);
}

/* Marks the services of hosts that could not be opened as failed. Returns whether any report has failed. */
static bool mark_failed_services(struct check *c)
{
    bool any_failed = false, host_failed = false;
    for (size_t i = 0; i < c->n; i++) {
        struct report *r = &c->reports[i];
        if (!r->service)
            host_failed = r->failed;
        r->failed = r->failed || host_failed;
        any_failed = any_failed || r->failed;
    }
    return any_failed;
}

static int probe_targets(struct check_options *o, struct prompt *prompt, const struct targets *targets,
                         struct err *err)
{
    struct check c = {.options = o};
    struct ssh_settings ssh;
    struct fetch_observer observer = {
        .ctx = &c, .opening = on_opening, .host = on_host, .service = on_service, .step = on_step};
    int code = EXIT_FAILED;
    if (signals_install(err) < 0 || target_configure_prompt(&o->target, prompt, err) < 0)
        return exit_status_of(err);
    target_print_notes(targets);
    if (make_reports(&c, targets, err) < 0)
        goto out;
    struct fetch_job grab = target_grab(&o->target, targets, &ssh, prompt);
    grab.observer = &observer;
    int rc = target_begin(&grab, err);
    if (rc == 0) {
        rc = fetch_probe(&grab, err);
        target_end();
    }
    if (rc < 0) {
        code = exit_status_of(err);
        goto out;
    }
    bool failed = mark_failed_services(&c);
    print_reports(&c, true);
    if (o->json && print_json(&c, err) < 0)
        goto out;
    code = signals_received() ? EXIT_SIGNAL + signals_received() : failed ? EXIT_FAILED : EXIT_OK;
out:
    release_check(&c);
    return code;
}

static int run_check(int argc, char **argv, struct err *err)
{
    struct check_options o = {.target = {.timeout_ms = CHECK_TIMEOUT_MS}};
    struct strlist rest = {0};
    struct targets targets = {0};
    struct inventory *inventory = NULL;
    struct prompt prompt;
    int code = EXIT_USAGE;
    prompt_init(&prompt);
    if (options_parse(options, &(struct arguments){argc, argv}, &o, &rest, err) < 0 ||
        target_check_arguments(&o.target, &rest, "check", err) < 0)
        goto out;
    if (resolve_targets(&o.target, &prompt, &inventory, &targets, err) < 0)
        code = exit_status_of(err);
    else
        code = probe_targets(&o, &prompt, &targets, err);
out:
    targets_release(&targets);
    inventory_free(inventory);
    strlist_release(&rest);
    target_options_release(&o.target);
    prompt_release(&prompt);
    return code;
}

const struct command command_check = {
    .name = "check",
    .synopsis = "--host NAME[,NAME...] [options]",
    .summary = "diagnose the connection to each service, step by step, with the next command to run",
    .details =
        "Checks configuration, each SSH hop, host key, authentication, the connection to the service, its\n"
        "index page with its profiles, and whether the service listens on addresses that others can reach.\n"
        "Fetches no profile, writes nothing. Exit codes: 0 success, 1 a step failed, 2 usage.",
    .options = options,
    .run = run_check,
};
