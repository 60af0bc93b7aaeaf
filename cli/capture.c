#include "cli/capture.h"

#include <stdio.h>

#include "cli/drawing.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/signals.h"
#include "cli/talk.h"
#include "cli/target.h"
#include "cli/twin_hosts.h"
#include "base/banned.h"

/* One run: what the observer writes to. */
struct run {
    const struct capture *capture;
    struct result *result; /* the capture's, and so on */
    struct workdir *work;
    struct manifest *manifest;
    struct progress progress;
    struct twins_list twins;
    struct fetch_outcome outcome;
    bool said_cost;
    int64_t saved; /* clock_now() of the last manifest_save */
    bool unsaved;  /* something was recorded since */
    size_t kept;   /* files in the work directory */
    size_t missing;
    size_t unusable;       /* what failed for a usage error: an unknown kind */
    struct err record_err; /* the first failure to record */
};

/* ---- observer ------------------------------------------------------------------------------------------ */

static void recorded(struct run *r, int rc, const struct err *why)
{
    if (rc < 0 && r->record_err.kind == ERR_NONE)
        r->record_err = *why;
    r->unsaved = true;
}

/* The manifest in the work directory lets a killed run be made sense of. It is saved once a second where many
 * items come, and before whatever takes long. That it could not be saved matters only at the end. */
static void save_now_and_then(struct run *r, bool before_long)
{
    if (!r->unsaved || (!before_long && clock_now() - r->saved < 1000))
        return;
    manifest_save(r->manifest, r->work, NULL);
    r->saved = clock_now();
    r->unsaved = false;
}

static void on_opening(void *ctx, const struct host *host)
{
    struct run *r = ctx;
    progress_opening(&r->progress, host);
    outcomes_opening(&r->result->outcomes, host);
}

static bool is_against(const struct capture *c, const struct host *host)
{
    for (size_t i = 0; c->against && i < c->against->n; i++)
        if (c->against->items[i].host == host)
            return true;
    return false;
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    struct verdicts verdicts = {0};
    progress_host(&r->progress, host, gw, failure);
    outcomes_host(&r->result->outcomes, host, failure);
    recorded(r, twin_hosts_verdict(&r->twins, host, &verdicts, &err), &err);
    const struct record_host record = {.host = host,
                                       .gw = gw,
                                       .failure = failure,
                                       .against = is_against(r->capture, host),
                                       .verdicts = &verdicts};
    recorded(r, record_host(r->manifest, &record, &err), &err);
    verdicts_release(&verdicts);
    if (failure) {
        recorded(r, result_add_failure(r->result, host, NULL, failure, &err), &err);
        r->missing++;
        r->unusable += failure->kind == ERR_USAGE;
    }
}

/* What each process is about to be asked for, by the first whose index page was read. Of one alone that is
 * said as it comes, unless it is not to be much. */
static void say_cost(struct run *r, const struct target *target, const struct fetch_service *s)
{
    const struct fetch_grab *fetch = &r->capture->fetch;
    char line[700], bytes[32], timed[32];
    uint64_t sum = 0;
    int64_t timed_ms = 0;
    for (size_t i = 0; i < s->n_items; i++) {
        sum += s->planned[i].left_out ? 0 : s->planned[i].bytes;
        timed_ms += s->planned[i].left_out ? 0 : s->planned[i].timed_ms;
    }
    bool worth_it =
        fetch->budget_bytes > 0 || fetch->budget_ms > 0 || (fetch->targets->n > 1 && timed_ms > 0);
    if (r->said_cost || s->n_items == 0 || !worth_it)
        return;
    snprintf(line, sizeof line, "each process: %s of profiling and about %s, as %s: %s is estimated",
             text_duration(timed, sizeof timed, timed_ms), text_bytes(bytes, sizeof bytes, sum),
             target->host->name, target->service->name);
    progress_say(&r->progress, line);
    r->said_cost = true;
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service *s)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    progress_service(&r->progress, target, s);
    outcomes_service(&r->result->outcomes, target, s);
    say_cost(r, target, s);
    recorded(r, record_service(r->manifest, target, s, &err), &err);
    if (s->failure) {
        recorded(r, result_add_failure(r->result, target->host, target->service, s->failure, &err), &err);
        r->missing++;
        r->unusable += s->failure->kind == ERR_USAGE;
    }
}

static void on_item(void *ctx, const struct target *target, const struct fetch_item *item)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    progress_item(&r->progress, target, item);
    outcomes_item(&r->result->outcomes, target, item);
    recorded(r, record_item(r->manifest, target, item, &err), &err);
    recorded(r, result_add_item(r->result, target, item, &err), &err);
    r->kept += item->file[0] != '\0';
    r->missing += item->status != FETCH_OK;
}

static void on_progress(void *ctx, const struct target *target, const struct fetch_progress *now)
{
    struct run *r = ctx;
    /* Before it is said that something long begins: whoever sees that may end us. */
    save_now_and_then(r, now->elapsed_ms == 0 && now->timed_ms > 0);
    progress_under_way(&r->progress, target, now);
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    struct run *r = ctx;
    progress_step(&r->progress, host, service, step);
}

/* Not the observer's: from any thread. */
static void on_question(void *ctx)
{
    progress_pause(ctx);
}

static void on_answer(void *ctx)
{
    progress_resume(ctx);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int nothing_collected(struct run *r, struct err *err)
{
    file_remove(workdir_path(r->work), NULL);
    if (signals_received()) {
        err_set(err, ERR_CANCELLED, "interrupted; nothing was collected, so there is no bundle");
        return exit_status_of(err);
    }
    /* The reasons were told one by one as they came. */
    if (r->unusable > 0)
        return EXIT_USAGE;
    talk("nothing was collected, so there is no bundle");
    return EXIT_NOTHING;
}

/* The work directory stays: it is all that was collected. */
static int not_bundled(const struct run *r, struct err *err)
{
    err_wrap(err, "the bundle could not be written");
    err_hint(err, "everything collected is in %s: make room, then `profgrab bundle create -o OUT.tar.gz %s`",
             workdir_path(r->work), workdir_path(r->work));
    return signals_received() ? EXIT_SIGNAL + signals_received() : EXIT_NOTHING;
}

/* What the second Ctrl-C says. */
static void prepare_farewell(const char *what, const char *path, const char *next)
{
    char line[1000];
    snprintf(line, sizeof line, "\nprofgrab: left at once; %s %s%s\n", what, path, next);
    signals_farewell(line);
}

static int bundle(struct run *r, struct err *err)
{
    char *path = NULL;
    bool interrupted = signals_received() != 0;
    progress_end(&r->progress);
    if (r->capture->fetch.targets->n > 1 && !r->capture->quiet && !r->result->wanted)
        outcomes_print(&r->result->outcomes, r->capture->verbose, stderr);
    if (r->kept == 0)
        return nothing_collected(r, err);
    /* What the manifest does not name would not be packed: better no bundle than one without it. */
    if (r->record_err.kind != ERR_NONE) {
        *err = r->record_err;
        return not_bundled(r, err);
    }
    if (manifest_finish(r->manifest, clock_utc(), interrupted, r->missing == 0, err) < 0)
        return not_bundled(r, err);
    r->outcome.out_of_time = r->outcome.out_of_time && r->missing > 0;
    if (record_run(r->manifest, &r->capture->fetch, &r->outcome, err) < 0)
        return not_bundled(r, err);
    drawing_or_talk(r->manifest, r->work);
    if (bundle_pack(r->work, r->manifest, &path, err) < 0)
        return not_bundled(r, err);
    prepare_farewell("the bundle is", path, "");
    if (interrupted)
        talk("interrupted: the bundle holds what was collected until then");
    if (r->missing > 0)
        talk("not complete: %zu missing, see above; %zu files collected", r->missing, r->kept);
    r->result->complete = r->missing == 0 && !interrupted;
    r->result->bundle = path;
    bool told = r->result->wanted || (printf("%s\n", path) > 0 && fflush(stdout) == 0);
    if (!told)
        talk("the bundle is %s", path);
    if (interrupted)
        return EXIT_SIGNAL + signals_received();
    return r->missing > 0 || !told ? EXIT_PARTIAL : EXIT_OK;
}

static int collect(struct run *r, struct err *err)
{
    struct prompt *prompt = r->capture->prompt;
    struct fetch_grab grab = r->capture->fetch;
    struct fetch_observer observer = {.ctx = r,
                                      .opening = on_opening,
                                      .host = on_host,
                                      .service = on_service,
                                      .item = on_item,
                                      .progress = on_progress,
                                      .step = on_step};
    prompt->pause = on_question;
    prompt->resume = on_answer;
    prompt->ctx = &r->progress;
    grab.directory = workdir_path(r->work);
    grab.observer = &observer;
    grab.outcome = &r->outcome;
    int rc = target_run(&grab, err);
    prompt->pause = prompt->resume = NULL;
    return rc;
}

/* The exit code of a run whose bundle is there, and is to be handed over. */
static int hand_over(struct run *r, int code)
{
    const struct capture *c = r->capture;
    const char *bundle = r->result->bundle;
    struct handover_result *handed = &r->result->handed;
    if (signals_received()) {
        err_set(&handed->why, ERR_CANCELLED, "it was not handed over, since you interrupted");
        talk("%s", handed->why.msg);
        handover_say_repeat(c->handover, c->inventory, bundle, handed);
        return code;
    }
    const struct handover_run run = {
        .bundle = bundle, .prompt = c->prompt, .quiet = c->quiet, .silent = r->result->wanted};
    int ended = handover_command(c->handover, &run, c->inventory, handed);
    if (ended == EXIT_USAGE) {
        /* What was collected is in the bundle, whatever became of it after that. */
        handover_say_repeat(c->handover, c->inventory, bundle, handed);
        return EXIT_HANDOFF;
    }
    return ended != EXIT_OK ? ended : code;
}

int capture_run(struct capture *c, struct err *err)
{
    struct run r = {.capture = c, .result = c->result, .work = c->work, .manifest = c->manifest};
    int code;
    progress_init(&r.progress,
                  &(struct progress_options){.quiet = c->quiet, .verbose = c->verbose, .out = stderr});
    prepare_farewell("what was collected is in", workdir_path(r.work),
                     "\nhint: `profgrab bundle create` makes a bundle of that directory");
    if (targets_twins(c->fetch.targets, &r.twins, err) < 0 ||
        outcomes_new(&r.result->outcomes, c->fetch.targets, err) < 0 || collect(&r, err) < 0) {
        file_remove(workdir_path(r.work), NULL);
        code = exit_status_of(err);
    } else {
        code = bundle(&r, err);
        if (c->handover && r.result->bundle)
            code = hand_over(&r, code);
    }
    progress_end(&r.progress);
    twins_release(&r.twins);
    return code;
}
