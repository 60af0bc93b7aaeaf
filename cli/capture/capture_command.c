#include "cli/capture/capture_command.h"

#include <stdio.h>

#include "cli/args/shell.h"
#include "cli/hosts/suggest.h"
#include "cli/capture/ending.h"
#include "cli/capture/outcome_table.h"
#include "cli/term/exit.h"
#include "cli/term/progress.h"
#include "cli/term/signals.h"
#include "cli/term/talk.h"
#include "base/banned.h"

/* The room for a command line in a hint, beside other words. */
#define LINE_MAX_BYTES 220

struct display {
    const struct capture_command *command;
    struct progress progress;
};

/* ---- command lines to repeat --------------------------------------------------------------------------- */

/* The `profgrab resume` command, with the options that select the same hosts unless the line is too long. */
static const char *resume_line(const struct capture_command *c, const char *path, struct buf *ret)
{
    const struct {
        const char *option, *value;
    } way[] = {{"-i", c->target->inventory},
               {"-F", c->target->ssh_config},
               {"--via", c->target->via},
               {"--from", c->target->from}};
    buf_adds(ret, "profgrab resume ");
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        if (!way[i].value)
            continue;
        buf_addf(ret, "%s ", way[i].option);
        shell_add_word(ret, way[i].value);
        buf_addc(ret, ' ');
    }
    if (c->target->accept_new)
        buf_adds(ret, "--accept-new ");
    shell_add_word(ret, path);
    return ret->failed ? "profgrab resume" : buf_str(ret);
}

/* Sets what the second Ctrl-C prints. */
static void prepare_farewell(const char *what, const char *path, const char *next)
{
    char line[1000];
    snprintf(line, sizeof line, "\nprofgrab: left at once; %s %.600s%s\n", what, path, next);
    signals_farewell(line);
}

static void prepare_first_farewell(const struct capture_command *c, const char *directory)
{
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    char next[LINE_MAX_BYTES + 60];
    snprintf(next, sizeof next, "\nhint: `%s` fetches the rest", resume_line(c, directory, &line));
    prepare_farewell("the collected items are in", directory, next);
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
    progress_say(p, line);
}

/* A copy of the failure whose hint names the `profgrab check` that shows more. */
static struct err explain_failure(const struct display *d, const struct host *host,
                                  const struct service *service, const struct err *failure)
{
    return suggest_check(d->command->target, d->command->request.targets, host, service, failure);
}

static void show_begun(struct display *d, const struct capture_event *e)
{
    prepare_first_farewell(d->command, e->path);
    signals_bundles(true);
}

static void show_fewer_hosts(struct display *d, const struct capture_event *e)
{
    (void)d;
    target_print_fewer_hosts(e->parallel, e->open_files);
}

static void show_opening(struct display *d, const struct capture_event *e)
{
    progress_opening(&d->progress, e->host);
}

static void show_host(struct display *d, const struct capture_event *e)
{
    struct err explained;
    if (!e->failure) {
        progress_host(&d->progress, e->host, e->gateway, NULL);
        return;
    }
    explained = explain_failure(d, e->host, NULL, e->failure);
    progress_host(&d->progress, e->host, e->gateway, &explained);
    result_add_failure(d->command->result, e->host, NULL, &explained);
}

static void show_step(struct display *d, const struct capture_event *e)
{
    progress_step(&d->progress, e->host, e->service, e->step);
}

static void show_service(struct display *d, const struct capture_event *e)
{
    const struct target *target = e->target;
    struct fetch_service plan = *e->plan;
    struct err explained;
    if (e->failure) {
        explained = explain_failure(d, target->host, target->service, e->failure);
        plan.failure = &explained;
        result_add_failure(d->command->result, target->host, target->service, &explained);
    }
    progress_service(&d->progress, target, &plan);
}

static void show_estimate(struct display *d, const struct capture_event *e)
{
    print_estimate(&d->progress, e);
}

static void show_item(struct display *d, const struct capture_event *e)
{
    progress_item(&d->progress, e->target, e->item);
    result_add_item(d->command->result, e->target, e->item);
}

static void show_progress(struct display *d, const struct capture_event *e)
{
    progress_under_way(&d->progress, e->target, e->progress);
}

static void show_targets(struct display *d, const struct capture_event *e)
{
    const struct capture_outcome *o = e->outcome;
    const struct capture_command *c = d->command;
    progress_end(&d->progress);
    if (o->targets.targets->n > 1 && !c->quiet && !c->result->wanted)
        outcome_table_print(&o->targets, c->verbose, stderr);
}

static void show_no_page(struct display *d, const struct capture_event *e)
{
    (void)d;
    talk(BUNDLE_REPORT " could not be made, so the bundle has none: %s", e->failure->msg);
}

static void show_bundled(struct display *d, const struct capture_event *e)
{
    (void)d;
    prepare_farewell("the bundle is", e->path, "");
}

void capture_command_print_earlier(void *ctx, const struct capture_event *e)
{
    (void)ctx;
    if (e->kind == CAPTURE_EARLIER_DAMAGED)
        talk("%s: the earlier part is kept, as far as it is whole", e->failure->msg);
    if (e->kind == CAPTURE_EARLIER_CHANGED)
        talk("%s %s: it is to be fetched again", e->path, e->difference);
    if (e->kind == CAPTURE_EARLIER_UNKNOWN)
        talk_error(stderr, e->failure);
}

static void show_earlier(struct display *d, const struct capture_event *e)
{
    capture_command_print_earlier(d, e);
}

static void show_event(void *ctx, const struct capture_event *e)
{
    static void (*const show[])(struct display *,
                                const struct capture_event *) = {[CAPTURE_EARLIER_DAMAGED] = show_earlier,
                                                                 [CAPTURE_EARLIER_CHANGED] = show_earlier,
                                                                 [CAPTURE_EARLIER_UNKNOWN] = show_earlier,
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
                                                                 [CAPTURE_NO_PAGE] = show_no_page,
                                                                 [CAPTURE_BUNDLED] = show_bundled};
    show[e->kind](ctx, e);
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* Prints the resumed run's bundle or work directory if there is no new bundle. */
static void print_unchanged(const struct capture_command *c, const struct capture_outcome *o)
{
    if (c->earlier)
        talk("%s stays as it was", o->directory ? o->directory : c->earlier->path);
}

static void explain_not_packed(const struct capture_command *c, const struct capture_outcome *o,
                               struct err *err)
{
    bool cancelled = err->kind == ERR_CANCELLED;
    const char *directory = o->directory ? o->directory : "";
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    if (err->kind == ERR_LIMIT)
        err_hint(err,
                 "everything collected is in %s: `profgrab bundle create DIRECTORY...` packs parts of it",
                 directory);
    else
        err_hint(err, "everything collected is in %s: %s`%s`%s", directory,
                 cancelled ? "" : "make room, then ", resume_line(c, directory, &line),
                 cancelled ? " packs it" : "");
    buf_release(&line);
}

/* Prints how the run has ended, and the bundle's path. Returns the exit code. */
static int print_bundle(const struct capture_command *c, const struct capture_outcome *o, int code)
{
    const char *path = o->bundle;
    struct result *result = c->result;
    if (o->cancelled)
        talk("interrupted: the bundle has the items collected until then");
    if (o->counts.damaged + o->counts.missing > 0) {
        struct err line = ERR_INIT;
        struct buf resume = BUF_INIT(LINE_MAX_BYTES);
        ending_explain(&o->counts, resume_line(c, path, &resume), &line);
        talk_error(stderr, &line);
        buf_release(&resume);
    }
    bool printed = result->wanted || (printf("%s\n", path) > 0 && fflush(stdout) == 0);
    if (!printed)
        talk("the bundle is %s", path);
    if (printed && code == EXIT_OK && !c->quiet && !result->wanted)
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
        /* Earlier lines have the reasons; a wrong request needs no further line. */
        if (o->cancelled)
            err_set(err, ERR_CANCELLED, "interrupted; nothing was collected, so there is no bundle");
        else if (code != EXIT_USAGE)
            talk("nothing was collected, so there is no %sbundle", c->earlier && !o->directory ? "new " : "");
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

int capture_command_hand_over(const struct capture_command *c, int code)
{
    struct handoff_report *handed = &c->result->handed;
    const struct handoff_run run = {.bundle = c->result->bundle,
                                    .inventory = c->target->inventory,
                                    .prompt = c->prompt,
                                    .quiet = c->quiet,
                                    .silent = c->result->wanted};
    signals_bundles(false);
    if (signals_received()) {
        err_set(&handed->why, ERR_CANCELLED, "it was not handed off, because you interrupted");
        talk("%s", handed->why.msg);
        handoff_print_repeat(c->handover, &run, handed);
        /* Not `code`: a signal after the bundle was packed stops only the hand-off. */
        return exit_status_of(&handed->why);
    }
    int ended = handoff_command(c->handover, &run, handed);
    if (ended == EXIT_USAGE) {
        /* The bundle has all collected items. */
        handoff_print_repeat(c->handover, &run, handed);
        return EXIT_HANDOFF;
    }
    return ended != EXIT_OK ? ended : code;
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
    return c->handover && c->result->bundle ? capture_command_hand_over(c, code) : code;
}

int capture_command_end(struct result *result, int code, const struct err *failure)
{
    result->interrupted = signals_received() != 0;
    if (!result->wanted || result_print(result, code, failure, stdout, NULL) == 0)
        return code;
    if (result->bundle)
        talk("the bundle is %s", result->bundle);
    return code == EXIT_OK ? EXIT_PARTIAL : code;
}
