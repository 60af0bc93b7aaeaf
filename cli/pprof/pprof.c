/* The command `profgrab pprof`. */
#include "cli/pprof/pprof.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <sys/stat.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/input/prepare.h"
#include "base/banned.h"

void pprof_tune_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

static int make_report(const struct pprof_options *o, struct err *err)
{
    struct profile *p = NULL;
    if (o->http)
        return pprof_run_web(o, err);
    if (pprof_load(o, NULL, &p, err) < 0)
        return -1;
    if (o->format != PPROF_OUTPUTS)
        return pprof_write_report(o, p, err);
    return pprof_run_shell(o, p, err);
}

/* Adds the source, unless it is a URL: the budget gets the size of an answer when it has arrived. */
static int add_local(const char *source, struct strlist *ret, struct err *err)
{
    return pprof_may_be_url(source) ? 0 : strlist_add(ret, source, err);
}

/* Makes the report within a budget of memory and time. Begins a budget if the caller has none. */
static int make_report_in_budget(const struct pprof_options *o, struct err *err)
{
    struct pprof_options own = *o;
    struct confined_budget budget;
    struct strlist words = {0};
    int rc = 0;
    if (o->budget)
        return make_report(o, err);
    for (size_t i = 0; rc == 0 && i < o->n_sources; i++)
        rc = add_local(o->sources[i], &words, err);
    if (rc == 0 && o->base)
        rc = add_local(o->base, &words, err);
    if (rc == 0)
        rc = input_buffer_stdin(words.items, words.n, -1, err);
    if (rc == 0)
        rc = input_unlock_all(&words, o->keys, &budget, err);
    strlist_release(&words);
    own.budget = &budget;
    return rc < 0 ? -1 : make_report(&own, err);
}

/* Returns whether the source is a bundle, or a member of one, and the bundle is the file `output`. */
static bool is_same_bundle(const char *source, const struct stat *output)
{
    const char *member;
    struct stat st;
    char *bundle = file_exists(source) ? NULL : input_bundle_of(source, &member);
    const char *path = bundle ? bundle : source;
    bool same = stat(path, &st) == 0 && st.st_dev == output->st_dev && st.st_ino == output->st_ino &&
                input_is_bundle(path);
    free(bundle);
    return same;
}

/* Refuses to replace a bundle by a report on it: the bundle may be the only evidence. Replaces a profile, as
 * upstream does. */
static int check_output(const struct pprof_options *o, struct err *err)
{
    struct stat st;
    if (!o->output || stat(o->output, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    bool same = o->base && is_same_bundle(o->base, &st);
    for (size_t i = 0; i < o->n_sources && !same; i++)
        same = is_same_bundle(o->sources[i], &st);
    if (!same)
        return 0;
    err_set(err, ERR_USAGE, "%s is the bundle that is read, and the report would replace it", o->output);
    return err_hint(err, "-output names another file");
}

int pprof_run(const struct pprof_options *o, struct err *err)
{
    struct pprof_options own = *o;
    const struct strlist identities = {.items = own.identities.items, .n = own.identities.n};
    struct input_keys keys = {
        .identities = &identities, .passphrase_file = o->passphrase_file, .option = "-identity"};
    if (check_output(o, err) < 0)
        return -1;
    if (!own.keys)
        own.keys = &keys;
    int rc = make_report_in_budget(&own, err);
    input_keys_release(&keys);
    return rc;
}

static int run_pprof(int argc, char **argv, struct err *err)
{
    struct pprof_options o;
    pprof_tune_memory();
    switch (pprof_parse(argc, argv, &o, err)) {
    case PPROF_HELP:
        return EXIT_OK;
    case PPROF_PARSED:
        if (pprof_run(&o, err) == 0)
            return EXIT_OK;
        /* A signal is the normal end of a server: it needs no message. */
        if (o.http && err->kind == ERR_CANCELLED)
            err->msg[0] = '\0';
        break;
    case PPROF_INVALID:
        break;
    }
    return pprof_report_failure(err);
}

const struct command command_pprof = {
    .name = "pprof",
    .synopsis = "[FORMAT] [FLAG...] [BINARY] SOURCE...",
    .summary = "show profiles as `go tool pprof` does, with its flags: -top, -tree, -peek, -list, -svg, ...",
    .details =
        "Takes the flags of google/pprof, with one dash or two; `profgrab pprof -h` lists them. A source "
        "is a file, a URL, HOST:PORT/PATH, or a bundle: BUNDLE with one profile, BUNDLE:MEMBER, or "
        "BUNDLE:PATTERN, as in 'run.tar.gz:*/heap.pb.gz'; several are merged. For example: profgrab "
        "pprof -top -cum cpu.pb.gz\n\n-identity FILE names the age identity or SSH private key that opens "
        "an encrypted bundle (default: the usual keys of ~/.ssh), --passphrase-file FILE the file whose "
        "first line is the passphrase.\n\nWithout a format it reads commands, as "
        "`go tool pprof` does; `help` lists them.\n\nExit codes are those of pprof: 0, or 2 if anything was "
        "wrong; 130 interrupted.",
    .flag_at = pprof_flag_option,
    .words = ARGUMENTS_PROFILES,
    .handles_help = true,
    .run = run_pprof,
};
