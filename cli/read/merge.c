/* `profgrab merge`: merges profiles into one, each with an optional weight. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/pprof/pprof.h"
#include "cli/input/input.h"
#include "cli/input/prepare.h"
#include "base/banned.h"

/* The number of profiles that are merged at a time, to limit memory. BATCH profiles of a level become one
 * profile of the next level. A profile is merged once on each level, so the time is linear. */
#define BATCH 64
#define LEVELS 4

struct merge_options {
    const char *output;
    bool force;
    struct strlist identities;
    const char *passphrase_file;
};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT_ONCE, "OUT", "the merged profile, - for standard output",
     offsetof(struct merge_options, output), 0},
    {"force", 'f', OPTION_FLAG, NULL, "replace OUT if it exists", offsetof(struct merge_options, force), 0},
    {"identity", 'i', OPTION_LIST, "FILE",
     "an age identity or SSH private key that decrypts the bundle (default: the usual keys of ~/.ssh)",
     offsetof(struct merge_options, identities), 0},
    {"passphrase-file", 0, OPTION_TEXT, "FILE",
     "a file that only you can read, with the passphrase in its first line",
     offsetof(struct merge_options, passphrase_file), 0},
    OPTIONS_END,
};

/* One merge. The profiles wait in levels, see BATCH. */
struct merge {
    struct profile *profiles[LEVELS][BATCH];
    size_t n[LEVELS];     /* the number of profiles in each level */
    struct strlist names; /* of all profiles */
    double *weights;      /* one for each name */
    size_t cap_weights;
    struct input_keys keys;
    struct confined_budget budget;
};

/* Splits FILE@WEIGHT, unless a file has the complete word as its name. *ret_name: a new string. */
static int split_weight(const char *word, char **ret_name, double *ret_weight, struct err *err)
{
    const char *at = strrchr(word, '@');
    char *end = NULL;
    double weight = 1;
    if (at && !file_exists(word)) {
        weight = strtod(at + 1, &end);
        if (end == at + 1 || *end)
            at = NULL;
        else if (!isfinite(weight) || weight <= 0)
            return err_set(err, ERR_USAGE, "%s: a weight is a number above 0", word);
    } else {
        at = NULL;
    }
    *ret_name = strndup(word, at ? (size_t)(at - word) : strlen(word));
    *ret_weight = at ? weight : 1;
    return *ret_name ? 0 : err_nomem(err);
}

static int scale_profile(struct profile *p, double weight, struct err *err)
{
    if (weight == 1 || p->n_sample_types == 0) /* NOLINT: exactly 1 if no weight is given */
        return 0;
    double *ratios = malloc(p->n_sample_types * sizeof *ratios);
    if (!ratios)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_sample_types; i++)
        ratios[i] = weight;
    profile_scale(p, ratios);
    free(ratios);
    return 0;
}

/* If a level is full, merges its profiles into one, and moves the merged profile to the next level. On the
 * highest level the merged profile stays, as the first one. */
static int make_room(struct merge *m, size_t level, struct err *err)
{
    struct profile *merged = NULL;
    if (m->n[level] < BATCH)
        return 0;
    if (level + 1 < LEVELS && make_room(m, level + 1, err) < 0)
        return -1;
    size_t n = m->n[level], to = level + 1 < LEVELS ? level + 1 : level;
    m->n[level] = 0;
    if (report_combine(m->profiles[level], n, &merged, err) < 0)
        return -1;
    m->profiles[to][m->n[to]++] = merged;
    return 0;
}

/* Merges all remaining profiles, those of the highest level first, because they were read first. */
static int merge_remaining(struct merge *m, struct profile **ret, struct err *err)
{
    struct profile *all[LEVELS * BATCH];
    size_t n = 0;
    for (size_t level = LEVELS; level-- > 0; m->n[level] = 0)
        for (size_t i = 0; i < m->n[level]; i++)
            all[n++] = m->profiles[level][i];
    return report_combine(all, n, ret, err);
}

/* Adds the profile of an input, or sets `err` to the error of reading it. Takes the profile on success. */
static int add_input(struct merge *m, struct input_result *input, double weight, struct err *err)
{
    int rc = input->profile ? 0 : -1;
    if (rc < 0)
        *err = input->err;
    else
        rc = scale_profile(input->profile, weight, err);
    if (rc == 0) {
        m->profiles[0][m->n[0]++] = input->profile;
        input->profile = NULL;
        return 0;
    }
    return input_name_in_error(input->name, err);
}

/* Reads and adds the inputs from index `at` on, as many as fit into the first level. *ret_n: their number. */
static int add_inputs(struct merge *m, size_t at, size_t *ret_n, struct err *err)
{
    struct input_result inputs[BATCH] = {{0}};
    if (make_room(m, 0, err) < 0)
        return -1;
    size_t left = m->names.n - at, room = BATCH - m->n[0], n = left < room ? left : room;
    for (size_t i = 0; i < n; i++)
        inputs[i].name = m->names.items[at + i];
    input_read_profiles(inputs, n, &m->keys, &m->budget);
    int rc = confined_budget_check(&m->budget, m->names.items[at + n - 1], err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_input(m, &inputs[i], m->weights[at + i], err);
    for (size_t i = 0; i < n; i++)
        profile_free(inputs[i].profile);
    *ret_n = n;
    return rc;
}

/* Adds the names of a word: a file, or the profiles of a bundle that the word names. */
static int expand_word(struct merge *m, const char *word, struct err *err)
{
    struct input_expand_options expand = {
        .content = INPUT_PROFILES, .hint_prefix = "profgrab merge -o OUT", .keys = &m->keys};
    char *name = NULL;
    double weight = 1;
    size_t before = m->names.n;
    int rc = split_weight(word, &name, &weight, err);
    if (rc == 0)
        rc = input_expand(&expand, name, &m->names, err);
    if (rc == 0)
        rc = array_reserve((void **)&m->weights, &m->cap_weights, m->names.n, sizeof *m->weights, err);
    for (size_t i = before; rc == 0 && i < m->names.n; i++)
        m->weights[i] = weight;
    free(name);
    return rc;
}

/* Lists the words without their weights. */
static int list_names(const struct strlist *words, struct strlist *ret, struct err *err)
{
    for (size_t i = 0; i < words->n; i++) {
        char *name = NULL;
        double weight;
        int rc = split_weight(words->items[i], &name, &weight, err);
        if (rc == 0)
            rc = strlist_add(ret, name, err);
        free(name);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int begin_merge(const struct strlist *words, struct merge *m, struct err *err)
{
    struct strlist names = {0};
    int rc = list_names(words, &names, err);
    if (rc == 0)
        rc = input_unlock_all(&names, &m->keys, &m->budget, err);
    strlist_release(&names);
    return rc;
}

static int merge_all(const struct strlist *words, struct merge *m, struct profile **ret, struct err *err)
{
    uint64_t memory_before = 0;
    int rc = begin_merge(words, m, err);
    if (rc < 0)
        return -1;
    confined_limit_memory(&m->budget, &memory_before);
    for (size_t i = 0; rc == 0 && i < words->n; i++)
        rc = expand_word(m, words->items[i], err);
    if (rc == 0)
        rc = input_announce(m->names.items, m->names.n, &m->keys, err);
    for (size_t i = 0, n = 0; rc == 0 && i < m->names.n; i += n)
        rc = add_inputs(m, i, &n, err);
    if (rc == 0)
        rc = merge_remaining(m, ret, err);
    rc = confined_restore_memory(&m->budget, memory_before, rc, words->items[0], err);
    if (rc < 0 && err->kind == ERR_LIMIT && m->names.n > words->n)
        input_hint_fewer_members("profgrab merge -o OUT", m->names.items[0], err);
    return rc;
}

static void release_merge(struct merge *m)
{
    for (size_t level = 0; level < LEVELS; level++)
        while (m->n[level] > 0)
            profile_free(m->profiles[level][--m->n[level]]);
    strlist_release(&m->names);
    free(m->weights);
    input_keys_release(&m->keys);
}

static bool is_standard_output(const struct merge_options *o)
{
    return strcmp(o->output, "-") == 0;
}

/* Checks the output before any input is read. */
static int check_output(const struct merge_options *o, struct err *err)
{
    struct stat st;
    if (is_standard_output(o)) {
        if (!isatty(STDOUT_FILENO))
            return 0;
        err_set(err, ERR_USAGE, "a terminal cannot show the merged profile");
        return err_hint(err, "-o FILE writes it into a file");
    }
    if (o->force || pprof_is_stream(o->output) || lstat(o->output, &st) != 0)
        return 0;
    err_set(err, ERR_EXISTS, "%s exists already", o->output);
    return err_hint(err, "-o names another file, and --force replaces this one");
}

static int merge_files(const struct merge_options *given, const struct strlist *words, struct err *err)
{
    struct pprof_options o = {.report = REPORT_SETTINGS_INIT,
                              .output = is_standard_output(given) ? NULL : given->output,
                              .keep_output = !given->force,
                              .format = PPROF_PROTO,
                              .seconds = -1,
                              .timeout = -1};
    struct merge m = {.keys = {&given->identities, given->passphrase_file, "--identity", NULL, NULL}};
    struct profile *merged = NULL;
    pprof_tune_memory();
    int rc = merge_all(words, &m, &merged, err);
    release_merge(&m);
    o.budget = &m.budget;
    return rc < 0 ? -1 : pprof_write_report(&o, merged, err);
}

static int run_merge(int argc, char **argv, struct err *err)
{
    struct merge_options o = {0};
    struct strlist rest = {0};
    int rc = options_parse(options, &(struct arguments){argc, argv}, &o, &rest, err);
    if (rc == 0 && rest.n == 0)
        rc = err_set(err, ERR_USAGE, "merge takes the profiles to merge");
    if (rc == 0 && !o.output)
        rc = err_set(err, ERR_USAGE, "merge needs -o OUT, the file for the merged profile");
    if (rc == 0)
        rc = check_output(&o, err);
    if (rc == 0)
        rc = merge_files(&o, &rest, err);
    strlist_release(&o.identities);
    strlist_release(&rest);
    return rc < 0 ? exit_status_of(err) : EXIT_OK;
}

const struct command command_merge = {
    .name = "merge",
    .synopsis = "-o OUT FILE[@WEIGHT]...",
    .summary = "merge profiles into one, for example for Go's PGO",
    .details =
        "A FILE is a profile, a bundle with one profile, BUNDLE:MEMBER, or BUNDLE:PATTERN, as in\n"
        "'run.tar.gz:*/heap.pb.gz'. FILE@WEIGHT multiplies its values: profgrab merge -o default.pgo\n"
        "front.pb.gz@3 batch.pb.gz@0.5. All profiles must be of one kind; merge keeps the sample types that\n"
        "all of them have. Without weights the result is that of pprof -proto with several sources.",
    .options = options,
    .words = ARGUMENTS_PROFILES,
    .run = run_merge,
};
