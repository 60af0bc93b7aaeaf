/* `profgrab bundle list|verify|extract|create|encrypt|decrypt`. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "cli/args/command.h"
#include "cli/bundle/create.h"
#include "cli/term/document.h"
#include "cli/term/exit.h"
#include "cli/bundle/crypt.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/term/standard_streams.h"
#include "cli/bundle/verify.h"
#include "base/banned.h"

/* The maximum size of an extracted bundle: far above real ones, and small enough that a bundle of zeros does
 * not fill a disk. */
#define EXTRACT_MAX (UINT64_C(64) << 30)

struct bundle_options {
    bool json;
    bool profiles, dumps;
    const char *directory;
    const char *output;
    const char *reason;
    const char *allowed_signers;
    struct strlist recipients;
    struct strlist identities;
    const char *passphrase_file;
    bool passphrase;
    bool armor;
};

static const struct option options[] = {
    {"json", 0, OPTION_FLAG, NULL, "list, verify: as JSON", offsetof(struct bundle_options, json), 0},
    {"profiles", 0, OPTION_FLAG, NULL,
     "list: only the intact profiles, as BUNDLE:MEMBER, one a line; never prompts",
     offsetof(struct bundle_options, profiles), 0},
    {"dumps", 0, OPTION_FLAG, NULL, "list: the same for goroutine dumps; with --profiles, both",
     offsetof(struct bundle_options, dumps), 0},
    {"directory", 'C', OPTION_TEXT, "DIR", "extract: below this directory instead of the current one",
     offsetof(struct bundle_options, directory), 0},
    {"output", 'o', OPTION_TEXT, "PATH",
     "create: a directory for the bundle (DIR/ is created if it is missing), or its name ending in .tar.gz; "
     "encrypt, decrypt: the file to write, - for standard output, instead of FILE.age and FILE without .age",
     offsetof(struct bundle_options, output), 0},
    {"reason", 0, OPTION_TEXT, "TEXT", "create: the reason, for the manifest",
     offsetof(struct bundle_options, reason), 0},
    {"allowed-signers", 0, OPTION_TEXT, "FILE",
     "verify: a file of allowed signers, as for ssh-keygen; verification fails if none of them signed the "
     "bundle",
     offsetof(struct bundle_options, allowed_signers), 0},
    {"encrypt-to", 0, OPTION_LIST, "RECIPIENT",
     "encrypt: to an age1... or SSH public key (ed25519, RSA), or those of a file: FILE.pub, "
     "authorized_keys, /USER.keys of GitHub and GitLab",
     offsetof(struct bundle_options, recipients), 0},
    {"passphrase", 0, OPTION_FLAG, NULL, "encrypt: with a passphrase; prompts for it",
     offsetof(struct bundle_options, passphrase), 0},
    {"passphrase-file", 0, OPTION_TEXT, "FILE",
     "a file that only you can read, with the passphrase in its first line",
     offsetof(struct bundle_options, passphrase_file), 0},
    {"armor", 0, OPTION_FLAG, NULL, "encrypt: as text", offsetof(struct bundle_options, armor), 0},
    {"identity", 'i', OPTION_LIST, "FILE",
     "decrypt, list, verify, extract: an age identity or SSH private key that decrypts the file",
     offsetof(struct bundle_options, identities), 0},
    OPTIONS_END,
};

/* ---- list ---------------------------------------------------------------------------------------------- */

/* Prints a member, or adds it to the JSON array `ctx` unless that is NULL. */
static int show_member(void *ctx, const struct bundle_member *member, struct err *err)
{
    char time[32];
    json_t *rows = ctx;
    clock_format(time, sizeof time, member->mtime * 1000);
    if (!rows)
        printf("%12llu  %s  %s\n", (unsigned long long)member->size, time, member->path);
    else if (json_array_append_new(rows, json_pack("{s:s, s:I, s:s}", "path", member->path, "bytes",
                                                   (json_int_t)member->size, "time", time)) != 0)
        return err_nomem(err);
    return 0;
}

/* The members to print: those of the bundle that have this content. */
struct member_selection {
    const char *bundle;
    enum input_content content;
    struct input_keys keys;
};

static int print_members(void *ctx, struct buf *ret, struct err *err)
{
    struct member_selection *m = ctx;
    struct input_entries all;
    int rc = input_list_entries(m->bundle, &m->keys, &all, err);
    (void)ret;
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        const struct input_entry *e = &all.items[i];
        if (input_entry_is(e, m->content) && text_is_visible(e->member))
            printf("%s\n", e->member);
    }
    input_entries_release(&all);
    return rc == 0 ? standard_stream_flush(stdout, err) : rc;
}

/* Lists the members in a confined child without a prompt, because the shell's completion runs it. */
static int list_members(const struct bundle_options *o, const char *bundle, struct opener *opener,
                        struct err *err)
{
    struct member_selection m = {.bundle = bundle,
                                 .content = !o->dumps      ? INPUT_PROFILES
                                            : !o->profiles ? INPUT_DUMPS
                                                           : INPUT_BOTH,
                                 .keys = {.option = "--identity", .opener = opener}};
    struct proc_fork_limits limits = confined_limits(input_size(bundle), signals_cancel_fd());
    if (o->json)
        return err_set(err, ERR_USAGE, "--json cannot be combined with --profiles or --dumps");
    opener->prompt.batch = true;
    limits.wall_ms = limits.cpu_ms;
    return confined_run(&(struct confined_work){bundle, print_members, &m}, &limits, NULL, err);
}

static int list_bundle(const struct bundle_options *o, const struct strlist *rest, struct opener *opener,
                       struct err *err)
{
    if (o->profiles || o->dumps)
        return list_members(o, rest->items[0], opener, err);
    json_t *rows = o->json ? json_array() : NULL;
    int rc = bundle_list(rest->items[0], opener->identities, show_member, rows, err);
    if (rc == 0 && o->json)
        return document_print(rows, stdout, err);
    json_decref(rows);
    return rc;
}

/* ---- verify -------------------------------------------------------------------------------------------- */

static int verify_file(const struct bundle_options *o, const struct strlist *rest, struct opener *opener,
                       struct err *err)
{
    struct verify_options verify = {
        .file = rest->items[0], .allowed_signers = o->allowed_signers, .json = o->json};
    return verify_bundle(&verify, opener->identities, err);
}

/* ---- extract ------------------------------------------------------------------------------------------- */

static int extract_members(const struct bundle_options *o, const struct strlist *rest, struct opener *opener,
                           struct err *err)
{
    struct strlist members = {.items = rest->items + 1, .n = rest->n - 1};
    char *dir = NULL;
    if (bundle_extract(&(struct bundle_extract_options){rest->items[0], opener->identities,
                                                        o->directory ? o->directory : ".", &members,
                                                        EXTRACT_MAX},
                       &dir, err) < 0)
        return err->kind == ERR_EXISTS ? err_hint(err, "use -C DIR to unpack below another directory") : -1;
    printf("%s\n", dir);
    free(dir);
    return 0;
}

/* ---- verbs --------------------------------------------------------------------------------------------- */

/* A verb whose file may be encrypted. */
typedef int opener_verb_fn(const struct bundle_options *o, const struct strlist *rest, struct opener *opener,
                           struct err *err);

static int run_with_opener(opener_verb_fn *run, const struct bundle_options *o, const struct strlist *rest,
                           struct err *err)
{
    struct opener opener;
    if (signals_install(err) < 0 || opener_init(&opener, &o->identities, o->passphrase_file, err) < 0)
        return -1;
    int rc = run(o, rest, &opener, err);
    opener_release(&opener);
    return rc;
}

static int run_list(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    return run_with_opener(list_bundle, o, rest, err);
}

static int run_verify(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    return run_with_opener(verify_file, o, rest, err);
}

static int run_extract(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    if (o->output) {
        err_set(err, ERR_USAGE, "bundle extract has no option -o");
        return err_hint(err, "use -C DIR to unpack below that directory");
    }
    return run_with_opener(extract_members, o, rest, err);
}

static struct crypt_options make_crypt_options(const struct bundle_options *o, const struct strlist *rest)
{
    return (struct crypt_options){.file = rest->items[0],
                                  .output = o->output,
                                  .recipients = &o->recipients,
                                  .identities = &o->identities,
                                  .passphrase_file = o->passphrase_file,
                                  .passphrase = o->passphrase,
                                  .armor = o->armor};
}

static int run_encrypt(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    struct crypt_options crypt = make_crypt_options(o, rest);
    return crypt_encrypt(&crypt, err);
}

static int run_decrypt(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    struct crypt_options crypt = make_crypt_options(o, rest);
    return crypt_decrypt(&crypt, err);
}

static int run_create(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    return create_bundle(o->output, o->reason, rest, err);
}

/* ---- the command --------------------------------------------------------------------------------------- */

enum { LIST, VERIFY, EXTRACT, CREATE, ENCRYPT, DECRYPT, END };
static const struct verb verbs[] = {
    [LIST] = {"list", "FILE", "list its files"},
    [VERIFY] = {"verify", "FILE",
                "compare every file with the manifest, print author and signer; exit code 0 or 1"},
    [EXTRACT] = {"extract", "FILE [MEMBER...]", "extract all members, or only these (globs)"},
    [CREATE] = {"create", "FILE...",
                "make a bundle of local profiles (go test -cpuprofile, ...), or of a killed run's "
                "NAME.partial directory"},
    [ENCRYPT] = {"encrypt", "FILE", "encrypt any file in the age format, into FILE.age"},
    [DECRYPT] = {"decrypt", "FILE", "decrypt a file in the age format"},
    [END] = {NULL, NULL, NULL},
};

static const struct {
    size_t max_arguments; /* after the verb */
    /* Returns the exit code, or -1 and sets err. */
    int (*run)(const struct bundle_options *o, const struct strlist *rest, struct err *err);
} verb_rows[] = {[LIST] = {1, run_list},
                 [VERIFY] = {1, run_verify},
                 [EXTRACT] = {SIZE_MAX, run_extract},
                 [CREATE] = {SIZE_MAX, run_create},
                 [ENCRYPT] = {1, run_encrypt},
                 [DECRYPT] = {1, run_decrypt}};

static int refuse_verb(const char *name, struct err *err)
{
    struct nearest near = NEAREST_INIT(name);
    char names[100];
    for (size_t i = 0; verbs[i].name; i++)
        nearest_add(&near, verbs[i].name);
    err_set(err, ERR_USAGE, "bundle: unknown verb \"%.60s\"", name);
    if (near.n > 0)
        return err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
    return err_hint(err, "the verbs are list, verify, extract, create, encrypt and decrypt");
}

static int run_verb(const struct bundle_options *o, struct strlist *words, struct err *err)
{
    if (words->n == 0) {
        err_set(err, ERR_USAGE, "bundle: no verb is given");
        return err_hint(err, "the verbs are list, verify, extract, create, encrypt and decrypt");
    }
    struct strlist rest = {.items = words->items + 1, .n = words->n - 1};
    for (size_t i = 0; verbs[i].name; i++) {
        if (strcmp(words->items[0], verbs[i].name) != 0)
            continue;
        if (rest.n == 0 || rest.n > verb_rows[i].max_arguments)
            return err_set(err, ERR_USAGE, "bundle %s needs %s", verbs[i].name,
                           verb_rows[i].max_arguments == 1 ? "one file" : "a file");
        return verb_rows[i].run(o, &rest, err);
    }
    return refuse_verb(words->items[0], err);
}

static int run_bundle(int argc, char **argv, struct err *err)
{
    struct bundle_options o = {0};
    struct strlist words = {0};
    int rc = options_parse(options, &(struct arguments){argc, argv}, &o, &words, err);
    if (rc == 0)
        rc = run_verb(&o, &words, err);
    strlist_release(&o.recipients);
    strlist_release(&o.identities);
    strlist_release(&words);
    return rc < 0 ? exit_status_of(err) : rc;
}

const struct command command_bundle = {
    .name = "bundle",
    .synopsis = "VERB [options] FILE...",
    .summary = "list, verify, extract, create and encrypt bundles",
    .options = options,
    .verbs = verbs,
    .words = ARGUMENTS_FILES,
    .run = run_bundle,
};
