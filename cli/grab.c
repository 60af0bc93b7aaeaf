/* `profgrab grab`, the main job: resolve, open, fetch, check, bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/handover.h"
#include "cli/record.h"
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

static int capture(const struct grab_options *o, struct capture *c, struct err *err)
{
    char subject[300];
    int64_t started = clock_utc();
    name_subject(o, c->fetch.targets, subject, sizeof subject);
    if (workdir_new(o->output, subject, started, &c->work, err) < 0)
        return exit_status_of(err);
    int code;
    if (record_new(workdir_name(c->work), o->reason, started, &c->manifest, err) < 0) {
        file_remove(workdir_path(c->work), NULL);
        code = exit_status_of(err);
    } else {
        code = capture_run(c, err);
    }
    manifest_free(c->manifest);
    workdir_free(c->work);
    return code;
}

static int run_targets(const struct grab_options *o, const struct targets *targets,
                       const struct strlist *kinds, const struct handover *h, struct result *result,
                       struct err *err)
{
    struct prompt prompt;
    struct ssh_settings ssh;
    if (signals_install(err) < 0 || target_prompt(&o->target, &prompt, err) < 0)
        return exit_status_of(err);
    struct capture c = {.fetch = target_grab(&o->target, targets, &ssh, &prompt),
                        .prompt = &prompt,
                        .result = result,
                        .handover = h,
                        .inventory = o->target.inventory,
                        .quiet = o->quiet,
                        .verbose = o->verbose};
    c.fetch.kinds = kinds;
    c.fetch.max_bytes = o->max_bytes;
    c.fetch.concurrent = o->concurrent;
    int code = capture(o, &c, err);
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
