/* `profgrab resume`: collects the rest of a run that was killed, or that is not complete (capture/resume.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/capture.h"
#include "cli/capture/capture_command.h"
#include "cli/args/command.h"
#include "cli/term/confirm.h"
#include "cli/capture/fetch_options.h"
#include "cli/term/exit.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/term/message.h"
#include "cli/hosts/resolve.h"
#include "cli/hosts/target.h"
#include "base/banned.h"

struct resume_options {
    struct target_options target;
    struct delivery_options delivery;
    struct fetch_arguments fetch;
    const char *output;
    bool yes;
    bool quiet;
    bool verbose;
    bool json;
};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "PATH",
     "for a BUNDLE: a directory for the new one (DIR/ is created if it is missing), or its name ending in "
     ".tar.gz (default: beside the old one)",
     offsetof(struct resume_options, output), 0},
    {"from", 0, OPTION_TEXT_ONCE, "SOURCE", "the discovery source of the run, if it had one",
     offsetof(struct resume_options, target.from), 0},
    TARGET_PARALLEL_ROW(struct resume_options, target),
    FETCH_OPTION_ROWS(struct resume_options, fetch),
    HANDOFF_OPTION_ROWS(struct resume_options, delivery),
    TARGET_ACCESS_ROWS(struct resume_options, target),
    {"yes", 'y', OPTION_FLAG, NULL,
     "answer yes to questions (profiles over 5 minutes, or of more than 10 targets)",
     offsetof(struct resume_options, yes), 0},
    {"quiet", 'q', OPTION_FLAG, NULL, "print only errors", offsetof(struct resume_options, quiet), 0},
    {"verbose", 'v', OPTION_FLAG, NULL, "print every step and minor findings",
     offsetof(struct resume_options, verbose), 0},
    {"json", 0, OPTION_FLAG, NULL, "print the result as JSON on stdout, instead of the bundle's path",
     offsetof(struct resume_options, json), 0},
    OPTIONS_END,
};

/* One call of the command. */
struct resume {
    struct resume_options options;
    struct strlist words; /* the arguments that are not options */
    const char *path;     /* the work directory or bundle */
    bool is_bundle;
    struct capture_earlier earlier;
    struct confined_budget budget; /* the time that checking the earlier run's files may take */
    struct inventory *inventory;
    struct prompt prompt;
    bool hand_off; /* --for or --to is given */
    struct delivery delivery;
    struct result result;
};

/* ---- the earlier run ----------------------------------------------------------------------------------- */

static int check_options(struct resume *r, struct err *err)
{
    struct resume_options *o = &r->options;
    struct stat st;
    if (delivery_is_requested(&o->delivery, &r->hand_off, err) < 0 ||
        fetch_arguments_read_budget(&o->fetch, err) < 0)
        return -1;
    r->result.json = o->json;
    r->result.handoff_requested = r->hand_off;
    if (o->quiet && o->verbose)
        return err_set(err, ERR_USAGE, "--quiet and --verbose cannot both be given");
    if (r->words.n != 1) {
        err_set(err, ERR_USAGE, "resume takes one work directory or bundle");
        return err_hint(err, "profgrab resume NAME.partial, or NAME.tar.gz");
    }
    r->path = r->words.items[0];
    r->is_bundle = stat(r->path, &st) < 0 || !S_ISDIR(st.st_mode);
    if (r->is_bundle || !o->output)
        return 0;
    err_set(err, ERR_USAGE, "--output is for a bundle: the bundle of a work directory is written beside it");
    return -1;
}

/* resume would write a bundle in plain text next to the encrypted one, so the user must decrypt the old one
 * first. */
static int refuse_encrypted(const char *path, struct err *err)
{
    bool has_ending = text_ends_in(path, ".tar.gz.age");
    int n = (int)(strlen(path) - (has_ending ? strlen(".age") : 0));
    err_set(err, ERR_FAILED, "%s is encrypted, and resume reads only bundles in plain text", path);
    if (has_ending)
        return err_hint(err, "profgrab bundle decrypt -i IDENTITY %s && profgrab resume %.*s", path, n, path);
    return err_hint(err, "profgrab bundle decrypt -i IDENTITY -o NEW.tar.gz %s && profgrab resume NEW.tar.gz",
                    path);
}

static int open_earlier(struct resume *r, struct err *err)
{
    static const struct capture_observer observer = {.event = capture_command_print_earlier};
    if (r->is_bundle && input_is_encrypted(r->path))
        return refuse_encrypted(r->path, err);
    r->earlier = (struct capture_earlier){.path = r->path,
                                          .output = r->options.output,
                                          .cancel_fd = signals_cancel_fd(),
                                          .observer = &observer};
    return capture_earlier_open(&r->earlier, err);
}

/* For capture_earlier_recover. Fails if checking the earlier run's files has used up the time of the budget.
 * `bytes`, the size of the previous file, adds time to the budget of a work directory. */
static int limit_checking(void *ctx, const char *directory, uint64_t bytes, struct err *err)
{
    struct resume *r = ctx;
    if (!r->is_bundle)
        confined_budget_add(&r->budget, bytes);
    if (confined_budget_check(&r->budget, directory, err) == 0)
        return 0;
    return err_hint(err, "an earlier run left files there that take too long to check: remove them if you do "
                         "not know where they are from, and run the command again");
}

static int recover_files(struct resume *r, struct err *err)
{
    /* For a bundle, its size on disk sets the limit. */
    confined_budget_init(r->is_bundle ? input_size(r->path) : 0, &r->budget);
    return capture_earlier_recover(&r->earlier, limit_checking, r, err);
}

static void add_host(struct buf *to, const char *name, const char *note)
{
    buf_addf(to, "%s%s%s", to->len ? ", " : "", name, note);
}

/* Adds the port, the socket and the paths that the manifest's request names. */
static void add_request_paths(const struct manifest_request *request, struct buf *to)
{
    if (request->port)
        buf_addf(to, ", port %u", request->port);
    if (request->unix_path)
        buf_addf(to, ", socket %s", request->unix_path);
    if (request->path)
        buf_addf(to, ", path %s", request->path);
    for (size_t i = 0; i < request->kinds.n; i++)
        if (request->kinds.items[i][0] == '/')
            buf_addf(to, ", GET %s", request->kinds.items[i]);
}

/* Prints the hosts to open. Prints hosts outside the inventory, and ports, sockets and paths of the request,
 * even with --quiet, because an attacker may have written the manifest. */
static void print_targets(const struct resume *r)
{
    enum { SHOWN_MAX = 12, TEXT_MAX = 400 };
    const struct targets *t = &r->earlier.targets;
    const struct manifest_request *request = &r->earlier.manifest->request;
    struct buf names = BUF_INIT((t->n + SHOWN_MAX + request->kinds.n) * TEXT_MAX),
               paths = BUF_INIT(names.max);
    size_t inventory_hosts = 0, hosts = 0;
    bool outside = false;
    /* The first pass adds the hosts outside the inventory, the second pass the others. */
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->n; i++) {
            const struct host *host = t->items[i].host;
            if ((i > 0 && host == t->items[i - 1].host) || host->adhoc == (pass == 1))
                continue;
            outside |= host->adhoc;
            hosts++;
            if (host->adhoc)
                add_host(&names, host->address, " (not in the inventory)");
            else if (inventory_hosts++ < SHOWN_MAX)
                add_host(&names, host->name, "");
        }
    if (inventory_hosts > SHOWN_MAX)
        buf_addf(&names, " and %zu more", inventory_hosts - SHOWN_MAX);
    add_request_paths(request, &paths);
    if (hosts > 0 && (!r->options.quiet || outside || paths.len > 0))
        message_print("%zu of %zu services are not complete; opening %s%s", t->n, request->n_targets,
                      buf_str(&names), buf_str(&paths));
    buf_release(&names);
    buf_release(&paths);
}

/* Chooses the targets to fetch from. Gives a hint if the run had hosts of an inventory, but no inventory was
 * found. */
static int choose_targets(struct resume *r, struct err *err)
{
    static const char hint[] = "-i FILE names the inventory of the run";
    struct err line = ERR_INIT;
    int rc = capture_earlier_choose_targets(&r->earlier, r->inventory, err);
    if (r->earlier.n_not_in_inventory == 0 || inventory_path(r->inventory))
        return rc;
    if (rc < 0)
        return err_hint(err, "%s", hint);
    err_set(&line, ERR_FAILED, "there is no inventory, so %zu of the run's services cannot be fetched",
            r->earlier.n_not_in_inventory);
    err_hint(&line, "%s", hint);
    message_print_error(stderr, &line);
    return 0;
}

/* Checks everything that needs no connection. */
static int prepare_resume(struct resume *r, struct err *err)
{
    struct resume_options *o = &r->options;
    struct capture_earlier *e = &r->earlier;
    bool is_incomplete = capture_earlier_count_incomplete(e) > 0;
    if (is_incomplete && o->target.from && capture_earlier_list_hosts(e, &o->target.selection.hosts, err) < 0)
        return -1;
    if ((is_incomplete || r->hand_off) && target_load(&o->target, &r->inventory, err) < 0)
        return -1;
    if (is_incomplete && resolve_sources(&o->target, &r->prompt, r->inventory, &e->targets, err) < 0)
        return -1;
    if (choose_targets(r, err) < 0 || recover_files(r, err) < 0)
        return -1;
    if (e->targets.n > 0 && capture_check_kinds(&e->manifest->request.kinds, &e->targets, o->yes, err) < 0)
        return err_wrap(err, "%s", e->path);
    /* Profiles that will be compared must begin at the same time. */
    o->fetch.options.sync |= e->baseline.n > 0;
    if (fetch_arguments_check_sync(&o->fetch, o->target.parallel, &e->targets, err) < 0)
        return -1;
    return r->hand_off ? delivery_prepare(&o->delivery, r->inventory, signals_cancel_fd(), &r->delivery, err)
                       : 0;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int run_targets(struct resume *r, struct err *err)
{
    struct resume_options *o = &r->options;
    const struct targets *targets = &r->earlier.targets;
    struct prompt *prompt = &r->prompt;
    struct ssh_settings ssh;
    if (target_configure_prompt(&o->target, prompt, err) < 0)
        return exit_status_of(err);
    const struct capture_command command = {
        .request = {.targets = targets,
                    .kinds = &r->earlier.manifest->request.kinds,
                    .access = target_access(&o->target, &ssh, prompt),
                    .options = fetch_options_with_defaults(&o->fetch, o->target.parallel)},
        .earlier = &r->earlier,
        .prompt = prompt,
        .result = &r->result,
        .delivery = r->hand_off ? &r->delivery : NULL,
        .target = &o->target,
        .quiet = o->quiet,
        .verbose = o->verbose};
    const struct confirm confirm = {.targets = targets,
                                    .kinds = &r->earlier.manifest->request.kinds,
                                    .yes = o->yes,
                                    .wait_ms = o->target.ask_timeout_ms};
    print_targets(r);
    return confirm_many(&confirm, prompt, err) < 0 ? exit_status_of(err) : capture_command_run(&command, err);
}

/* Hands off the unchanged bundle. Loads the inventory here, because only the hand-off needs it. */
static int hand_off_unchanged(struct resume *r, int code, struct err *err)
{
    struct resume_options *o = &r->options;
    struct capture_command command = {.prompt = &r->prompt,
                                      .result = &r->result,
                                      .delivery = &r->delivery,
                                      .target = &o->target,
                                      .quiet = o->quiet,
                                      .verbose = o->verbose};
    if (target_load(&o->target, &r->inventory, err) < 0 ||
        delivery_prepare(&o->delivery, r->inventory, signals_cancel_fd(), &r->delivery, err) < 0 ||
        target_configure_prompt(&o->target, &r->prompt, err) < 0)
        return exit_status_of(err);
    return capture_command_hand_off(&command, code);
}

/* Handles a bundle that is complete already. */
static int finish_complete(struct resume *r, struct err *err)
{
    r->result.complete = true;
    r->result.bundle = strdup(r->path);
    if (!r->result.bundle) {
        err_nomem(err);
        return EXIT_FAILED;
    }
    if (!r->options.quiet)
        message_print("nothing is missing in %s", r->path);
    bool printed = r->result.json || (printf("%s\n", r->path) > 0 && fflush(stdout) == 0);
    return r->hand_off ? hand_off_unchanged(r, printed ? EXIT_OK : EXIT_PARTIAL, err)
           : printed   ? EXIT_OK
                       : EXIT_PARTIAL;
}

static int resume_run(struct resume *r, struct err *err)
{
    struct capture_earlier *e = &r->earlier;
    if (signals_install(err) < 0 || open_earlier(r, err) < 0)
        return exit_status_of(err);
    if (r->is_bundle && e->damage.kind == ERR_NONE && capture_earlier_count_incomplete(e) == 0)
        return finish_complete(r, err);
    if (prepare_resume(r, err) < 0)
        return exit_status_of(err);
    int code = run_targets(r, err);
    if (r->is_bundle && r->result.bundle && !r->options.quiet)
        message_print("%s is unchanged; the resumed bundle is %s", r->path, r->result.bundle);
    return code;
}

static void release_resume(struct resume *r)
{
    result_release(&r->result);
    capture_earlier_release(&r->earlier);
    delivery_release(&r->delivery);
    inventory_free(r->inventory);
    strlist_release(&r->words);
    target_options_release(&r->options.target);
    prompt_release(&r->prompt);
    delivery_options_release(&r->options.delivery);
    fetch_arguments_release(&r->options.fetch);
}

static int run_resume(int argc, char **argv, struct err *err)
{
    struct resume r = {.options = {.target = TARGET_OPTIONS_INIT}};
    int code = EXIT_USAGE;
    prompt_init(&r.prompt);
    if (options_parse(options, &(struct arguments){argc, argv}, &r.options, &r.words, err) == 0 &&
        check_options(&r, err) == 0)
        code = resume_run(&r, err);
    code = capture_command_end(&r.result, code, err);
    release_resume(&r);
    return code;
}

static const struct option_group groups[] = {
    {"Options", "output", NULL},
    {"Other options", "parallel", "grab"},
    {NULL, NULL, NULL},
};

static const struct example examples[] = {
    {"profgrab resume profgrab-file-03-2026-11-22T13-19-42Z.partial", "finish a killed run"},
    {"profgrab resume profgrab-storage-2026-11-22T19-20-00Z.tar.gz",
     "fetch the failed items into a new bundle"},
    {NULL, NULL},
};

const struct command command_resume = {
    .name = "resume",
    .synopsis = "DIR|BUNDLE [options]",
    .summary = "fetch the missing items of a work directory or a bundle",
    .details =
        "DIR is the NAME.partial that a killed or failed run left behind: resume turns it into the bundle.\n"
        "For a BUNDLE, resume writes a new one beside it and does not change the old one. resume neither\n"
        "fetches nor changes intact items. It replaces a damaged item only with a better one. It does not\n"
        "open hosts whose items are all intact.\n"
        "\n"
        "The manifest has the request. The inventory and ssh's configuration have the routes to the hosts.\n"
        "resume prints the bundle's path on stdout. The exit codes are those of grab; the code is also 0 if\n"
        "nothing was missing.",
    .examples = examples,
    .groups = groups,
    .options = options,
    .words = ARGUMENTS_FILES,
    .run = run_resume,
};
