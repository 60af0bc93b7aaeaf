#include "cli/capture.h"

#include <stdio.h>

#include "cli/check_hint.h"
#include "page/page.h"
#include "cli/ending.h"
#include "cli/term/exit.h"
#include "cli/suggest.h"
#include "cli/term/progress.h"
#include "cli/record.h"
#include "cli/args/shell.h"
#include "cli/term/signals.h"
#include "cli/term/talk.h"
#include "cli/target.h"
#include "cli/duplicate_hosts.h"
#include "base/banned.h"

/* Of a line that is to be repeated: what a hint has room for, with words around it. */
#define LINE_MAX_BYTES 220

/* One run: what the observer writes to. */
struct run {
    const struct capture *capture;
    struct result *result; /* the capture's, and so on */
    struct workdir *work;
    struct manifest *manifest;
    struct progress progress;
    struct duplicate_hosts_list duplicates;
    struct fetch_outcome outcome;
    bool said_cost;
    int64_t saved;     /* clock_now() of the last manifest_save */
    int64_t save_took; /* how long that took */
    bool unsaved;      /* something was recorded since */
    size_t kept;       /* files that this run has added */
    struct ending ending;
    struct err record_err; /* the first failure to record */
};

/* ---- observer ------------------------------------------------------------------------------------------ */

static void recorded(struct run *r, int rc, const struct err *why)
{
    if (rc < 0 && r->record_err.kind == ERR_NONE)
        r->record_err = *why;
    r->unsaved = true;
}

/* Whoever resumes a killed run knows only what was saved. That it could not be saved matters only at the end.
 */
static void save(struct run *r)
{
    int64_t began = clock_now();
    manifest_save(r->manifest, r->work, NULL);
    r->saved = clock_now();
    r->save_took = r->saved - began;
    r->unsaved = false;
}

/* At most a tenth of the time goes into it, however large the manifest; but it is always done before
 * something takes long. */
static void save_now_and_then(struct run *r, bool before_long)
{
    if (r->unsaved && (before_long || clock_now() - r->saved >= 9 * r->save_took))
        save(r);
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

/* What is said of a failure. */
static struct err explain(const struct run *r, const struct host *host, const struct service *service,
                          const struct err *failure)
{
    return check_hint(r->capture->way, r->capture->fetch.targets, host, service, failure);
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *why)
{
    struct run *r = ctx;
    struct err err = ERR_INIT, told = ERR_INIT;
    struct verdicts verdicts = {0};
    const struct err *failure = NULL;
    if (why) {
        told = explain(r, host, NULL, why);
        failure = &told;
    }
    progress_host(&r->progress, host, gw, failure);
    outcomes_host(&r->result->outcomes, host, failure);
    recorded(r, duplicate_hosts_verdict(&r->duplicates, host, &verdicts, &err), &err);
    const struct record_host record = {.host = host,
                                       .gw = gw,
                                       .failure = failure,
                                       .against = is_against(r->capture, host),
                                       .verdicts = &verdicts};
    recorded(r, record_host(r->manifest, &record, &err), &err);
    verdicts_release(&verdicts);
    if (failure) {
        recorded(r, result_add_failure(r->result, host, NULL, failure, &err), &err);
        ending_count_failure(&r->ending, failure);
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
        bool comes = !s->planned[i].left_out && !s->planned[i].already_collected && !s->planned[i].absent;
        sum += comes ? s->planned[i].bytes : 0;
        timed_ms += comes ? s->planned[i].timed_ms : 0;
    }
    bool worth_it = fetch->options.budget_bytes > 0 || fetch->options.budget_ms > 0 ||
                    (fetch->targets->n > 1 && timed_ms > 0);
    if (r->said_cost || s->n_items == 0 || !worth_it)
        return;
    text_duration(timed, sizeof timed, timed_ms);
    snprintf(line, sizeof line, "estimate for each process, from %s/%s: %s%s%s", target->host->name,
             target->service->name, timed_ms ? timed : "", timed_ms ? " of profiling, " : "",
             text_bytes(bytes, sizeof bytes, sum));
    progress_say(&r->progress, line);
    r->said_cost = true;
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service *service)
{
    struct run *r = ctx;
    struct err err = ERR_INIT, told = ERR_INIT;
    struct fetch_service explained = *service, *s = &explained;
    if (s->failure) {
        told = explain(r, target->host, target->service, s->failure);
        s->failure = &told;
    }
    progress_service(&r->progress, target, s);
    outcomes_service(&r->result->outcomes, target, s);
    say_cost(r, target, s);
    recorded(r, record_service(r->manifest, target, s, &err), &err);
    if (s->failure) {
        recorded(r, result_add_failure(r->result, target->host, target->service, s->failure, &err), &err);
        ending_count_failure(&r->ending, s->failure);
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
    ending_count_item(&r->ending, item);
    save_now_and_then(r, false);
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

/* ---- the run ------------------------------------------------------------------------------------------- */

/* `profgrab resume`, with what makes it find the same. Nobody can repeat half a line: where it does not fit,
 * it is only the command. */
static const char *resume_line(const struct capture *c, const char *path, struct buf *ret)
{
    const struct {
        const char *option, *value;
    } way[] = {{"-i", c->way->inventory},
               {"-F", c->way->ssh_config},
               {"--via", c->way->via},
               {"--from", c->way->from}};
    buf_adds(ret, "profgrab resume ");
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        if (!way[i].value)
            continue;
        buf_addf(ret, "%s ", way[i].option);
        shell_add_word(ret, way[i].value);
        buf_addc(ret, ' ');
    }
    if (c->way->accept_new)
        buf_adds(ret, "--accept-new ");
    shell_add_word(ret, path);
    return ret->failed ? "profgrab resume" : buf_str(ret);
}

/* Where it was to add to a bundle, that one is as good; what an earlier run collected stays. */
static void leave_work(struct run *r)
{
    const struct capture *c = r->capture;
    if (c->bundle || !c->resumed)
        workdir_remove(r->work);
    if (c->resumed)
        talk("%s stays as it was", c->bundle ? c->bundle : workdir_path(r->work));
}

static int nothing_collected(struct run *r, struct err *err)
{
    int code = ending_code(&r->ending);
    leave_work(r);
    /* The reasons were told one by one as they came; a wrong request needs no more than its own. */
    if (r->ending.signal)
        err_set(err, ERR_CANCELLED, "interrupted; nothing was collected, so there is no bundle");
    else if (code != EXIT_USAGE)
        talk("nothing was collected, so there is no %sbundle", r->capture->bundle ? "new " : "");
    return code;
}

/* The work directory stays: it is all that was collected. */
static int not_bundled(struct run *r, struct err *err)
{
    bool cancelled = err->kind == ERR_CANCELLED, too_large = err->kind == ERR_LIMIT;
    err_wrap(err, "the bundle could not be written");
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    save(r);
    if (too_large)
        err_hint(err,
                 "everything collected is in %s: `profgrab bundle create DIRECTORY...` packs parts of it",
                 workdir_path(r->work));
    else
        err_hint(err, "everything collected is in %s: %s`%s`%s", workdir_path(r->work),
                 cancelled ? "" : "make room, then ", resume_line(r->capture, workdir_path(r->work), &line),
                 cancelled ? " packs it" : "");
    buf_release(&line);
    r->ending.signal = signals_received();
    r->ending.bundled = false;
    r->ending.unusable = 0; /* that is not why */
    return ending_code(&r->ending);
}

/* What the second Ctrl-C says. */
static void prepare_farewell(const char *what, const char *path, const char *next)
{
    char line[1000];
    snprintf(line, sizeof line, "\nprofgrab: left at once; %s %.600s%s\n", what, path, next);
    signals_farewell(line);
}

static void say_incomplete(const struct run *r, const char *bundle)
{
    struct err said = ERR_INIT;
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    ending_explain(&r->ending, resume_line(r->capture, bundle, &line), &said);
    talk_error(stderr, &said);
    buf_release(&line);
}

/* Whether there is anything to make a bundle of that is not in one. */
static bool anything(const struct run *r)
{
    if (r->kept > 0)
        return true;
    return r->capture->resumed && !r->capture->bundle && manifest_n_files(r->manifest) > 0;
}

static void prepare_first_farewell(const struct run *r)
{
    struct buf line = BUF_INIT(LINE_MAX_BYTES);
    char next[LINE_MAX_BYTES + 60];
    snprintf(next, sizeof next, "\nhint: `%s` fetches the rest",
             resume_line(r->capture, workdir_path(r->work), &line));
    prepare_farewell("what was collected is in", workdir_path(r->work), next);
    buf_release(&line);
}

/* Ends the manifest and packs the bundle. */
static int pack(struct run *r, char **ret_path, struct err *err)
{
    /* Also where a signal came behind the last item. */
    bool all = r->ending.damaged + r->ending.missing == 0;
    /* What the manifest does not name would not be packed: better no bundle than one without it. */
    if (r->record_err.kind != ERR_NONE) {
        *err = r->record_err;
        return -1;
    }
    if (manifest_finish(r->manifest, clock_utc(), r->ending.signal != 0, all, err) < 0)
        return -1;
    r->outcome.out_of_time = r->outcome.out_of_time && !all;
    if (record_run(r->manifest, &r->capture->fetch, &r->outcome, err) < 0)
        return -1;
    struct err undrawn = ERR_INIT;
    if (page_build_workdir(r->manifest, r->work, signals_cancel_fd(), &undrawn) < 0)
        talk(BUNDLE_REPORT " could not be made, and the bundle goes without it: %s", undrawn.msg);
    /* A signal that ended the capture is what the bundle is packed for. */
    return bundle_pack(r->work, r->manifest, r->ending.signal ? -1 : signals_cancel_fd(), ret_path, err);
}

/* Says how it ended and prints the bundle's path. */
static int tell_end(struct run *r, char *path)
{
    int code = ending_code(&r->ending);
    prepare_farewell("the bundle is", path, "");
    if (r->ending.signal)
        talk("interrupted: the bundle holds what was collected until then");
    if (r->ending.damaged + r->ending.missing > 0)
        say_incomplete(r, path);
    r->result->complete = ending_is_complete(&r->ending);
    r->result->bundle = path;
    bool told = r->result->wanted || (printf("%s\n", path) > 0 && fflush(stdout) == 0);
    if (!told)
        talk("the bundle is %s", path);
    if (told && code == EXIT_OK && !r->capture->quiet && !r->result->wanted)
        next_say_bundle(path);
    return code == EXIT_OK && !told ? EXIT_PARTIAL : code;
}

static int bundle(struct run *r, struct err *err)
{
    char *path = NULL;
    progress_end(&r->progress);
    if (r->capture->fetch.targets->n > 1 && !r->capture->quiet && !r->result->wanted)
        outcomes_print(&r->result->outcomes, r->capture->verbose, stderr);
    r->ending.signal = signals_received();
    r->ending.whole = manifest_n_whole(r->manifest);
    r->ending.bundled = anything(r);
    if (!r->ending.bundled)
        return nothing_collected(r, err);
    return pack(r, &path, err) < 0 ? not_bundled(r, err) : tell_end(r, path);
}

static bool on_have(void *ctx, const struct target *target, const struct fetch_planned *item,
                    int64_t *ret_started)
{
    const struct run *r = ctx;
    return manifest_has(r->manifest,
                        &(struct manifest_wanted){.host = target->host->name,
                                                  .service = target->service->name,
                                                  .kind = item->kind,
                                                  .argument = item->argument,
                                                  .pair = item->pair},
                        ret_started);
}

static int collect(struct run *r, struct err *err)
{
    struct fetch_grab grab = r->capture->fetch;
    struct fetch_observer observer = {.ctx = r,
                                      .opening = on_opening,
                                      .host = on_host,
                                      .service = on_service,
                                      .item = on_item,
                                      .progress = on_progress,
                                      .step = on_step,
                                      .have = r->capture->resumed ? on_have : NULL};
    grab.directory = workdir_files(r->work);
    grab.observer = &observer;
    if (target_begin(&grab, err) < 0)
        return -1;
    int rc = fetch_run(&grab, &r->outcome, err);
    target_end();
    return rc;
}

int capture_hand_over(const struct capture *c, int code)
{
    struct handoff_report *handed = &c->result->handed;
    const struct handoff_run run = {.bundle = c->result->bundle,
                                    .inventory = c->way->inventory,
                                    .prompt = c->prompt,
                                    .quiet = c->quiet,
                                    .silent = c->result->wanted};
    signals_bundles(false);
    if (signals_received()) {
        err_set(&handed->why, ERR_CANCELLED, "it was not handed over, since you interrupted");
        talk("%s", handed->why.msg);
        handoff_print_repeat(c->handover, &run, handed);
        /* Not `code`: a signal that came when the bundle was packed has cost the hand-off alone. */
        return exit_status_of(&handed->why);
    }
    int ended = handoff_command(c->handover, &run, handed);
    if (ended == EXIT_USAGE) {
        /* What was collected is in the bundle, whatever became of it after that. */
        handoff_print_repeat(c->handover, &run, handed);
        return EXIT_HANDOFF;
    }
    return ended != EXIT_OK ? ended : code;
}

int capture_run(struct capture *c, struct err *err)
{
    struct run r = {.capture = c, .result = c->result, .work = c->work, .manifest = c->manifest};
    int code;
    r.ending.missing = c->missing;
    progress_init(&r.progress,
                  &(struct progress_options){
                      .quiet = c->quiet, .verbose = c->verbose, .out = stderr, .prompt = c->prompt});
    prepare_first_farewell(&r);
    signals_bundles(true);
    save(&r);
    if (targets_find_duplicates(c->fetch.targets, &r.duplicates, err) < 0 ||
        outcomes_new(&r.result->outcomes, c->fetch.targets, err) < 0 || collect(&r, err) < 0) {
        leave_work(&r);
        code = exit_status_of(err);
    } else {
        code = bundle(&r, err);
        if (c->handover && r.result->bundle)
            code = capture_hand_over(c, code);
    }
    progress_end(&r.progress);
    duplicate_hosts_release(&r.duplicates);
    return code;
}

/* ---- before and behind it ------------------------------------------------------------------------------ */

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

int capture_check_kinds(const struct strlist *kinds, const struct targets *targets, bool yes, struct err *err)
{
    if (kinds->n > 0)
        return check_duration(kinds, yes, err);
    for (size_t i = 0; i < targets->n; i++)
        if (check_duration(&targets->items[i].service->kinds, yes, err) < 0)
            return err_wrap(err, "kinds of the service \"%s\"", targets->items[i].service->name);
    return 0;
}

int capture_check_room(const struct strlist *kinds, const struct targets *targets, bool pair, struct err *err)
{
    size_t items = 0, all = 0;
    for (size_t i = 0; i < targets->n; i++) {
        if ((i == 0 || kinds->n == 0) &&
            fetch_count_items(kinds->n > 0 ? kinds : &targets->items[i].service->kinds, &items, err) < 0)
            return -1;
        all += pair ? 2 * items : items;
    }
    return bundle_check_room(targets->n, all, err);
}

int capture_end(struct result *result, int code, const struct err *failure)
{
    result->interrupted = signals_received() != 0;
    if (!result->wanted || result_print(result, code, failure, stdout, NULL) == 0)
        return code;
    if (result->bundle)
        talk("the bundle is %s", result->bundle);
    return code == EXIT_OK ? EXIT_PARTIAL : code;
}
