/* `profgrab diff`: plain words for `profgrab pprof -top -diff_base`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/pprof.h"
#include "cli/source.h"
#include "base/banned.h"

/* What is compared: argv for pprof, whose last three words are -diff_base OLD NEW. */
struct comparison {
    char **argv;
    int n;
    struct pprof_options options;         /* of that argv */
    const struct confined_budget *budget; /* of both together; NULL: none */
};

/* As pprof says it: scripts know its words. */
static int report(struct comparison *c, struct source_keys *keys, struct err *err)
{
    if (pprof_parse(c->n, c->argv, &c->options, err) != PPROF_GO_ON)
        return -1;
    c->options.keys = keys;
    c->options.is_diff = true;
    c->options.budget = c->budget;
    int rc = pprof_make(&c->options, err);
    c->options.keys = NULL; /* the caller releases them */
    return rc;
}

/* ---- two bundles --------------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool one_host(const struct source_entries *all)
{
    for (size_t i = 1; i < all->n; i++)
        if (!same_text(all->items[0].host, all->items[i].host))
            return false;
    return all->n > 0;
}

/* The profile of the same service and kind. Of bundles with one host each, the hosts may differ; local files
 * are known by their names. */
static const struct source_entry *counterpart(const struct source_entries *of, const struct source_entry *e,
                                              bool any_host)
{
    const struct source_entry *found = NULL;
    for (size_t i = 0; i < of->n; i++) {
        const struct source_entry *other = &of->items[i];
        bool same = other->is_profile && same_text(other->kind, e->kind) && other->pair == e->pair &&
                    same_text(other->service, e->service) && (any_host || same_text(other->host, e->host));
        if (!same || (!e->service && strcmp(other->member, e->member) != 0))
            continue;
        if (strcmp(file_base(other->member), file_base(e->member)) == 0)
            return other;
        found = found ? found : other;
    }
    return found;
}

static char *name_of(const char *bundle, const char *member)
{
    char *name = NULL;
    return asprintf(&name, "%s:%s", bundle, member) < 0 ? NULL : name;
}

static void begin_report(const struct source_entry *e, bool first)
{
    char room[512];
    printf("%s%s\n", first ? "" : "\n", text_printable(room, sizeof room, e->member, strlen(e->member)));
    fflush(stdout);
}

static int compare_members(struct comparison *c, const struct source_entry *old,
                           const struct source_entry *new, struct source_keys *keys, struct err *err)
{
    char **words = c->argv + c->n - 2, *before[] = {words[0], words[1]};
    words[0] = name_of(before[0], old->member);
    words[1] = name_of(before[1], new->member);
    int rc = words[0] && words[1] ? report(c, keys, err) : err_nomem(err);
    free(words[0]);
    free(words[1]);
    words[0] = before[0];
    words[1] = before[1];
    return rc;
}

static int compare_entries(struct comparison *c, const struct source_entries lists[2],
                           struct source_keys *keys, struct err *err)
{
    bool any_host = one_host(&lists[0]) && one_host(&lists[1]);
    size_t n = 0;
    for (size_t i = 0; i < lists[1].n; i++) {
        if (confined_check(c->budget, c->argv[c->n - 1], err) < 0)
            return -1;
        n += lists[1].items[i].is_profile && counterpart(&lists[0], &lists[1].items[i], any_host);
    }
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "the two bundles have no profile of the same service and kind");
    if (n > 1 && c->options.output && *c->options.output)
        return err_set(err, ERR_USAGE,
                       "-output takes one report, and the bundles have %zu profiles in common", n);
    for (size_t i = 0, shown = 0; i < lists[1].n; i++) {
        if (confined_check(c->budget, c->argv[c->n - 1], err) < 0)
            return -1;
        const struct source_entry *new = &lists[1].items[i],
                                  *old = new->is_profile ? counterpart(&lists[0], new, any_host) : NULL;
        if (new->is_profile && !old)
            pprof_say("%s: only in the second bundle", new->member);
        if (!old)
            continue;
        if (n > 1)
            begin_report(new, shown++ == 0);
        if (compare_members(c, old, new, keys, err) < 0)
            return -1;
    }
    return 0;
}

static int compare_bundles(struct comparison *c, struct source_keys *keys, struct err *err)
{
    struct source_entries lists[2] = {{0}, {0}};
    int rc = source_entries(c->argv[c->n - 2], keys, &lists[0], err);
    if (rc == 0)
        rc = source_entries(c->argv[c->n - 1], keys, &lists[1], err);
    if (rc == 0)
        rc = compare_entries(c, lists, keys, err);
    source_entries_release(&lists[0]);
    source_entries_release(&lists[1]);
    return rc;
}

/* ---- a bundle and a member ----------------------------------------------------------------------------- */

static const struct source_entry *entry_of(const struct source_entries *all, const char *member)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].is_profile && strcmp(all->items[i].member, member) == 0)
            return &all->items[i];
    return NULL;
}

/* *ret: the member of a bundle of the same service and kind as `member` of `other`, BUNDLE:MEMBER, which the
 * caller frees. NULL: there is none. */
static int find_counterpart(const char *bundle, const char *other, const char *member,
                            struct source_keys *keys, char **ret, struct err *err)
{
    struct source_entries of = {0}, all = {0};
    int rc = source_entries(bundle, keys, &of, err);
    if (rc == 0)
        rc = source_entries(other, keys, &all, err);
    const struct source_entry *e = rc == 0 ? entry_of(&all, member) : NULL;
    if (e && (e = counterpart(&of, e, one_host(&of) && one_host(&all))) &&
        !(*ret = name_of(bundle, e->member)))
        rc = err_nomem(err);
    source_entries_release(&of);
    source_entries_release(&all);
    return rc;
}

/* The bundle among the two words stands for its profile that is like the other word, a member. */
static int compare_with_member(struct comparison *c, bool old_is_bundle, struct source_keys *keys,
                               struct err *err)
{
    char **words = c->argv + c->n - 2, **word = words + !old_is_bundle, *before = *word, *found = NULL;
    const char *member = NULL;
    char *other = source_bundle_of(words[old_is_bundle], &member);
    int rc = other ? find_counterpart(before, other, member, keys, &found, err) : 0;
    if (found) {
        pprof_say("%s: %s is compared", before, found + strlen(before) + 1);
        *word = found;
    }
    if (rc == 0)
        rc = report(c, keys, err);
    *word = before;
    free(found);
    free(other);
    return rc;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static int compare_words(struct comparison *c, struct err *err)
{
    char *identity = (char *)(uintptr_t)c->options.identity;
    const struct strlist identities = {.items = &identity, .n = identity && *identity ? 1 : 0};
    struct source_keys keys = {.identities = &identities, .option = "--identity"};
    struct confined_budget budget;
    bool known = false;
    if (confined_open(c->argv + c->n - 2, 2, &keys, &budget, &known, err) < 0) {
        source_keys_release(&keys);
        return -1;
    }
    c->budget = known ? &budget : NULL;
    bool old = source_is_bundle(c->argv[c->n - 2]), new = source_is_bundle(c->argv[c->n - 1]);
    int rc = old && new   ? compare_bundles(c, &keys, err)
             : old || new ? compare_with_member(c, old, &keys, err)
                          : report(c, &keys, err);
    source_keys_release(&keys);
    return rc;
}

/* Runs pprof with the flags given, -top unless they ask for another format. */
static int compare(int argc, char **argv, char **room, struct err *err)
{
    static char top[] = "-top", base[] = "-diff_base";
    struct comparison c = {.argv = room + 1, .n = argc + 1};
    int n = argc - 2;
    room[0] = top;
    memcpy(room + 1, argv, (size_t)n * sizeof *room);
    room[n + 1] = base;
    room[n + 2] = argv[n];
    room[n + 3] = argv[n + 1];
    pprof_settle_memory();
    switch (pprof_parse(c.n, c.argv, &c.options, err)) {
    case PPROF_HELPED:
        return EXIT_OK;
    case PPROF_GO_ON:
        if (c.options.wanted == PPROF_OUTPUTS) {
            c.argv = room;
            c.n++;
        }
        if (compare_words(&c, err) == 0)
            return EXIT_OK;
        break;
    case PPROF_WRONG:
        break;
    }
    return pprof_failed(err);
}

static int run(int argc, char **argv, struct err *err)
{
    if (argc < 2) {
        err_set(err, ERR_USAGE, "diff takes two profiles, the older one first");
        return exit_status_of(err);
    }
    char **room = calloc((size_t)argc + 3, sizeof *room);
    if (!room) {
        err_nomem(err);
        return exit_status_of(err);
    }
    int status = compare(argc, argv, room, err);
    free(room);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .synopsis = "[FLAG...] OLD NEW",
    .summary = "what changed from one profile to another",
    .details =
        "Says what pprof -top -diff_base OLD NEW says. Of two bundles it compares the profiles that "
        "both have, by "
        "service and kind. FLAGS are pprof's own: -cum, -tree in place of -top, "
        "-sample_index=alloc_space, ... --identity FILE names the age identity or SSH private key that opens "
        "encrypted bundles (default: the usual keys of ~/.ssh).",
    .flag = pprof_flag_option,
    .words = WORDS_PROFILES,
    .run = run,
};
