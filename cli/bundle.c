/* `profgrab bundle list|verify|extract|create|encrypt|decrypt`. */
#include <fts.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/command.h"
#include "cli/exit.h"
#include "cli/record.h"
#include "cli/seal.h"
#include "cli/signals.h"
#include "cli/talk.h"
#include "cli/verify.h"
#include "base/banned.h"

/* The most an extracted bundle may write: far above real bundles, far below a full disk's worth of zeros. */
#define EXTRACT_MAX (UINT64_C(64) << 30)

struct bundle_options {
    bool json;
    const char *directory;
    const char *output;
    const char *reason;
    const char *allowed_signers;
    struct strlist recipients;
    struct strlist identities;
    bool passphrase;
    bool armor;
};

static const struct option options[] = {
    {"json", 0, OPTION_FLAG, NULL, "list, verify: as JSON", offsetof(struct bundle_options, json), 0},
    {"directory", 'C', OPTION_TEXT, "DIR", "extract: below this directory instead of the current one",
     offsetof(struct bundle_options, directory), 0},
    {"output", 'o', OPTION_TEXT, "PATH",
     "create: a directory for the bundle, or its name ending in .tar.gz; encrypt, decrypt: the file to "
     "write, - "
     "for standard output, instead of FILE.age and FILE without .age",
     offsetof(struct bundle_options, output), 0},
    {"reason", 0, OPTION_TEXT, "TEXT", "create: why; goes into the manifest",
     offsetof(struct bundle_options, reason), 0},
    {"allowed-signers", 0, OPTION_TEXT, "FILE",
     "verify: who may sign, as ssh-keygen reads it; a bundle that none of them has signed is not good then",
     offsetof(struct bundle_options, allowed_signers), 0},
    {"encrypt-to", 0, OPTION_LIST, "RECIPIENT",
     "encrypt: to an age1... or SSH public key (ed25519, RSA), or those of a file: FILE.pub, "
     "authorized_keys, "
     "what GitHub and GitLab show under /USER.keys",
     offsetof(struct bundle_options, recipients), 0},
    {"passphrase", 0, OPTION_FLAG, NULL, "encrypt: with a passphrase, which is asked for",
     offsetof(struct bundle_options, passphrase), 0},
    {"armor", 0, OPTION_FLAG, NULL, "encrypt: as text", offsetof(struct bundle_options, armor), 0},
    {"identity", 'i', OPTION_LIST, "FILE",
     "decrypt, list, verify, extract: an age identity or an SSH private key that opens what is encrypted",
     offsetof(struct bundle_options, identities), 0},
    OPTIONS_END,
};

static int print_document(json_t *document, struct err *err)
{
    int rc = document && json_dumpf(document, stdout, JSON_INDENT(2)) == 0 ? 0 : -1;
    json_decref(document);
    putchar('\n');
    return rc < 0 ? err_nomem(err) : 0;
}

/* ---- list ---------------------------------------------------------------------------------------------- */

static int list_line(void *ctx, const struct bundle_member *member, struct err *err)
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

static int list(const struct bundle_options *o, const struct strlist *rest, struct age_identities *by,
                struct err *err)
{
    json_t *rows = o->json ? json_array() : NULL;
    int rc = bundle_list(rest->items[0], by, list_line, rows, err);
    if (rc == 0 && o->json)
        return print_document(rows, err);
    json_decref(rows);
    return rc;
}

/* ---- verify -------------------------------------------------------------------------------------------- */

static int verify(const struct bundle_options *o, const struct strlist *rest, struct age_identities *by,
                  struct err *err)
{
    struct verify_options how = {
        .file = rest->items[0], .allowed_signers = o->allowed_signers, .json = o->json};
    return verify_bundle(&how, by, err);
}

/* ---- extract ------------------------------------------------------------------------------------------- */

static int extract(const struct bundle_options *o, const struct strlist *rest, struct age_identities *by,
                   struct err *err)
{
    struct strlist members = {.items = rest->items + 1, .n = rest->n - 1};
    char *dir = NULL;
    if (bundle_extract(rest->items[0], by, o->directory ? o->directory : ".", &members, EXTRACT_MAX, &dir,
                       err) < 0)
        return -1;
    printf("%s\n", dir);
    free(dir);
    return 0;
}

/* ---- create -------------------------------------------------------------------------------------------- */

struct creation {
    struct workdir *work;
    struct manifest *manifest;
    size_t n;
    size_t damaged;
    bool unfinished; /* a work directory is among the sources: its run was killed */
};

/* A name inside the bundle: what text_is_name allows, with slashes; anything else becomes a dash. */
static char *member_name(const char *path)
{
    while (*path == '/' || strncmp(path, "./", 2) == 0)
        path++;
    char *name = NULL;
    if (asprintf(&name, "files/%s", path) < 0)
        return NULL;
    for (char *p = name; *p; p++) {
        char one[2] = {*p, '\0'};
        bool first = p == name || p[-1] == '/';
        if (*p != '/' && !text_is_name(one) && (first || !strchr("._-", *p)))
            *p = '-';
    }
    return name;
}

/* Copies one file in. `name` is where it goes; a name that is taken is the user's to change. */
static int add_copy(struct creation *c, const char *path, const char *name, struct err *err)
{
    struct fetch_item item = {0};
    int rc = -1, fd = -1;
    if (fd_cancelled(signals_cancel_fd()))
        return err_set(err, ERR_CANCELLED, "interrupted; nothing was written");
    char *dir = file_dir(name), *copy = file_join(workdir_path(c->work), name);
    if (!dir || !copy) {
        err_nomem(err);
        goto out;
    }
    if (file_mkdirs(workdir_path(c->work), dir, err) < 0 || (fd = file_create(copy, err)) < 0 ||
        fetch_look(path, fd, &item, err) < 0)
        goto out;
    snprintf(item.file, sizeof item.file, "%s", name);
    if (item.status != FETCH_OK) {
        talk("%s: damaged: %s", path, item.err.msg);
        c->damaged++;
    }
    rc = record_item(c->manifest, NULL, &item, err);
    c->n++;
out:
    fd_close(&fd);
    fetch_item_release(&item);
    free(dir);
    free(copy);
    return rc;
}

static int add_file(struct creation *c, const char *path, const char *below, struct err *err)
{
    char *name = member_name(below);
    int rc = name ? add_copy(c, path, name, err) : err_nomem(err);
    free(name);
    return rc;
}

/* A file, or all files below a directory. */
static int add_below(struct creation *c, char *path, struct err *err)
{
    static const char partial[] = ".partial";
    size_t length = strlen(path), ending = sizeof partial - 1;
    c->unfinished = c->unfinished || (length > ending && strcmp(path + length - ending, partial) == 0);
    char *roots[] = {path, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
    if (!fts)
        return err_sys(err, "cannot read %s", path);
    int rc = 0;
    for (FTSENT *e; rc == 0 && (e = fts_read(fts));) {
        if (e->fts_info == FTS_NS || e->fts_info == FTS_ERR || e->fts_info == FTS_DNR)
            rc = err_set(err, ERR_FAILED, "cannot read %s: %s", e->fts_path, strerror(e->fts_errno));
        else if (e->fts_info == FTS_F)
            rc = add_file(c, e->fts_path, e->fts_level ? e->fts_path + strlen(path) + 1 : file_base(path),
                          err);
        else if (e->fts_info != FTS_D && e->fts_info != FTS_DP)
            rc = err_set(err, ERR_FAILED, "%s is not a regular file", e->fts_path);
    }
    fts_close(fts);
    return rc;
}

/* `DIR/`, as a shell completes it, is DIR. */
static int add_path(struct creation *c, const char *path, struct err *err)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    char *trimmed = strndup(path, n);
    int rc = trimmed ? add_below(c, trimmed, err) : err_nomem(err);
    free(trimmed);
    return rc;
}

static int create_from(struct creation *c, const struct strlist *rest, char **ret_path, struct err *err)
{
    for (size_t i = 0; i < rest->n; i++)
        if (add_path(c, rest->items[i], err) < 0)
            return -1;
    if (c->n == 0)
        return err_set(err, ERR_USAGE, "there is no file in %s", rest->items[0]);
    if (manifest_finish(c->manifest, clock_utc(), c->unfinished, c->damaged == 0 && !c->unfinished, err) < 0)
        return -1;
    return bundle_pack(c->work, c->manifest, ret_path, err);
}

static int create(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    struct creation c = {0};
    char *path = NULL;
    int64_t now = clock_utc();
    if (signals_install(err) < 0 || workdir_new(o->output, "local", now, &c.work, err) < 0)
        return -1;
    int rc = record_new(workdir_name(c.work), o->reason, now, &c.manifest, err);
    if (rc == 0)
        rc = create_from(&c, rest, &path, err);
    /* Only copies are in there: the originals are where they were. */
    if (rc < 0)
        file_remove(workdir_path(c.work), NULL);
    else
        printf("%s\n", path);
    if (rc == 0 && (c.damaged > 0 || c.unfinished))
        rc = EXIT_PARTIAL;
    free(path);
    manifest_free(c.manifest);
    workdir_free(c.work);
    return rc;
}

/* ---- encrypted ones ------------------------------------------------------------------------------------ */

typedef int reading_fn(const struct bundle_options *o, const struct strlist *rest, struct age_identities *by,
                       struct err *err);

static int read_bundle(reading_fn *reading, const struct bundle_options *o, const struct strlist *rest,
                       struct err *err)
{
    struct prompt prompt;
    struct age_identities *by = NULL;
    prompt_init(&prompt);
    int rc = signals_install(err);
    if (rc == 0)
        rc = seal_identities(&o->identities, &prompt, &by, err);
    if (rc == 0)
        rc = reading(o, rest, by, err);
    age_identities_free(by);
    prompt_release(&prompt);
    return rc;
}

static int read_list(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    return read_bundle(list, o, rest, err);
}

static int read_verify(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    return read_bundle(verify, o, rest, err);
}

static int read_extract(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    return read_bundle(extract, o, rest, err);
}

static struct seal_options seal_options(const struct bundle_options *o, const struct strlist *rest)
{
    return (struct seal_options){.file = rest->items[0],
                                 .output = o->output,
                                 .recipients = &o->recipients,
                                 .identities = &o->identities,
                                 .passphrase = o->passphrase,
                                 .armor = o->armor};
}

static int encrypt(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    struct seal_options seal = seal_options(o, rest);
    return seal_encrypt(&seal, err);
}

static int decrypt(const struct bundle_options *o, const struct strlist *rest, struct err *err)
{
    struct seal_options seal = seal_options(o, rest);
    return seal_decrypt(&seal, err);
}

/* ---- the command --------------------------------------------------------------------------------------- */

enum { LIST, VERIFY, EXTRACT, CREATE, ENCRYPT, DECRYPT, END };
static const struct verb verbs[] = {
    [LIST] = {"list", "FILE", "the files in it"},
    [VERIFY] = {"verify", "FILE",
                "whether every file is as the manifest says, who made and signed it; exit code 0 or 1"},
    [EXTRACT] = {"extract", "FILE [MEMBER...]", "unpack it, or only these members (globs)"},
    [CREATE] =
        {"create", "FILE...",
         "local profiles (go test -cpuprofile, ...) into a bundle; also a NAME.partial directory that a "
         "killed run left"},
    [ENCRYPT] = {"encrypt", "FILE", "any file, in the format of age; into FILE.age"},
    [DECRYPT] = {"decrypt", "FILE", "a file in the format of age"},
    [END] = {NULL, NULL, NULL},
};

static const struct {
    size_t most; /* arguments */
    /* The exit code, or -1 and err. */
    int (*run)(const struct bundle_options *o, const struct strlist *rest, struct err *err);
} works[] = {[LIST] = {1, read_list},       [VERIFY] = {1, read_verify}, [EXTRACT] = {SIZE_MAX, read_extract},
             [CREATE] = {SIZE_MAX, create}, [ENCRYPT] = {1, encrypt},    [DECRYPT] = {1, decrypt}};

static int unknown_verb(const char *name, struct err *err)
{
    struct nearest near = NEAREST_INIT(name);
    char names[100];
    for (size_t i = 0; verbs[i].name; i++)
        nearest_offer(&near, verbs[i].name);
    err_set(err, ERR_USAGE, "bundle: unknown verb \"%.60s\"", name);
    if (near.n > 0)
        return err_hint(err, "did you mean %s?", nearest_text(&near, names, sizeof names));
    return err_hint(err, "there are list, verify, extract, create, encrypt and decrypt");
}

static int dispatch(const struct bundle_options *o, struct strlist *words, struct err *err)
{
    if (words->n == 0) {
        err_set(err, ERR_USAGE, "bundle: do what?");
        return err_hint(err, "there are list, verify, extract, create, encrypt and decrypt");
    }
    struct strlist rest = {.items = words->items + 1, .n = words->n - 1};
    for (size_t i = 0; verbs[i].name; i++) {
        if (strcmp(words->items[0], verbs[i].name) != 0)
            continue;
        if (rest.n == 0 || rest.n > works[i].most)
            return err_set(err, ERR_USAGE, "bundle %s wants %s", verbs[i].name,
                           works[i].most == 1 ? "one file" : "a file");
        return works[i].run(o, &rest, err);
    }
    return unknown_verb(words->items[0], err);
}

static int run(int argc, char **argv, struct err *err)
{
    struct bundle_options o = {0};
    struct strlist words = {0};
    int rc = options_parse(options, argc, argv, &o, &words, err);
    if (rc == 0)
        rc = dispatch(&o, &words, err);
    strlist_release(&o.recipients);
    strlist_release(&o.identities);
    strlist_release(&words);
    return rc < 0 ? exit_status_of(err) : rc;
}

const struct command command_bundle = {
    .name = "bundle",
    .synopsis = "VERB [options] FILE...",
    .summary = "look into bundles, prove them, unpack them, make them, encrypt them",
    .options = options,
    .verbs = verbs,
    .words = WORDS_FILES,
    .run = run,
};
