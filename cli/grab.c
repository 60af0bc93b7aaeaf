/* `profgrab grab`, the main job: resolve, open, fetch, check, bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/drawing.h"
#include "cli/exit.h"
#include "cli/handover.h"
#include "cli/progress.h"
#include "cli/record.h"
#include "cli/result.h"
#include "cli/signals.h"
#include "cli/talk.h"
#include "cli/target.h"
#include "base/banned.h"

struct grab_options {
    struct target_options target;
    struct handover_options handover;
    const char *output;
    const char *reason;
    uint64_t max_bytes;
    bool concurrent;
    bool yes;
    bool quiet;
    bool verbose;
    bool json;
};

static const struct option options[] = {
    TARGET_OPTION_ROWS(struct grab_options, target),
    HANDOVER_OPTION_ROWS(struct grab_options, handover),
    TARGET_PARALLEL_ROW(struct grab_options, target),
    {"output", 'o', OPTION_TEXT, "PATH", "a directory for the bundle, or its name ending in .tar.gz",
     offsetof(struct grab_options, output), 0},
    {"reason", 0, OPTION_TEXT, "TEXT", "why you collect; goes into the manifest",
     offsetof(struct grab_options, reason), 0},
    {"max-bytes", 0, OPTION_BYTES, "SIZE",
     "the most that is taken of one item (default 512MiB; trace 2GiB, cmdline and symbol 4MiB)",
     offsetof(struct grab_options, max_bytes), 0},
    {"concurrent", 0, OPTION_FLAG, NULL,
     "take a process's cpu, trace and deltas at the same time (they then show each other's work)",
     offsetof(struct grab_options, concurrent), 0},
    {"yes", 'y', OPTION_FLAG, NULL, "go on where a question would be asked (profiles over 5 minutes)",
     offsetof(struct grab_options, yes), 0},
    {"quiet", 'q', OPTION_FLAG, NULL, "say nothing but errors", offsetof(struct grab_options, quiet), 0},
    {"verbose", 'v', OPTION_FLAG, NULL, "say every step on the way, and notes on what was fetched",
     offsetof(struct grab_options, verbose), 0},
    {"json", 0, OPTION_FLAG, NULL, "say on stdout what came of it as JSON, instead of the bundle's path",
     offsetof(struct grab_options, json), 0},
    OPTIONS_END,
};

/* One run: what the observer writes to. */
struct run {
    struct progress progress;
    struct prompt *prompt;
    struct result *result;
    struct workdir *work;
    struct manifest *manifest;
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
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    progress_host(&r->progress, host, gw, failure);
    recorded(r, record_host(r->manifest, host, gw, failure, &err), &err);
    if (failure) {
        recorded(r, result_add_failure(r->result, host, NULL, failure, &err), &err);
        r->missing++;
        r->unusable += failure->kind == ERR_USAGE;
    }
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service *s)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    progress_service(&r->progress, target, s);
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

/* ---- before anything is opened ------------------------------------------------------------------------- */

static int check_duration(const struct strlist *kinds, bool yes, struct err *err)
{
    int64_t longest = 0;
    char text[32];
    if (fetch_check_kinds(kinds, &longest, err) < 0)
        return -1;
    if (longest <= FETCH_LONG_MS || yes)
        return 0;
    err_set(err, ERR_USAGE, "a profile of %s is longer than 5 minutes",
            text_duration(text, sizeof text, longest));
    return err_hint(err, "add --yes if you mean it");
}

/* Words of the user, or of each service where there are none. */
static int check_kinds(const struct strlist *kinds, const struct targets *targets, bool yes, struct err *err)
{
    if (kinds->n > 0)
        return check_duration(kinds, yes, err);
    for (size_t i = 0; i < targets->n; i++)
        if (check_duration(&targets->items[i].service->kinds, yes, err) < 0)
            return err_wrap(err, "kinds of the service \"%s\"", targets->items[i].service->name);
    return 0;
}

/* Kinds may be given as words or between commas; a raw path may hold commas of its own. */
static int split_kinds(const struct strlist *words, struct strlist *kinds, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->n; i++)
        rc = words->items[i][0] == '/' ? strlist_add(kinds, words->items[i], err)
                                       : strlist_split(kinds, words->items[i], err);
    return rc;
}

/* Somebody who misspelt a command's name did not mean a kind. */
static int no_host(const struct strlist *words, struct err *err)
{
    struct nearest near = NEAREST_INIT(words->n ? words->items[0] : "");
    for (size_t i = 0; command_at(i); i++)
        nearest_offer(&near, command_at(i)->name);
    err_set(err, ERR_USAGE, "no host given");
    if (near.n > 0)
        return err_hint(err, "did you mean `profgrab %s`? or name a host: profgrab --host NAME %s",
                        near.best[0].name, words->items[0]);
    return err_hint(err,
                    "profgrab --host NAME [KIND...]; `profgrab hosts` lists the inventory, `profgrab help` "
                    "says more");
}

/* What the bundle is named after: the host, the group, or how many hosts. */
static void name_subject(const struct grab_options *o, const struct targets *targets, char *dst, size_t cap)
{
    size_t hosts = 0;
    for (size_t i = 0; i < targets->n; i++)
        hosts += i == 0 || targets->items[i].host != targets->items[i - 1].host;
    if (hosts == 1)
        snprintf(dst, cap, "%s", targets->items[0].host->name);
    else if (o->target.selection.groups.n == 1 && o->target.selection.hosts.n == 0)
        snprintf(dst, cap, "%s", o->target.selection.groups.items[0]);
    else
        snprintf(dst, cap, "%zu-hosts", hosts);
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
    if (r->kept == 0)
        return nothing_collected(r, err);
    /* What the manifest does not name would not be packed: better no bundle than one without it. */
    if (r->record_err.kind != ERR_NONE) {
        *err = r->record_err;
        return not_bundled(r, err);
    }
    if (manifest_finish(r->manifest, clock_utc(), interrupted, r->missing == 0, err) < 0)
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

static int collect(struct run *r, const struct grab_options *o, const struct targets *targets,
                   const struct strlist *kinds, struct err *err)
{
    struct ssh_settings ssh;
    struct fetch_observer observer = {.ctx = r,
                                      .opening = on_opening,
                                      .host = on_host,
                                      .service = on_service,
                                      .item = on_item,
                                      .progress = on_progress,
                                      .step = on_step};
    r->prompt->pause = on_question;
    r->prompt->resume = on_answer;
    r->prompt->ctx = &r->progress;
    struct fetch_grab grab = target_grab(&o->target, targets, &ssh, r->prompt);
    grab.kinds = kinds;
    grab.directory = workdir_path(r->work);
    grab.max_bytes = o->max_bytes;
    grab.concurrent = o->concurrent;
    grab.observer = &observer;
    int rc = target_run(&grab, err);
    r->prompt->pause = r->prompt->resume = NULL;
    return rc;
}

/* The exit code of a run whose bundle is there, and is to be handed over. */
static int hand_over(struct run *r, const struct grab_options *o, const struct handover *h, int code)
{
    struct handover_result *handed = &r->result->handed;
    if (signals_received()) {
        err_set(&handed->why, ERR_CANCELLED, "it was not handed over, since you interrupted");
        talk("%s", handed->why.msg);
        handover_say_repeat(h, o->target.inventory, r->result->bundle, handed);
        return code;
    }
    const struct handover_run run = {
        .bundle = r->result->bundle, .prompt = r->prompt, .quiet = o->quiet, .silent = r->result->wanted};
    int ended = handover_command(h, &run, o->target.inventory, handed);
    if (ended == EXIT_USAGE) {
        /* What was collected is in the bundle, whatever became of it after that. */
        handover_say_repeat(h, o->target.inventory, r->result->bundle, handed);
        return EXIT_HANDOFF;
    }
    return ended != EXIT_OK ? ended : code;
}

static int run_targets(const struct grab_options *o, const struct targets *targets,
                       const struct strlist *kinds, const struct handover *h, struct result *result,
                       struct err *err)
{
    struct prompt prompt;
    struct run r = {.result = result, .prompt = &prompt};
    char subject[300];
    int64_t started = clock_utc();
    int code;
    name_subject(o, targets, subject, sizeof subject);
    if (signals_install(err) < 0 || target_prompt(&o->target, &prompt, err) < 0)
        return exit_status_of(err);
    if (workdir_new(o->output, subject, started, &r.work, err) < 0) {
        prompt_release(&prompt);
        return exit_status_of(err);
    }
    progress_init(&r.progress,
                  &(struct progress_options){.quiet = o->quiet, .verbose = o->verbose, .out = stderr});
    prepare_farewell("what was collected is in", workdir_path(r.work),
                     "\nhint: `profgrab bundle create` makes a bundle of that directory");
    if (record_new(workdir_name(r.work), o->reason, started, &r.manifest, err) < 0 ||
        collect(&r, o, targets, kinds, err) < 0) {
        file_remove(workdir_path(r.work), NULL);
        code = exit_status_of(err);
    } else {
        code = bundle(&r, err);
        if (h && result->bundle)
            code = hand_over(&r, o, h, code);
    }
    progress_end(&r.progress);
    manifest_free(r.manifest);
    workdir_free(r.work);
    prompt_release(&prompt);
    return code;
}

/* The last thing said: a bundle whose path was not told is named on stderr. */
static int print_result(struct result *result, int code, const struct err *failure)
{
    result->interrupted = signals_received() != 0;
    if (!result->wanted || result_print(result, code, failure, stdout, NULL) == 0)
        return code;
    if (result->bundle)
        talk("the bundle is %s", result->bundle);
    return code == EXIT_OK ? EXIT_PARTIAL : code;
}

static int run(int argc, char **argv, struct err *err)
{
    struct grab_options o = {.target = TARGET_OPTIONS_INIT};
    struct strlist words = {0}, kinds = {0};
    struct targets targets = {0};
    struct inventory *inventory = NULL;
    struct result result = {0};
    struct handover h = {0};
    bool handed = false;
    int code = EXIT_USAGE;
    if (options_parse(options, argc, argv, &o, &words, err) < 0 ||
        handover_wanted(&o.handover, &handed, err) < 0)
        goto out;
    result.wanted = o.json;
    result.handing = handed;
    if (o.target.selection.hosts.n == 0 && o.target.selection.groups.n == 0) {
        no_host(&words, err);
        goto out;
    }
    if (o.quiet && o.verbose) {
        err_set(err, ERR_USAGE, "--quiet and --verbose cannot both be");
        goto out;
    }
    if (split_kinds(&words, &kinds, err) < 0 || target_resolve(&o.target, &inventory, &targets, err) < 0 ||
        check_kinds(&kinds, &targets, o.yes, err) < 0 ||
        (handed && handover_prepare(&o.handover, inventory, &h, err) < 0))
        code = exit_status_of(err);
    else
        code = run_targets(&o, &targets, &kinds, handed ? &h : NULL, &result, err);
out:
    code = print_result(&result, code, err);
    result_release(&result);
    handover_release(&h);
    targets_release(&targets);
    inventory_free(inventory);
    strlist_release(&words);
    strlist_release(&kinds);
    target_options_release(&o.target);
    handover_options_release(&o.handover);
    return code;
}

const struct command command_grab = {
    .name = "grab",
    .synopsis = "--host NAME[,NAME...] [options] [KIND...]",
    .summary = "fetch profiles from hosts into one bundle (the word `grab` may be left out)",
    .details =
        "Without a KIND: the service's own kinds from the inventory, else the set `default`.\n"
        "The bundle's path is printed on stdout, and with --for or --to the address of the issue. Exit "
        "codes: 0 everything asked for is in the bundle,\n"
        "1 nothing collected, 2 usage, inventory or an unknown kind, 3 a bundle was written but something\n"
        "is missing, 4 it was written but could not be handed over (--for, --to); 129 hung up,\n"
        "130 interrupted, 143 terminated, with a bundle if anything had come.",
    .options = options,
    .words = WORDS_KINDS,
    .run = run,
};
