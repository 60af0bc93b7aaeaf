/* `profgrab diff`: `profgrab pprof -top -diff_base`, also for the profiles of two bundles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/pprof/pprof.h"
#include "cli/input/input.h"
#include "cli/input/prepare.h"
#include "base/banned.h"

struct diff_job {
    char **argv; /* of pprof; ends with -diff_base OLD NEW */
    int n;
    struct pprof_options options;   /* parsed from argv */
    struct confined_budget *budget; /* of all inputs together; NULL: none */
};

/* Parses job->argv again, because OLD and NEW may have changed, and prints the report. */
static int print_report(struct diff_job *job, struct input_keys *keys, struct err *err)
{
    if (pprof_parse(job->n, job->argv, &job->options, err) != PPROF_PARSED)
        return -1;
    job->options.keys = keys;
    job->options.is_diff = true;
    job->options.budget = job->budget;
    int rc = pprof_run(&job->options, err);
    job->options.keys = NULL; /* the caller releases them */
    return rc;
}

/* ---- two bundles --------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool has_one_host(const struct input_entries *all)
{
    for (size_t i = 1; i < all->n; i++)
        if (!same_text(all->items[0].host, all->items[i].host))
            return false;
    return all->n > 0;
}

/* The profiles of a bundle by host, service and kind. The key of a local file, which has no service, also has
 * the file's path. */
struct profile_index {
    bool hosts_may_differ; /* keys have no host, because each of the two bundles has only one */
    struct strlist keys;
    struct name_map by_key; /* maps each key to its first struct input_entry */
};

/* Adds the text after its length, because the text may contain any separator. */
static void add_text(struct buf *key, const char *text)
{
    if (text)
        buf_addf(key, "%zu:", strlen(text));
    buf_adds(key, text ? text : "-");
}

/* Writes the key of an entry. `by_file`: the key includes the file's name. */
static int make_key(const struct profile_index *c, const struct input_entry *e, bool by_file, struct buf *ret,
                    struct err *err)
{
    buf_clear(ret);
    buf_addf(ret, "%d %u ", by_file, e->pair);
    add_text(ret, e->kind);
    add_text(ret, e->service);
    add_text(ret, c->hosts_may_differ ? NULL : e->host);
    add_text(ret, e->service ? NULL : e->member);
    add_text(ret, by_file ? file_base(e->member) : NULL);
    return buf_check(ret, e->member, err);
}

static int add_counterpart(struct profile_index *c, const struct input_entry *e, struct buf *key,
                           struct err *err)
{
    for (int by_file = 0; by_file < 2; by_file++) {
        if (make_key(c, e, by_file, key, err) < 0)
            return -1;
        if (name_map_get(&c->by_key, buf_str(key)))
            continue;
        if (strlist_add(&c->keys, buf_str(key), err) < 0 ||
            name_map_add(&c->by_key, c->keys.items[c->keys.n - 1], e, err) < 0)
            return -1;
    }
    return 0;
}

/* Adds the profiles of a bundle. The caller releases *c, also after a failure. */
static int add_counterparts(const struct input_entries *entries, struct profile_index *c, struct err *err)
{
    struct buf key = BUF_INIT(BUNDLE_MAX_MANIFEST);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < entries->n; i++)
        if (entries->items[i].is_profile)
            rc = add_counterpart(c, &entries->items[i], &key, err);
    buf_release(&key);
    return rc;
}

static void release_counterparts(struct profile_index *c)
{
    name_map_release(&c->by_key);
    strlist_release(&c->keys);
}

/* Finds the profile of the same service and kind, preferably one whose file has the same name. *ret: NULL if
 * there is none. */
static int find_counterpart(const struct profile_index *c, const struct input_entry *e,
                            const struct input_entry **ret, struct err *err)
{
    struct buf key = BUF_INIT(BUNDLE_MAX_MANIFEST);
    const struct input_entry *found = NULL;
    int rc = 0;
    for (int by_file = 1; rc == 0 && !found && by_file >= 0; by_file--) {
        rc = make_key(c, e, by_file, &key, err);
        found = rc == 0 ? name_map_get(&c->by_key, buf_str(&key)) : NULL;
    }
    buf_release(&key);
    if (rc == 0)
        *ret = found;
    return rc;
}

/* Returns BUNDLE:MEMBER, a new string. */
static char *make_name(const char *bundle, const char *member)
{
    char *name = NULL;
    return asprintf(&name, "%s:%s", bundle, member) < 0 ? NULL : name;
}

static int add_names(const struct diff_job *job, const char *old, const char *new, struct strlist *ret,
                     struct err *err)
{
    char *names[] = {make_name(job->argv[job->n - 2], old), make_name(job->argv[job->n - 1], new)};
    int rc = names[0] && names[1] ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < 2; i++)
        rc = strlist_add(ret, names[i], err);
    free(names[0]);
    free(names[1]);
    return rc;
}

static void print_heading(const char *member, bool is_first)
{
    char text[512];
    printf("%s%s\n", is_first ? "" : "\n", text_printable(text, sizeof text, member, strlen(member)));
    fflush(stdout);
}

/* The profiles of two bundles: those of the same service and kind in pairs, and the rest. */
struct pairs {
    struct strlist names;   /* of both profiles of each pair: the old one, then the new one */
    struct strlist removed; /* profiles that only the first bundle has */
    struct strlist added;   /* profiles that only the second bundle has */
};

static void release_pairs(struct pairs *pairs)
{
    strlist_release(&pairs->names);
    strlist_release(&pairs->removed);
    strlist_release(&pairs->added);
}

/* Pairs the profiles of `lists`. `is_paired` gets true for each entry of lists[0] that has a counterpart. */
static int pair_entries(const struct diff_job *job, const struct input_entries lists[2], bool *is_paired,
                        struct pairs *ret, struct err *err)
{
    struct profile_index counterparts = {.hosts_may_differ =
                                             has_one_host(&lists[0]) && has_one_host(&lists[1])};
    int rc = add_counterparts(&lists[0], &counterparts, err);
    for (size_t i = 0; rc == 0 && i < lists[1].n; i++) {
        const struct input_entry *new = &lists[1].items[i], *old = NULL;
        if (!new->is_profile || (rc = find_counterpart(&counterparts, new, &old, err)) < 0)
            continue;
        rc = old ? add_names(job, old->member, new->member, &ret->names, err)
                 : strlist_add(&ret->added, new->member, err);
        if (old)
            is_paired[old - lists[0].items] = true;
    }
    release_counterparts(&counterparts);
    return rc;
}

static int list_pairs(const struct diff_job *job, const struct input_entries lists[2], struct pairs *ret,
                      struct err *err)
{
    bool *is_paired = calloc(lists[0].n + 1, sizeof *is_paired);
    int rc = is_paired ? pair_entries(job, lists, is_paired, ret, err) : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < lists[0].n; i++)
        if (lists[0].items[i].is_profile && !is_paired[i])
            rc = strlist_add(&ret->removed, lists[0].items[i].member, err);
    free(is_paired);
    return rc;
}

static int compare_pair(struct diff_job *job, char **names, struct input_keys *keys, struct err *err)
{
    char **words = job->argv + job->n - 2, *before[] = {words[0], words[1]};
    words[0] = names[0];
    words[1] = names[1];
    int rc = print_report(job, keys, err);
    words[0] = before[0];
    words[1] = before[1];
    return rc;
}

static int compare_pairs(struct diff_job *job, const struct pairs *pairs, struct input_keys *keys,
                         struct err *err)
{
    const struct strlist *names = &pairs->names;
    const char *bundle = job->argv[job->n - 1];
    size_t n = names->n / 2;
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "the two bundles have no profile of the same service and kind");
    if (n > 1 && job->options.output && *job->options.output)
        return err_set(err, ERR_USAGE,
                       "-output takes one report, and the bundles have %zu profiles in common", n);
    for (size_t i = 0; i < pairs->removed.n; i++)
        pprof_print("%s: only in the first bundle", pairs->removed.items[i]);
    for (size_t i = 0; i < pairs->added.n; i++)
        pprof_print("%s: only in the second bundle", pairs->added.items[i]);
    if (input_announce(names->items, names->n, keys, err) < 0)
        return -1;
    size_t failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct err why = ERR_INIT;
        const char *member = names->items[2 * i + 1] + strlen(bundle) + 1;
        if (confined_budget_check(job->budget, bundle, err) < 0)
            return -1;
        if (n > 1)
            print_heading(member, i == 0);
        if (compare_pair(job, names->items + 2 * i, keys, &why) == 0)
            continue;
        /* After a fault of these two profiles, compare the others. */
        if (n == 1 || !input_error_is_skippable(&why)) {
            *err = why;
            return -1;
        }
        pprof_print("%s: %s", member, why.msg);
        failed++;
    }
    return failed ? err_set(err, ERR_FAILED, "%zu of %zu profiles could not be compared", failed, n) : 0;
}

static int compare_bundles(struct diff_job *job, struct input_keys *keys, struct err *err)
{
    struct input_entries lists[2] = {{0}, {0}};
    struct pairs pairs = {0};
    int rc = input_list_entries(job->argv[job->n - 2], keys, &lists[0], err);
    if (rc == 0)
        rc = input_list_entries(job->argv[job->n - 1], keys, &lists[1], err);
    if (rc == 0)
        rc = list_pairs(job, lists, &pairs, err);
    input_entries_release(&lists[0]);
    input_entries_release(&lists[1]);
    if (rc == 0)
        rc = compare_pairs(job, &pairs, keys, err);
    if (rc < 0 && err->kind == ERR_LIMIT && pairs.names.n > 2)
        err_hint(err,
                 "a bundle that profgrab has made needs less memory and time: this one may be damaged; "
                 "`profgrab diff %s %s` "
                 "compares one profile only",
                 pairs.names.items[0], pairs.names.items[1]);
    release_pairs(&pairs);
    return rc;
}

/* ---- a bundle and a member ----------------------------------------------------------------------------- */

static const struct input_entry *find_entry(const struct input_entries *all, const char *member)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].is_profile && strcmp(all->items[i].member, member) == 0)
            return &all->items[i];
    return NULL;
}

/* Finds the profile of `bundle` with the same service and kind as `other`, BUNDLE:MEMBER of another bundle.
 * *ret: the profile's BUNDLE:MEMBER, which the caller frees; unchanged if there is none, or if `other` names
 * no bundle. */
static int find_matching_member(const char *bundle, const char *other, struct input_keys *keys, char **ret,
                                struct err *err)
{
    const char *member = NULL;
    char *other_bundle = input_bundle_of(other, &member);
    if (!other_bundle)
        return 0;
    struct input_entries entries = {0}, other_entries = {0};
    int rc = input_list_entries(bundle, keys, &entries, err);
    if (rc == 0)
        rc = input_list_entries(other_bundle, keys, &other_entries, err);
    struct profile_index counterparts = {.hosts_may_differ =
                                             has_one_host(&entries) && has_one_host(&other_entries)};
    const struct input_entry *e = rc == 0 ? find_entry(&other_entries, member) : NULL;
    if (e)
        rc = add_counterparts(&entries, &counterparts, err);
    if (e && rc == 0)
        rc = find_counterpart(&counterparts, e, &e, err);
    if (e && rc == 0 && !(*ret = make_name(bundle, e->member)))
        rc = err_nomem(err);
    release_counterparts(&counterparts);
    input_entries_release(&entries);
    input_entries_release(&other_entries);
    free(other_bundle);
    return rc;
}

/* Fails if the word names no file, and cannot be a URL because it has no colon. Called before the profiles of
 * the other bundle are listed, so that the user gets the error first. */
static int check_exists(const char *word, struct err *err)
{
    if (input_exists(word) || strchr(word, ':'))
        return 0;
    return err_set(err, ERR_NOT_FOUND, "stat %s: no such file or directory", word);
}

/* Compares a member with the bundle's profile of the same service and kind. */
static int compare_with_member(struct diff_job *job, bool old_is_bundle, struct input_keys *keys,
                               struct err *err)
{
    char **words = job->argv + job->n - 2, **bundle_word = old_is_bundle ? &words[0] : &words[1];
    char *bundle = *bundle_word, *other = old_is_bundle ? words[1] : words[0], *found = NULL;
    if (check_exists(other, err) < 0)
        return -1;
    int rc = find_matching_member(bundle, other, keys, &found, err);
    if (found) {
        pprof_print("%s: comparing with %s, its profile of the same service and kind", bundle,
                    found + strlen(bundle) + 1);
        *bundle_word = found;
    }
    if (rc == 0)
        rc = print_report(job, keys, err);
    *bundle_word = bundle;
    free(found);
    return rc;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int compare_arguments(struct diff_job *job, struct err *err)
{
    struct pprof_texts *texts = &job->options.identities;
    const struct strlist identities = {.items = texts->items, .n = texts->n};
    struct input_keys keys = {
        .identities = &identities, .passphrase_file = job->options.passphrase_file, .option = "--identity"};
    const struct strlist words = {.items = job->argv + job->n - 2, .n = 2};
    struct confined_budget budget;
    if (input_unlock_all(&words, &keys, &budget, err) < 0) {
        input_keys_release(&keys);
        return -1;
    }
    job->budget = &budget;
    bool old_is_bundle = input_is_bundle(job->argv[job->n - 2]),
         new_is_bundle = input_is_bundle(job->argv[job->n - 1]);
    int rc = old_is_bundle && new_is_bundle   ? compare_bundles(job, &keys, err)
             : old_is_bundle || new_is_bundle ? compare_with_member(job, old_is_bundle, &keys, err)
                                              : print_report(job, &keys, err);
    input_keys_release(&keys);
    job->budget = NULL;
    return rc;
}

/* Runs pprof with the given flags, and with -top unless they choose another format. `pprof_argv` has room for
 * the arguments of pprof. */
static int run_pprof(int argc, char **argv, char **pprof_argv, struct err *err)
{
    char top[] = "-top", base[] = "-diff_base";
    struct diff_job job = {.argv = pprof_argv + 1, .n = argc + 1};
    int n = argc - 2;
    pprof_argv[0] = top;
    memcpy(pprof_argv + 1, argv, (size_t)n * sizeof *pprof_argv);
    pprof_argv[n + 1] = base;
    pprof_argv[n + 2] = argv[n];
    pprof_argv[n + 3] = argv[n + 1];
    pprof_tune_memory();
    switch (pprof_parse(job.n, job.argv, &job.options, err)) {
    case PPROF_HELP:
        return EXIT_OK;
    case PPROF_PARSED:
        if (job.options.format == PPROF_OUTPUTS) {
            job.argv = pprof_argv;
            job.n++;
        }
        if (compare_arguments(&job, err) == 0)
            return EXIT_OK;
        break;
    case PPROF_INVALID:
        break;
    }
    return pprof_report_failure(err);
}

static int run_diff(int argc, char **argv, struct err *err)
{
    if (argc < 2) {
        err_set(err, ERR_USAGE, "diff takes two profiles, the older one first");
        return exit_status_of(err);
    }
    char **pprof_argv = calloc((size_t)argc + 3, sizeof *pprof_argv);
    if (!pprof_argv) {
        err_nomem(err);
        return exit_status_of(err);
    }
    int status = run_pprof(argc, argv, pprof_argv, err);
    free(pprof_argv);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .synopsis = "[FLAG...] OLD NEW",
    .summary = "compare two profiles",
    .details =
        "Prints the report of pprof -top -diff_base OLD NEW. For two bundles it compares the profiles that\n"
        "both have, by service and kind. FLAGS are those of pprof: -cum, -tree instead of -top,\n"
        "-sample_index=alloc_space, ... --identity FILE names the age identity or SSH private key that\n"
        "decrypts bundles (default: the usual keys of ~/.ssh), --passphrase-file FILE the file with the\n"
        "passphrase in its first line.",
    .flag_at = pprof_flag_option,
    .words = ARGUMENTS_PROFILES,
    .run = run_diff,
};
