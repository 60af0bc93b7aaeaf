/* `profgrab grab`, the main job: resolve, open, fetch, check, bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "cli/capture/capture_command.h"
#include "cli/args/command.h"
#include "cli/term/confirm.h"
#include "cli/capture/dry_run.h"
#include "cli/capture/fetch_options.h"
#include "cli/term/exit.h"
#include "cli/bundle/handoff.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "cli/hosts/resolve.h"
#include "cli/hosts/target.h"
#include "base/banned.h"

struct grab_options {
    struct target_options target;
    struct delivery_options delivery;
    struct fetch_arguments fetch;
    const char *output;
    const char *reason;
    struct strlist against;
    bool dry_run;
    bool yes;
    bool quiet;
    bool verbose;
    bool json;
};

static const struct option options[] = {
    TARGET_SELECTION_ROWS(struct grab_options, target),
    TARGET_MANY_ROWS(struct grab_options, target),
    {"against", 0, OPTION_LIST, "HOST|GROUP[,...]",
     "fetch the same kinds from healthy hosts at the same time; the report shows the differences",
     offsetof(struct grab_options, against), 0},
    {"pair", 0, OPTION_DURATION, "DURATION",
     "fetch heap, allocs, goroutines, block and mutex twice, DURATION apart; the report shows the growth",
     offsetof(struct grab_options, fetch.options.pair_ms), 0},
    FETCH_OPTION_ROWS(struct grab_options, fetch),
    {"output", 'o', OPTION_TEXT, "PATH",
     "a directory for the bundle, or its name ending in .tar.gz; DIR/ is created if it is missing",
     offsetof(struct grab_options, output), 0},
    {"reason", 0, OPTION_TEXT, "TEXT", "the reason of the capture, for the manifest",
     offsetof(struct grab_options, reason), 0},
    HANDOFF_OPTION_ROWS(struct grab_options, delivery),
    TARGET_ACCESS_ROWS(struct grab_options, target),
    {"dry-run", 0, OPTION_FLAG, NULL,
     "open the hosts and print the items to fetch, with time and size; fetch nothing",
     offsetof(struct grab_options, dry_run), 0},
    {"yes", 'y', OPTION_FLAG, NULL,
     "answer yes to questions (profiles over 5 minutes, or of more than 10 targets)",
     offsetof(struct grab_options, yes), 0},
    {"quiet", 'q', OPTION_FLAG, NULL, "print only errors", offsetof(struct grab_options, quiet), 0},
    {"verbose", 'v', OPTION_FLAG, NULL, "print every step and minor findings",
     offsetof(struct grab_options, verbose), 0},
    {"json", 0, OPTION_FLAG, NULL, "print the result as JSON on stdout, instead of the bundle's path",
     offsetof(struct grab_options, json), 0},
    OPTIONS_END,
};

/* One call of the command. */
struct grab {
    struct grab_options options;
    int argc;             /* number of arguments, including options */
    struct strlist words; /* the arguments that are not options */
    struct strlist kinds; /* the words, split at commas */
    struct inventory *inventory;
    struct prompt prompt;
    struct targets targets;  /* including those on baseline hosts */
    struct targets baseline; /* only those on baseline hosts */
    char subject[300];       /* a part of the bundle's name */
    bool hand_off;           /* --for or --to is given */
    struct delivery delivery;
    struct result result;
};

/* ---- checks -------------------------------------------------------------------------------------------- */

/* Checks --pair, which needs at least one kind that can be fetched twice. */
static int check_pair(const struct grab *g, struct err *err)
{
    if (g->options.fetch.options.pair_ms == 0)
        return 0;
    if (g->kinds.n > 0)
        return fetch_check_pair(&g->kinds, err);
    for (size_t i = 0; i < g->targets.n; i++)
        if (fetch_check_pair(&g->targets.items[i].service->kinds, err) == 0)
            return 0;
    return -1;
}

/* Splits the arguments at commas, except raw paths, which may contain commas. */
static int split_kinds(struct grab *g, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < g->words.n; i++) {
        const char *word = g->words.items[i];
        rc = word[0] == '/' ? strlist_add(&g->kinds, word, err) : strlist_split(&g->kinds, word, err);
    }
    return rc;
}

/* Returns the command whose name is nearest to the word. NULL: the word is a kind, a kind is nearer, or no
 * command is near. At the same distance a kind wins if `host_given`, else the command. */
static const char *find_near_command(const char *word, bool host_given)
{
    struct nearest commands = NEAREST_INIT(word), kinds = NEAREST_INIT(word);
    for (size_t i = 0; command_at(i); i++)
        nearest_add(&commands, command_at(i)->name);
    fetch_suggest_kinds(&kinds);
    if (commands.n == 0 || fetch_is_known_word(word))
        return NULL;
    bool is_nearer = kinds.n == 0 || commands.best[0].distance < kinds.best[0].distance + !host_given;
    return is_nearer ? commands.best[0].name : NULL;
}

/* Returns the first word that names a file, or NULL. Skips the first word if it is a kind. */
static const char *find_file_word(const struct strlist *words)
{
    for (size_t i = words->n && fetch_is_known_word(words->items[0]); i < words->n; i++)
        if (target_names_file(words->items[i]))
            return words->items[i];
    return NULL;
}

/* Sets the error for a command that follows options, as in `--host NAME check`. */
static int refuse_late_command(const char *command, struct err *err)
{
    err_set(err, ERR_USAGE, "\"%s\" is a command, and a command comes before its options", command);
    return err_hint(err, "profgrab %s [options]; `profgrab help %s` lists them", command, command);
}

/* Returns the name of the command that has the verb `word`, or NULL. */
static const char *find_command_of_verb(const char *word)
{
    const struct command *c;
    for (size_t i = 0; (c = command_at(i)); i++)
        for (const struct verb *v = c->verbs; v && v->name; v++)
            if (strcmp(v->name, word) == 0)
                return c->name;
    return NULL;
}

/* Sets the error, and a hint that depends on the words: they may be a misspelt command, a verb or a file. */
static int refuse_missing_host(const struct strlist *words, bool has_options, struct err *err)
{
    const char *first = words->n ? words->items[0] : "", *command = find_near_command(first, false);
    const char *file = find_file_word(words), *command_of_verb = find_command_of_verb(first);
    struct nearest kinds = NEAREST_INIT(first);
    char names[200];
    err_set(err, ERR_USAGE, "no host given");
    if (file && fetch_is_known_word(first))
        return err_hint(err,
                        "%s is a kind, which is fetched from a host: profgrab --host NAME %s; to read the "
                        "file: profgrab view %.100s, or go tool trace for an execution trace",
                        first, first, file);
    if (has_options && command_find(first))
        return refuse_late_command(first, err);
    if (command_of_verb)
        return err_hint(err, "did you mean `profgrab %s %s`?", command_of_verb, first);
    if (file && (file == first || !command))
        return target_hint_file(file, err);
    if (command)
        return err_hint(err, "did you mean `profgrab %s`? or name a host: profgrab --host NAME %s", command,
                        first);
    if (words->n > 1 && !fetch_is_known_word(first) && fetch_is_known_word(words->items[1]))
        return err_hint(err, "if %s is a host: profgrab --host %s %s", first, first, words->items[1]);
    fetch_suggest_kinds(&kinds);
    if (words->n && !fetch_is_known_word(first) && *nearest_text(&kinds, names, sizeof names))
        return err_hint(err, "profgrab --host NAME KIND...; did you mean the kind %s?", names);
    return err_hint(err, "profgrab --host NAME [KIND...]; `profgrab hosts` lists the inventory, `profgrab "
                         "help` lists the commands");
}

/* ---- misspelt kinds ------------------------------------------------------------------------------------ */

/* Returns whether the inventory, or a discovery source, lists a kind of that name for a target's service. */
static bool is_listed_kind(const struct targets *targets, const char *word)
{
    size_t n = strcspn(word, "=");
    for (size_t i = 0; i < targets->n; i++) {
        const struct strlist *kinds = &targets->items[i].service->kinds;
        for (size_t k = 0; k < kinds->n; k++)
            if (strcspn(kinds->items[k], "=") == n && strncmp(kinds->items[k], word, n) == 0)
                return true;
    }
    return false;
}

static void offer_listed_kinds(const struct targets *targets, struct nearest *near)
{
    for (size_t i = 0; i < targets->n; i++) {
        const struct strlist *kinds = &targets->items[i].service->kinds;
        for (size_t k = 0; k < kinds->n; k++)
            if (!fetch_is_known_word(kinds->items[k]))
                nearest_add(near, kinds->items[k]);
    }
}

/* Refuses typing errors: a duration, a word that resembles a kind, and a first word that is or resembles a
 * command. Accepts any other unknown word, because it may be a profile that only the service's index page
 * lists. */
static int check_word(const struct grab *g, const char *word, bool is_first, struct err *err)
{
    char name[64], names[300];
    struct nearest near = NEAREST_INIT(name);
    int64_t duration = 0;
    if (fetch_is_known_word(word) || is_listed_kind(&g->targets, word))
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *command = is_first ? find_near_command(name, true) : NULL;
    if (is_first && command_find(name))
        return refuse_late_command(name, err);
    if (command) {
        err_set(err, ERR_USAGE, "\"%.60s\" is neither a command nor a kind", word);
        return err_hint(err, "did you mean `profgrab %s`?", command);
    }
    if (text_to_duration(word, &duration, NULL) == 0) {
        err_set(err, ERR_USAGE, "unknown kind \"%.60s\"; nothing was opened", word);
        return err_hint(err, "a duration follows the kind after an equals sign: cpu=%.60s", word);
    }
    offer_listed_kinds(&g->targets, &near);
    fetch_suggest_kinds(&near);
    if (!*nearest_text(&near, names, sizeof names))
        return 0;
    err_set(err, ERR_USAGE, "unknown kind \"%.60s\"; nothing was opened", word);
    return err_hint(
        err, "did you mean %s? a profile that the program itself defines can be named by its path: %s/%s",
        names, g->targets.n ? g->targets.items[0].service->path : "/debug/pprof", name);
}

static int check_words(const struct grab *g, struct err *err)
{
    for (size_t i = 0; i < g->kinds.n; i++)
        if (check_word(g, g->kinds.items[i], i == 0, err) < 0)
            return -1;
    return 0;
}

/* Checks the words. If one is refused, appends its error and hint to the hint of `err`. */
static void add_wrong_word(const struct grab *g, struct err *err)
{
    struct err word = ERR_INIT;
    char hint[sizeof err->hint];
    if (check_words(g, &word) == 0)
        return;
    snprintf(hint, sizeof hint, "%s", err->hint);
    err_hint(err, "%.400s%salso %.200s: %.300s", hint, *hint ? "\n" : "", word.msg, word.hint);
}

/* Resolves the targets. If that fails with a usage error, also looks for a misspelt kind. With an inventory,
 * err has both errors, because a service of the inventory may list a kind of that name. Without one, err has
 * only the misspelt kind. */
static int find_targets(struct grab *g, struct err *err)
{
    struct err failure = ERR_INIT;
    if (resolve_targets(&g->options.target, &g->prompt, &g->inventory, &g->targets, &failure) == 0)
        return 0;
    bool can_check = failure.kind == ERR_USAGE && g->inventory && !inventory_path(g->inventory);
    if (can_check && check_words(g, err) < 0)
        return -1;
    if (failure.kind == ERR_USAGE)
        add_wrong_word(g, &failure);
    if (err)
        *err = failure;
    return -1;
}

/* Sets the subject to the host, the group, or the number of hosts. */
static void set_subject(struct grab *g)
{
    const struct targets *t = &g->targets;
    const struct selection *sel = &g->options.target.selection;
    size_t hosts = targets_count_hosts(t);
    if (hosts == 1)
        snprintf(g->subject, sizeof g->subject, "%s", t->items[0].host->name);
    else if (sel->groups.n == 1 && sel->hosts.n == 0)
        snprintf(g->subject, sizeof g->subject, "%s", sel->groups.items[0]);
    else
        snprintf(g->subject, sizeof g->subject, "%zu-hosts", hosts);
}

/* Refuses a label without a value. The user may mean a label of the new issue: the option for it was once
 * called --label. */
static int check_labels(const struct strlist *labels, struct err *err)
{
    for (size_t i = 0; i < labels->n; i++) {
        if (strchr(labels->items[i], '='))
            continue;
        err_set(err, ERR_USAGE, "--label selects hosts by NAME=VALUE: \"%.60s\" has no \"=\"",
                labels->items[i]);
        return err_hint(err, "a label of the new issue is --issue-label %.60s", labels->items[i]);
    }
    return 0;
}

static int check_options(struct grab *g, struct err *err)
{
    struct grab_options *o = &g->options;
    /* Profiles that will be compared must begin at the same time. */
    o->fetch.options.sync |= o->against.n > 0;
    if (check_labels(&o->target.selection.labels, err) < 0 ||
        delivery_is_requested(&o->delivery, &g->hand_off, err) < 0)
        return -1;
    g->result.json = o->json;
    g->result.handoff_requested = g->hand_off;
    if (!target_is_given(&o->target))
        return refuse_missing_host(&g->words, g->words.n < (size_t)g->argc, err);
    if (o->quiet && o->verbose)
        return err_set(err, ERR_USAGE, "--quiet and --verbose cannot both be given");
    return fetch_arguments_read_budget(&o->fetch, err);
}

/* Checks --max-hosts again: the selection checked it without the baseline hosts. */
static int check_max_hosts(const struct grab *g, struct err *err)
{
    unsigned max = g->options.target.selection.max_hosts;
    size_t hosts = targets_count_hosts(&g->targets);
    if (max == 0 || hosts <= max)
        return 0;
    return err_set(err, ERR_USAGE,
                   "%zu hosts are selected, including those of --against: more than --max-hosts %u", hosts,
                   max);
}

/* Resolves the targets, which may query sources, and checks everything that needs no connection to a service.
 */
static int prepare_grab(struct grab *g, struct err *err)
{
    struct grab_options *o = &g->options;
    if (split_kinds(g, err) < 0 || find_targets(g, err) < 0 || check_words(g, err) < 0)
        return -1;
    set_subject(g);
    const struct baseline_request baseline = {g->inventory, &o->against, &o->target.selection};
    if (o->against.n > 0 && baseline_resolve(&baseline, &g->targets, &g->baseline, err) < 0)
        return -1;
    if (check_max_hosts(g, err) < 0 ||
        fetch_arguments_check_sync(&o->fetch, o->target.parallel, &g->targets, err) < 0 ||
        capture_check_kinds(&g->kinds, &g->targets, o->yes, err) < 0 || check_pair(g, err) < 0 ||
        capture_check_room(&g->kinds, &g->targets, o->fetch.options.pair_ms > 0, err) < 0)
        return -1;
    return g->hand_off ? delivery_prepare(&o->delivery, g->inventory, signals_cancel_fd(), &g->delivery, err)
                       : 0;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int run_dry(struct grab *g, const struct capture_request *request, struct prompt *prompt,
                   struct err *err)
{
    const struct grab_options *o = &g->options;
    const struct dry_run dry = {.request = *request,
                                .prompt = prompt,
                                .target = &o->target,
                                .delivery = g->hand_off ? &g->delivery : NULL,
                                .json = o->json,
                                .quiet = o->quiet,
                                .verbose = o->verbose};
    /* The dry run prints its own result. */
    g->result.json = false;
    return dry_run(&dry, err);
}

static int confirm_and_capture(struct grab *g, const struct capture_request *request, struct prompt *prompt,
                               struct err *err)
{
    const struct grab_options *o = &g->options;
    const struct confirm confirm = {
        .targets = &g->targets, .kinds = &g->kinds, .yes = o->yes, .wait_ms = o->target.ask_timeout_ms};
    const struct capture_command command = {.request = *request,
                                            .prompt = prompt,
                                            .result = &g->result,
                                            .delivery = g->hand_off ? &g->delivery : NULL,
                                            .target = &o->target,
                                            .quiet = o->quiet,
                                            .verbose = o->verbose};
    return confirm_many(&confirm, prompt, err) < 0 ? exit_status_of(err) : capture_command_run(&command, err);
}

static int run_targets(struct grab *g, struct err *err)
{
    struct grab_options *o = &g->options;
    struct prompt *prompt = &g->prompt;
    struct ssh_settings ssh;
    if (signals_install(err) < 0 || target_configure_prompt(&o->target, prompt, err) < 0)
        return exit_status_of(err);
    const struct capture_request request = {.targets = &g->targets,
                                            .baseline = &g->baseline,
                                            .kinds = &g->kinds,
                                            .selection = &o->target.selection,
                                            .access = target_access(&o->target, &ssh, prompt),
                                            .options =
                                                fetch_options_with_defaults(&o->fetch, o->target.parallel),
                                            .subject = g->subject,
                                            .output = o->output,
                                            .reason = o->reason};
    if (!o->quiet)
        target_print_notes(&g->targets);
    return o->dry_run ? run_dry(g, &request, prompt, err) : confirm_and_capture(g, &request, prompt, err);
}

static void release_grab(struct grab *g)
{
    result_release(&g->result);
    delivery_release(&g->delivery);
    targets_release(&g->targets);
    targets_release(&g->baseline);
    inventory_free(g->inventory);
    strlist_release(&g->words);
    strlist_release(&g->kinds);
    strlist_release(&g->options.against);
    fetch_arguments_release(&g->options.fetch);
    target_options_release(&g->options.target);
    prompt_release(&g->prompt);
    delivery_options_release(&g->options.delivery);
}

static int run_grab(int argc, char **argv, struct err *err)
{
    struct grab g = {.options = {.target = TARGET_OPTIONS_INIT}, .argc = argc};
    int code = EXIT_USAGE;
    prompt_init(&g.prompt);
    if (options_parse(options, &(struct arguments){argc, argv}, &g.options, &g.words, err) == 0 &&
        check_options(&g, err) == 0)
        code = prepare_grab(&g, err) < 0 ? exit_status_of(err) : run_targets(&g, err);
    code = capture_command_end(&g.result, code, err);
    release_grab(&g);
    return code;
}

static const struct option_group groups[] = {
    {"Hosts and services", "host", NULL},
    {"Profiling", "against", NULL},
    {"The bundle", "output", NULL},
    {"Hand-off", "for", NULL},
    {"Connections", "inventory", NULL},
    {"Questions and messages", "dry-run", NULL},
    {NULL, NULL, NULL},
};

static const struct example examples[] = {
    {"profgrab --host file-03 cpu heap goroutines", "three profiles of every service of a host"},
    {"profgrab --host ann@file-03 --port 6060 heap", "a service without an inventory"},
    {"profgrab --host 'file-*' --service gitaly incident", "one service of many hosts"},
    {"profgrab --group storage --dry-run", "print the plan: items and time"},
    {"profgrab --host file-03 --for gitaly cpu=30s heap", "the bundle on a confidential issue of a team"},
    {NULL, NULL},
};

const struct command command_grab = {
    .name = "grab",
    .synopsis = "--host NAME[,NAME...] [options] [KIND...]",
    .summary = "fetch profiles from hosts into one bundle (the word `grab` is optional)",
    .details =
        "Without a KIND, grab fetches the kinds that the inventory has for the service, else the set "
        "`default`. It\n"
        "prints the bundle's path on stdout, and with --for or --to the address of the issue. `profgrab "
        "help\n"
        "exit-codes` lists the exit codes.",
    .examples = examples,
    .groups = groups,
    .options = options,
    .words = ARGUMENTS_KINDS,
    .run = run_grab,
};
