/*
 * `profgrab resume`: what a run that was killed or went wrong has not collected. Of the manifest, which may
 * come from anywhere, only names, kinds and places on the far side count, each looked at as the command
 * line's are; how a host is reached, the user's own inventory and configuration say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/capture.h"
#include "cli/args/command.h"
#include "cli/term/confirm.h"
#include "cli/engine.h"
#include "cli/term/exit.h"
#include "cli/record.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/term/talk.h"
#include "cli/target.h"
#include "base/banned.h"

struct resume_options {
    struct target_options target;
    struct delivery_options handover;
    struct engine_options engine;
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
    {"from", 0, OPTION_ONE, "SOURCE", "the discovery source of the run, if it had one",
     offsetof(struct resume_options, target.from), 0},
    TARGET_PARALLEL_ROW(struct resume_options, target),
    ENGINE_OPTION_ROWS(struct resume_options, engine),
    HANDOFF_OPTION_ROWS(struct resume_options, handover),
    TARGET_WAY_ROWS(struct resume_options, target),
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
    struct strlist words;
    const char *path;
    bool is_bundle;
    struct workdir *work;
    struct manifest *manifest;
    struct manifest_asked asked;
    struct confined_budget checking; /* of the files that an earlier run left */
    size_t changed;                  /* files that are not what the manifest says */
    struct err damage;               /* of the archive; ERR_NONE */
    struct inventory *inventory;
    struct targets targets; /* those of which something is missing */
    struct targets against; /* the healthy hosts' among them */
    bool handed;
    struct delivery handover;
    struct result result;
    bool begun;     /* what is in the work directory is the run's business */
    size_t unknown; /* services that cannot be found here, and so not fetched */
};

/* ---- what there is ------------------------------------------------------------------------------------- */

static int check_options(struct resume *r, struct err *err)
{
    struct resume_options *o = &r->options;
    struct stat st;
    if (delivery_wanted(&o->handover, &r->handed, err) < 0 || engine_check(&o->engine, err) < 0)
        return -1;
    r->result.wanted = o->json;
    r->result.handing = r->handed;
    if (o->quiet && o->verbose)
        return err_set(err, ERR_USAGE, "--quiet and --verbose cannot both be");
    if (r->words.n != 1) {
        err_set(err, ERR_USAGE, "resume takes one work directory or bundle");
        return err_hint(err, "profgrab resume NAME.partial, or NAME.tar.gz");
    }
    r->path = r->words.items[0];
    r->is_bundle = stat(r->path, &st) < 0 || !S_ISDIR(st.st_mode);
    if (r->is_bundle || !o->output)
        return 0;
    err_set(err, ERR_USAGE, "--output is for a bundle: that of a work directory comes beside it");
    return -1;
}

static int load(struct resume *r, const char *text, size_t n, struct err *err)
{
    if (manifest_load(text, n, &r->manifest, err) < 0 || manifest_get_asked(r->manifest, &r->asked, err) < 0)
        return err_wrap(err, "%s", r->path);
    return 0;
}

static int open_directory(struct resume *r, struct err *err)
{
    struct buf text = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int rc = workdir_open(r->path, &r->work, &text, err);
    if (rc == 0)
        rc = load(r, buf_str(&text), text.len, err);
    buf_release(&text);
    return rc;
}

/* The resumed bundle would lie beside it in plain text, so decrypting it is left to the user. */
static int refuse_encrypted(const char *path, struct err *err)
{
    bool named = text_ends_in(path, ".tar.gz.age");
    int n = (int)(strlen(path) - (named ? strlen(".age") : 0));
    err_set(err, ERR_FAILED, "%s is encrypted, and resume reads bundles in plain text alone", path);
    if (named)
        return err_hint(err, "profgrab bundle decrypt -i IDENTITY %s && profgrab resume %.*s", path, n, path);
    return err_hint(err, "profgrab bundle decrypt -i IDENTITY -o NEW.tar.gz %s && profgrab resume NEW.tar.gz",
                    path);
}

static int read_bundle(struct resume *r, struct err *err)
{
    char *text = NULL;
    if (input_is_encrypted(r->path))
        return refuse_encrypted(r->path, err);
    if (bundle_manifest(r->path, NULL, &text, err) < 0)
        return -1;
    int rc = load(r, text, strlen(text), err);
    free(text);
    return rc;
}

/* Its files go into a work directory of their own: the bundle stays as it is. */
static int open_bundle(struct resume *r, struct err *err)
{
    if (read_bundle(r, err) < 0 ||
        workdir_beside(r->path, manifest_name(r->manifest), r->options.output, &r->work, err) < 0)
        return -1;
    if (bundle_restore(r->path, r->manifest, r->work, signals_cancel_fd(), &r->damage, err) < 0)
        return -1;
    if (r->damage.kind != ERR_NONE)
        talk("%s: what came before is taken, as far as it is whole", r->damage.msg);
    return 0;
}

static void on_changed(void *ctx, const char *path, const char *what)
{
    struct resume *r = ctx;
    r->changed++;
    talk("%s %s: it is to be fetched again", path, what);
}

static int open_it(struct resume *r, struct err *err)
{
    if ((r->is_bundle ? open_bundle(r, err) : open_directory(r, err)) < 0)
        return -1;
    if (manifest_compare(r->manifest, r->work, signals_cancel_fd(), on_changed, r, err) < 0)
        return -1;
    return r->changed ? manifest_save(r->manifest, r->work, err) : 0;
}

/* ---- what is missing ------------------------------------------------------------------------------------
 */

static bool has_service(const struct inventory *inv, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = inventory_service_name(inv, i)); i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

/* A service of the inventory by its name, another one by where it listens. */
static int select_service(const struct resume *r, const char *service, struct selection *sel, struct err *err)
{
    const struct manifest_asked *a = &r->asked;
    if (has_service(r->inventory, service) || (!a->port && !a->unix_path))
        return strlist_add(&sel->services, service, err);
    sel->port = a->port;
    sel->unix_path = a->unix_path;
    sel->path = a->path;
    sel->https = a->https;
    return 0;
}

/* A name that the inventory does not have is none; only an address may be one. */
static int check_host(const struct resume *r, const struct manifest_target *t, struct err *err)
{
    const struct host **hosts = NULL;
    size_t n = 0;
    if (t->address)
        return 0;
    if (!text_is_name(t->host))
        return err_set(err, ERR_FAILED, "%s is no name of a host", t->host);
    int rc = inventory_match(r->inventory, t->host, &hosts, &n, err);
    free(hosts);
    return rc;
}

/* It must come to what it is called: a pattern, or a name that means something else here, does not. */
static int add_selected(struct resume *r, const struct manifest_target *t, const struct targets *found,
                        struct err *err)
{
    const struct target *one = found->items;
    struct targets *all = &r->targets;
    if (found->n != 1 || strcmp(one->host->name, t->host) != 0 || strcmp(one->service->name, t->service) != 0)
        return err_set(err, ERR_FAILED, "%s: %s: it means something else here", t->host, t->service);
    if (array_reserve((void **)&all->items, &all->cap, all->n + 1, sizeof *all->items, err) < 0)
        return -1;
    all->items[all->n++] = *one;
    return 0;
}

static int add_target(struct resume *r, const struct manifest_target *t, struct err *err)
{
    struct selection sel = {0};
    struct targets found = {0};
    int rc = -1;
    if (check_host(r, t, err) == 0 && strlist_add(&sel.hosts, t->address ? t->address : t->host, err) == 0 &&
        select_service(r, t->service, &sel, err) == 0 &&
        inventory_select(r->inventory, &sel, &found, err) == 0)
        rc = add_selected(r, t, &found, err);
    targets_release(&found);
    strlist_release(&sel.hosts);
    strlist_release(&sel.services);
    return rc;
}

static int note_against(struct resume *r, struct err *err)
{
    struct targets *against = &r->against;
    for (size_t i = 0; i < r->targets.n; i++) {
        if (!strlist_has(&r->asked.against, r->targets.items[i].host->name))
            continue;
        if (array_reserve((void **)&against->items, &against->cap, against->n + 1, sizeof *against->items,
                          err) < 0)
            return -1;
        against->items[against->n++] = r->targets.items[i];
    }
    return 0;
}

static bool is_missing(const struct resume *r, const struct manifest_target *t)
{
    return !manifest_has_all(r->manifest, t->host, t->service);
}

static size_t count_missing(const struct resume *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->asked.n_targets; i++)
        n += is_missing(r, &r->asked.targets[i]);
    return n;
}

/* A host that the inventory has no more, or a service that nobody finds any more, is no reason to leave the
 * others alone: it is as it was. */
static int choose_targets(struct resume *r, struct err *err)
{
    struct err first = ERR_INIT;
    for (size_t i = 0; i < r->asked.n_targets; i++) {
        const struct manifest_target *t = &r->asked.targets[i];
        struct err why = ERR_INIT;
        if (!is_missing(r, t) || add_target(r, t, &why) == 0)
            continue;
        if (why.kind != ERR_USAGE && why.kind != ERR_FAILED) {
            *err = why;
            return -1;
        }
        r->unknown++;
        if (first.kind == ERR_NONE)
            first = why;
        err_wrap(&why, "%s: %s: not fetched", t->host, t->service);
        talk_error(stderr, &why);
    }
    if (r->unknown == 0 || r->targets.n > 0 || !r->is_bundle)
        return 0;
    *err = first;
    return err_wrap(err, "%s", r->path);
}

/* Each file that is left is checked, which takes time by what it inflates to. All of them together have the
 * time that one input of their size may take. */
static int check_time(struct resume *r, const struct target *t, struct err *err)
{
    char dir[600];
    snprintf(dir, sizeof dir, "%s/%s/%s", r->path, t->host->name, t->service->name);
    if (confined_check(&r->checking, dir, err) == 0)
        return 0;
    return err_hint(err, "an earlier run left files there that take too long to check: remove them if you do "
                         "not know where they are from, and run the command again");
}

/* Records what lies in the work directory and the manifest does not name: before anything is opened, since a
 * host may be gone by now. */
static int take_left(struct resume *r, const struct target *t, struct err *err)
{
    struct manifest_planned *planned = NULL;
    size_t n = 0;
    int rc = manifest_unrecorded(r->manifest, t->host->name, t->service->name, &planned, &n, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct fetch_planned wanted = {.kind = planned[i].kind,
                                       .argument = planned[i].argument ? planned[i].argument : "",
                                       .pair = planned[i].pair};
        struct fetch_item item;
        rc = check_time(r, t, err);
        if (rc < 0 || fetch_find_left(workdir_files(r->work), t, &wanted, &item, NULL) < 0)
            continue;
        if (!r->is_bundle)
            confined_add(&r->checking, item.bytes);
        rc = record_item(r->manifest, t, &item, err);
        fetch_item_release(&item);
    }
    free(planned);
    return rc;
}

static int take_all_left(struct resume *r, struct err *err)
{
    struct targets *t = &r->targets;
    size_t n = 0;
    /* Of a bundle the size on disk counts, and not what it inflates to. */
    confined_begin(r->is_bundle ? input_size(r->path) : 0, &r->checking);
    for (size_t i = 0; i < t->n; i++) {
        if (take_left(r, &t->items[i], err) < 0)
            return -1;
        if (!manifest_has_all(r->manifest, t->items[i].host->name, t->items[i].service->name))
            t->items[n++] = t->items[i];
    }
    t->n = n;
    return 0;
}

static void add_host(struct buf *to, const char *name, const char *note)
{
    buf_addf(to, "%s%s%s", to->len ? ", " : "", name, note);
}

/* Where, of what the manifest alone says. */
static void add_place(const struct manifest_asked *a, struct buf *to)
{
    if (a->port)
        buf_addf(to, ", port %u", a->port);
    if (a->unix_path)
        buf_addf(to, ", socket %s", a->unix_path);
    if (a->path)
        buf_addf(to, ", path %s", a->path);
    for (size_t i = 0; i < a->kinds.n; i++)
        if (a->kinds.items[i][0] == '/')
            buf_addf(to, ", GET %s", a->kinds.items[i]);
}

/* Whoever wrote the manifest may be anybody: each host outside the inventory is named, and each place on it,
 * by whoever is quiet, too. */
static void say_targets(const struct resume *r)
{
    enum { SHOWN = 12, LONGEST = 400 };
    const struct targets *t = &r->targets;
    struct buf names = BUF_INIT((t->n + SHOWN + r->asked.kinds.n) * LONGEST), place = BUF_INIT(names.max);
    size_t shown = 0, hosts = 0;
    bool outside = false;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < t->n; i++) {
            const struct host *host = t->items[i].host;
            if ((i > 0 && host == t->items[i - 1].host) || host->outside == (pass == 1))
                continue;
            outside |= host->outside;
            hosts++;
            if (host->outside)
                add_host(&names, host->address, " (not of the inventory)");
            else if (shown++ < SHOWN)
                add_host(&names, host->name, "");
        }
    if (shown > SHOWN)
        buf_addf(&names, " and %zu more", shown - SHOWN);
    add_place(&r->asked, &place);
    if (hosts > 0 && (!r->options.quiet || outside || place.len > 0))
        talk("%zu of %zu services are not complete; opening %s%s", t->n, r->asked.n_targets, buf_str(&names),
             buf_str(&place));
    buf_release(&names);
    buf_release(&place);
}

/* The source of --from says which ports the manifest's hosts have: it must know them before it is asked. */
static int name_hosts(struct resume *r, struct err *err)
{
    struct strlist *hosts = &r->options.target.selection.hosts;
    for (size_t i = 0; i < r->asked.n_targets; i++) {
        const struct manifest_target *t = &r->asked.targets[i];
        const char *name = t->address ? t->address : t->host;
        if (!strlist_has(hosts, name) && strlist_add(hosts, name, err) < 0)
            return -1;
    }
    return 0;
}

/* Everything that can be known without opening anything. */
static int prepare(struct resume *r, struct err *err)
{
    struct resume_options *o = &r->options;
    bool find = count_missing(r) > 0;
    if (find && o->target.from && name_hosts(r, err) < 0)
        return -1;
    if ((find || r->handed) && target_load(&o->target, find, &r->inventory, err) < 0)
        return -1;
    if (choose_targets(r, err) < 0 || take_all_left(r, err) < 0 || note_against(r, err) < 0 ||
        (r->targets.n > 0 && capture_check_kinds(&r->asked.kinds, &r->targets, o->yes, err) < 0))
        return -1;
    /* What is to be compared is taken at one time. */
    o->engine.sync |= r->against.n > 0;
    if (engine_check_sync(&o->engine, o->target.parallel, &r->targets, err) < 0)
        return -1;
    return r->handed ? delivery_prepare(&o->handover, r->inventory, signals_cancel_fd(), &r->handover, err)
                     : 0;
}

/* ---- the run --------------------------------------------------------------------------------------------
 */

static int run_targets(struct resume *r, struct err *err)
{
    struct resume_options *o = &r->options;
    struct prompt *prompt = NULL;
    struct ssh_settings ssh;
    if (target_prompt(&o->target, &prompt, err) < 0)
        return exit_status_of(err);
    struct capture c = {.fetch = target_grab(&o->target, &r->targets, &ssh, prompt),
                        .against = &r->against,
                        .work = r->work,
                        .manifest = r->manifest,
                        .prompt = prompt,
                        .result = &r->result,
                        .handover = r->handed ? &r->handover : NULL,
                        .way = &o->target,
                        .missing = r->unknown,
                        .resumed = true,
                        .bundle = r->is_bundle && r->damage.kind == ERR_NONE ? r->path : NULL,
                        .quiet = o->quiet,
                        .verbose = o->verbose};
    c.fetch.kinds = &r->asked.kinds;
    c.fetch.options.pair_ms = r->asked.pair_ms;
    engine_set(&o->engine, &c.fetch);
    const struct confirm sure = {
        .targets = &r->targets, .kinds = &r->asked.kinds, .yes = o->yes, .wait_ms = o->target.ask_timeout_ms};
    say_targets(r);
    if (confirm_many(&sure, prompt, err) < 0)
        return exit_status_of(err);
    r->begun = true;
    return capture_run(&c, err);
}

/* Of the bundle as it is: no host was looked for before that, so neither was where it goes. */
static int hand_over(struct resume *r, int code, struct err *err)
{
    struct resume_options *o = &r->options;
    struct capture c = {.result = &r->result,
                        .handover = &r->handover,
                        .way = &o->target,
                        .quiet = o->quiet,
                        .verbose = o->verbose};
    if (target_load(&o->target, false, &r->inventory, err) < 0 ||
        delivery_prepare(&o->handover, r->inventory, signals_cancel_fd(), &r->handover, err) < 0 ||
        target_prompt(&o->target, &c.prompt, err) < 0)
        return exit_status_of(err);
    return capture_hand_over(&c, code);
}

/* The bundle as it is has all. */
static int nothing_missing(struct resume *r, struct err *err)
{
    r->result.complete = true;
    r->result.bundle = strdup(r->path);
    if (!r->result.bundle) {
        err_nomem(err);
        return EXIT_NOTHING;
    }
    if (!r->options.quiet)
        talk("nothing is missing in %s", r->path);
    bool told = r->result.wanted || (printf("%s\n", r->path) > 0 && fflush(stdout) == 0);
    return r->handed ? hand_over(r, told ? EXIT_OK : EXIT_PARTIAL, err) : told ? EXIT_OK : EXIT_PARTIAL;
}

/* A report of what was there before would be in the way of the one that comes. */
static int begin(struct resume *r, struct err *err)
{
    if (beneath_remove(workdir_files(r->work), BUNDLE_REPORT, err) < 0)
        return -1;
    return record_resumed(r->manifest, workdir_name(r->work), err);
}

static int go_on(struct resume *r, struct err *err)
{
    if (open_it(r, err) < 0)
        return exit_status_of(err);
    if (r->is_bundle && r->damage.kind == ERR_NONE && count_missing(r) == 0)
        return nothing_missing(r, err);
    if (prepare(r, err) < 0 || begin(r, err) < 0)
        return exit_status_of(err);
    int code = run_targets(r, err);
    if (r->is_bundle && r->result.bundle && !r->options.quiet)
        talk("%s stays as it was; the resumed bundle is %s", r->path, r->result.bundle);
    return code;
}

/* What was taken out of a bundle is in that as well. */
static int resume(struct resume *r, struct err *err)
{
    if (signals_install(err) < 0)
        return exit_status_of(err);
    int code = go_on(r, err);
    if (r->is_bundle && r->work && !r->begun)
        workdir_remove(r->work);
    return code;
}

static void release(struct resume *r)
{
    manifest_asked_release(&r->asked);
    manifest_free(r->manifest);
    workdir_free(r->work);
    result_release(&r->result);
    delivery_release(&r->handover);
    targets_release(&r->targets);
    targets_release(&r->against);
    inventory_free(r->inventory);
    strlist_release(&r->words);
    target_options_release(&r->options.target);
    delivery_options_release(&r->options.handover);
    engine_release(&r->options.engine);
}

static int run(int argc, char **argv, struct err *err)
{
    struct resume r = {.options = {.target = TARGET_OPTIONS_INIT}};
    int code = EXIT_USAGE;
    if (options_parse(options, argc, argv, &r.options, &r.words, err) == 0 && check_options(&r, err) == 0)
        code = resume(&r, err);
    code = capture_end(&r.result, code, err);
    release(&r);
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
        "open hosts that lack nothing.\n"
        "\n"
        "The manifest has the request. The inventory and ssh's configuration have the routes to the hosts.\n"
        "resume prints the bundle's path on stdout. The exit codes are those of grab; the code is also 0 if\n"
        "nothing was missing.",
    .examples = examples,
    .groups = groups,
    .options = options,
    .words = WORDS_FILES,
    .run = run,
};
