#include "cli/capture/capture_command.h"

#include <stdio.h>

#include "cli/args/quote.h"
#include "cli/bundle/create.h"
#include "cli/hosts/suggest.h"
#include "cli/capture/ending.h"
#include "cli/capture/outcome_table.h"
#include "cli/term/exit.h"
#include "cli/term/progress.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "base/banned.h"

/* The maximum length of a command line in a hint. */
#define COMMAND_LINE_MAX 220

struct display {
    const struct capture_command *command;
    struct progress progress;
};

/* ---- command lines to repeat --------------------------------------------------------------------------- */

/* Returns the `profgrab resume` command with the options that reach the same hosts; if it is too long, only
 * "profgrab resume". */
static const char *resume_line(const struct capture_command *c, const char *path, struct buf *ret)
{
    const struct {
        const char *option, *value;
    } options[] = {{"-i", c->target->inventory},
                   {"-F", c->target->ssh_config},
                   {"--via", c->target->via},
                   {"--from", c->target->from}};
    buf_adds(ret, "profgrab resume ");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (!options[i].value)
            continue;
        buf_addf(ret, "%s ", options[i].option);
        quote_add_word(ret, options[i].value);
        buf_addc(ret, ' ');
    }
    if (c->target->accept_new)
        buf_adds(ret, "--accept-new ");
    quote_add_word(ret, path);
    return ret->failed ? "profgrab resume" : buf_str(ret);
}

/* Sets the text that the second Ctrl-C prints: `before`, the path, and `after`. */
static void set_exit_text(const char *before, const char *path, const char *after)
{
    char line[1000];
    snprintf(line, sizeof line, "\nprofgrab: exited at once; %s %.600s%s\n", before, path, after);
    signals_set_exit_text(line);
}

static void set_exit_text_for_directory(const struct capture_command *c, const char *directory)
{
    struct buf line = BUF_INIT(COMMAND_LINE_MAX);
    char hint[COMMAND_LINE_MAX + 60];
    snprintf(hint, sizeof hint, "\nhint: `%s` fetches the rest", resume_line(c, directory, &line));
    set_exit_text("the collected items are in", directory, hint);
    buf_release(&line);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void print_estimate(struct progress *p, const struct capture_event *e)
{
    char line[700], bytes[32], timed[32];
    text_duration(timed, sizeof timed, e->timed_ms);
    snprintf(line, sizeof line, "estimate for each process, from %s/%s: %s%s%s", e->target->host->name,
             e->target->service->name, e->timed_ms ? timed : "", e->timed_ms ? " of profiling, " : "",
             text_bytes(bytes, sizeof bytes, e->bytes));
    progress_print(p, line);
}

/* Returns a copy of the failure, with a `profgrab check` command in its hint if that command helps. */
static struct err explain_failure(const struct display *d, const struct host *host,
                                  const struct service *service, const struct err *failure)
{
    return suggest_check(d->command->target, d->command->request.targets, host, service, failure);
}

static void show_begun(struct display *d, const struct capture_event *e)
{
    set_exit_text_for_directory(d->command, e->path);
    signals_announce_bundle(true);
}

static void show_fewer_hosts(struct display *d, const struct capture_event *e)
{
    (void)d;
    target_print_fewer_hosts(e->parallel, e->open_files);
}

static void show_opening(struct display *d, const struct capture_event *e)
{
    progress_show_opening(&d->progress, e->host);
}

static void show_host(struct display *d, const struct capture_event *e)
{
    struct err explained;
    if (!e->failure) {
        progress_show_host(&d->progress, e->host, e->gateway, NULL);
        return;
    }
    explained = explain_failure(d, e->host, NULL, e->failure);
    progress_show_host(&d->progress, e->host, e->gateway, &explained);
    result_add_failure(d->command->result, e->host, NULL, &explained);
}

static void show_step(struct display *d, const struct capture_event *e)
{
    progress_show_step(&d->progress, e->host, e->service, e->step);
}

static void show_service(struct display *d, const struct capture_event *e)
{
    const struct target *target = e->target;
    struct fetch_service_report plan = *e->planned_service;
    struct err explained;
    if (e->failure) {
        explained = explain_failure(d, target->host, target->service, e->failure);
        plan.failure = &explained;
        result_add_failure(d->command->result, target->host, target->service, &explained);
    }
    progress_show_service(&d->progress, target, &plan);
}

static void show_estimate(struct display *d, const struct capture_event *e)
{
    print_estimate(&d->progress, e);
}

static void show_item(struct display *d, const struct capture_event *e)
{
    progress_show_item(&d->progress, e->target, e->item);
    result_add_item(d->command->result, e->target, e->item);
}

static void show_progress(struct display *d, const struct capture_event *e)
{
    progress_show_transfer(&d->progress, e->target, e->progress);
}

static void show_targets(struct display *d, const struct capture_event *e)
{
    const struct capture_outcome *o = e->outcome;
    const struct capture_command *c = d->command;
    progress_end(&d->progress);
    if (o->targets.targets->n > 1 && !c->quiet && !c->result->json)
        outcome_table_print(&o->targets, c->verbose, stderr);
}

static void show_page_failure(struct display *d, const struct capture_event *e)
{
    (void)d;
    create_print_no_page(e->failure);
}

static void show_bundled(struct display *d, const struct capture_event *e)
{
    (void)d;
    set_exit_text("the bundle is", e->path, "");
}

void capture_command_print_earlier(void *ctx, const struct capture_event *e)
{
    (void)ctx;
    if (e->kind == CAPTURE_EARLIER_DAMAGED)
        message_print("%s: the intact items of the earlier run are kept", e->failure->msg);
    if (e->kind == CAPTURE_EARLIER_CHANGED)
        message_print("%s %s: it will be fetched again", e->path, e->difference);
    if (e->kind == CAPTURE_EARLIER_NOT_IN_INVENTORY)
        message_print_error(stderr, e->failure);
}

static void show_earlier(struct display *d, const struct capture_event *e)
{
    capture_command_print_earlier(d, e);
}

static void show_event(void *ctx, const struct capture_event *e)
{
    static void (*const show[])(struct display *, const struct capture_event *) = {
        [CAPTURE_EARLIER_DAMAGED] = show_earlier,
        [CAPTURE_EARLIER_CHANGED] = show_earlier,
        [CAPTURE_EARLIER_NOT_IN_INVENTORY] = show_earlier,
        [CAPTURE_BEGUN] = show_begun,
        [CAPTURE_FEWER_HOSTS] = show_fewer_hosts,
        [CAPTURE_OPENING] = show_opening,
        [CAPTURE_HOST] = show_host,
        [CAPTURE_STEP] = show_step,
        [CAPTURE_SERVICE] = show_service,
        [CAPTURE_ESTIMATE] = show_estimate,
        [CAPTURE_ITEM] = show_item,
        [CAPTURE_PROGRESS] = show_progress,
        [CAPTURE_FETCHED] = show_targets,
        [CAPTURE_NO_PAGE] = show_page_failure,
        [CAPTURE_BUNDLED] = show_bundled};
    show[e->kind](ctx, e);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* If a resumed run made no new bundle, prints that the work directory or the old bundle is unchanged. */
static void print_unchanged(const struct capture_command *c, const struct capture_outcome *o)
{
    if (c->earlier)
        message_print("%s is unchanged", o->directory ? o->directory : c->earlier->path);
}

static void explain_not_packed(const struct capture_command *c, const struct capture_outcome *o,
                               struct err *err)
{
    const char *before = err->kind == ERR_LOCAL_IO ? "make room, then " : "correct this, then ";
    bool cancelled = err->kind == ERR_CANCELLED;
    const char *directory = o->directory ? o->directory : "";
    struct buf line = BUF_INIT(COMMAND_LINE_MAX);
    if (o->directory && !file_exists(directory))
        err_hint(err, "%s was removed or renamed during the run: what was collected is not there any more",
                 directory);
    else if (err->kind == ERR_LIMIT)
        err_hint(err,
                 "everything collected is in %s: `profgrab bundle create DIRECTORY...` packs parts of it",
                 directory);
    else
        err_hint(err, "everything collected is in %s: %s`%s`%s", directory, cancelled ? "" : before,
                 resume_line(c, directory, &line), cancelled ? " packs it" : "");
    buf_release(&line);
}

/* Prints the missing items, and the bundle's path. Returns the exit code. */
static int print_bundle(const struct capture_command *c, const struct capture_outcome *o, int code)
{
    const char *path = o->bundle;
    struct result *result = c->result;
    if (o->cancelled)
        message_print("interrupted: the bundle has the items collected until then");
    if (o->counts.damaged + o->counts.missing > 0) {
        struct err line = ERR_INIT;
        struct buf resume = BUF_INIT(COMMAND_LINE_MAX);
        ending_explain(&o->counts, resume_line(c, path, &resume), &line);
        message_print_error(stderr, &line);
        buf_release(&resume);
    }
    bool printed = result->json || (printf("%s\n", path) > 0 && fflush(stdout) == 0);
    if (!printed)
        message_print("the bundle is %s", path);
    if (printed && code == EXIT_OK && !c->quiet && !result->json)
        suggest_view(path);
    return code == EXIT_OK && !printed ? EXIT_PARTIAL : code;
}

static int end_run(const struct capture_command *c, const struct capture_outcome *o, struct err *err)
{
    int code = ending_code(o, signals_received());
    switch (o->end) {
    case CAPTURE_NOT_STARTED:
        print_unchanged(c, o);
        return exit_status_of(err);
    case CAPTURE_NOTHING:
        print_unchanged(c, o);
        /* Earlier messages contain the reasons. After a wrong request, no other message is needed. */
        if (o->cancelled)
            err_set(err, ERR_CANCELLED, "interrupted; nothing was collected, so there is no bundle");
        else if (code != EXIT_USAGE)
            message_print("nothing was collected, so there is no %sbundle",
                          c->earlier && !o->directory ? "new " : "");
        return code;
    case CAPTURE_NOT_PACKED:
        explain_not_packed(c, o, err);
        return code;
    case CAPTURE_PACKED:
        break;
    }
    return print_bundle(c, o, code);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

int capture_command_hand_off(const struct capture_command *c, int code)
{
    struct handoff_report *report = &c->result->handoff;
    const struct handoff_caller caller = {.bundle = c->result->bundle,
                                          .inventory = c->target->inventory,
                                          .prompt = c->prompt,
                                          .quiet = c->quiet,
                                          .json = c->result->json};
    signals_announce_bundle(false);
    if (signals_received()) {
        err_set(&report->failure, ERR_CANCELLED, "the bundle was not handed off, because you interrupted");
        message_print("%s", report->failure.msg);
        handoff_print_repeat(c->delivery, &caller, report);
        /* `code` would ignore a signal that arrives after the bundle was packed. */
        return exit_status_of(&report->failure);
    }
    int handoff_code = handoff_command(c->delivery, &caller, report);
    if (handoff_code == EXIT_USAGE) {
        /* EXIT_USAGE would mean that nothing was fetched, but the bundle was written. */
        handoff_print_repeat(c->delivery, &caller, report);
        return EXIT_HANDOFF;
    }
    return handoff_code != EXIT_OK ? handoff_code : code;
}

int capture_command_run(const struct capture_command *c, struct err *err)
{
    struct display display = {.command = c};
    struct capture_outcome outcome = {0};
    const struct capture_observer observer = {.ctx = &display, .event = show_event};
    if (capture_global_init(err) < 0)
        return exit_status_of(err);
    progress_init(&display.progress,
                  &(struct progress_options){
                      .quiet = c->quiet, .verbose = c->verbose, .out = stderr, .prompt = c->prompt});
    if (c->earlier)
        capture_resume(c->earlier, &c->request, &observer, &outcome, err);
    else
        capture_run(&c->request, &observer, signals_cancel_fd(), &outcome, err);
    progress_end(&display.progress);
    capture_global_cleanup();
    int code = end_run(c, &outcome, err);
    c->result->complete = capture_is_complete(&outcome);
    c->result->bundle = outcome.bundle;
    c->result->outcomes = outcome.targets;
    outcome.bundle = NULL;
    outcome.targets = (struct outcomes){0};
    capture_outcome_release(&outcome);
    return c->delivery && c->result->bundle ? capture_command_hand_off(c, code) : code;
}

int capture_command_end(struct result *result, int code, const struct err *failure)
{
    result->interrupted = signals_received() != 0;
    if (!result->json || result_print(result, code, failure, stdout, NULL) == 0)
        return code;
    if (result->bundle)
        message_print("the bundle is %s", result->bundle);
    return code == EXIT_OK ? EXIT_PARTIAL : code;
}
