#include "cli/bundle/crypt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/input/input.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "base/banned.h"

/* The size of the buffer for a piece of a file: large enough that age seals most chunks in place, small
 * enough for the processor's cache. The buffer is page-aligned, because reads into an unaligned buffer took
 * four times as long. */
#define PIECE_SIZE (1u << 18)
#define PAGE_BYTES 4096
/* The number of bytes that identify the format: the maximum white space before armor, and its first line. */
#define PREFIX_MAX 1100
#define ENDING ".age"

/* ---- recipients ---------------------------------------------------------------------------------------- */

static int ask_passphrase(struct prompt *prompt, const char *text, struct secret *ret, struct err *err)
{
    struct question q = {.kind = ASK_HIDDEN,
                         .prompt = text,
                         .file = "the file",
                         .bypass_keyring = true,
                         .deadline = clock_deadline(OPENER_ASK_MS)};
    return prompt_ask(prompt, &q, ret, err) < 0 ? err_wrap(err, "the passphrase") : 0;
}

static int add_passphrase(struct age_recipients *r, const char *passphrase_file, struct err *err)
{
    struct prompt prompt;
    struct secret passphrase = {.len = 0}, confirmation = {.len = 0};
    if (opener_prompt_init(&prompt, passphrase_file, err) < 0)
        return -1;
    int rc = ask_passphrase(&prompt, "Enter passphrase: ", &passphrase, err);
    if (rc == 0)
        rc = ask_passphrase(&prompt, "Confirm passphrase: ", &confirmation, err);
    if (rc == 0 && strcmp(passphrase.text, confirmation.text) != 0)
        rc = err_set(err, ERR_USAGE, "the two passphrases differ");
    if (rc == 0)
        rc = age_recipients_add_passphrase(r, &passphrase, err);
    secret_wipe(&passphrase);
    secret_wipe(&confirmation);
    prompt_release(&prompt);
    return rc;
}

static int add_recipients(const struct crypt_options *o, struct age_recipients *r, struct err *err)
{
    for (size_t i = 0; i < o->recipients->n; i++)
        if (age_recipients_add_any(r, o->recipients->items[i], "--encrypt-to", err) < 0)
            return -1;
    if (o->passphrase && o->recipients->n > 0)
        return err_set(err, ERR_USAGE, "--passphrase and --encrypt-to cannot be combined");
    if (o->passphrase || age_recipients_count(r) > 0)
        return 0;
    err_set(err, ERR_USAGE, "bundle encrypt: no recipient is given");
    return err_hint(err, "give --encrypt-to RECIPIENT, an age1... or SSH public key or a file of them, such "
                         "as ~/.ssh/*.pub, or --passphrase");
}

/* ---- input and output ---------------------------------------------------------------------------------- */

/* One encryption or decryption. */
struct crypt_job {
    const struct crypt_options *o;
    int in;                       /* the descriptor to read */
    int out;                      /* the descriptor to write */
    char *path;                   /* of the output; NULL: standard output */
    struct atomic_file *new_file; /* of the output; NULL: not created yet */
};

static char *join_text(const char *a, const char *b)
{
    char *both = NULL;
    return asprintf(&both, "%s%s", a, b) < 0 ? NULL : both;
}

/* Makes the output's name from the file's name. Fails for standard input, and for a file to decrypt without
 * the ending .age. */
static int make_output_name(const struct crypt_options *o, bool encrypt, char **ret, struct err *err)
{
    size_t n = strlen(o->file), ending = strlen(ENDING);
    bool has_ending = n > ending && strcmp(o->file + n - ending, ENDING) == 0;
    if (strcmp(o->file, "-") == 0 || (!encrypt && !has_ending)) {
        err_set(err, ERR_USAGE, "the output needs a name");
        return err_hint(err, "-o FILE, or -o - for standard output");
    }
    *ret = encrypt ? join_text(o->file, ENDING) : strndup(o->file, n - ending);
    return *ret ? 0 : err_nomem(err);
}

/* Sets j->path, or j->out for standard output, before the user is asked for a passphrase. Fails if the file
 * exists, or if standard output is a terminal and the data is not armored text. */
static int choose_output(struct crypt_job *j, bool encrypt, struct err *err)
{
    const char *output = j->o->output;
    bool is_text = encrypt && j->o->armor;
    if (output && strcmp(output, "-") == 0) {
        j->out = STDOUT_FILENO;
        if (is_text || !isatty(STDOUT_FILENO))
            return 0;
        err_set(err, ERR_USAGE,
                "standard output is a terminal, which may execute control characters of the data");
        return err_hint(err, "-o FILE, or a pipe");
    }
    if (!output && make_output_name(j->o, encrypt, &j->path, err) < 0)
        return -1;
    if (output && !(j->path = strdup(output)))
        return err_nomem(err);
    if (!file_exists(j->path))
        return 0;
    err_set(err, ERR_EXISTS, "%s exists already", j->path);
    return err_hint(err, "-o FILE writes another file, or remove that one first");
}

/* Refuses a file that is not encrypted before the user is asked for a passphrase. Standard input is checked
 * when it is read. */
static int check_input(const struct crypt_job *j, struct err *err)
{
    unsigned char first[PREFIX_MAX];
    char *manifest = NULL;
    ssize_t n = j->in == STDIN_FILENO ? -1 : pread(j->in, first, sizeof first, 0);
    if (n < 0 || age_is_encrypted(first, (size_t)n))
        return 0;
    bool is_bundle = bundle_read_manifest(j->o->file, NULL, &manifest, NULL) == 0;
    free(manifest);
    err_set(err, ERR_FAILED, "%s is not encrypted: it is %s", j->o->file,
            is_bundle ? "a bundle in plain text" : "not in the age format");
    return is_bundle ? err_hint(err, "`profgrab bundle verify %s` and `bundle extract` read it without a key",
                                j->o->file)
                     : -1;
}

static int begin_job(struct crypt_job *j, const struct crypt_options *o, bool encrypt, struct err *err)
{
    *j = (struct crypt_job){.o = o, .in = -1, .out = -1};
    if (signals_install(err) < 0)
        return -1;
    j->in = strcmp(o->file, "-") == 0 ? STDIN_FILENO : file_open(o->file, err);
    if (j->in < 0)
        return workdir_hint_directory(o->file, err);
    return !encrypt && check_input(j, err) < 0 ? -1 : 0;
}

static int open_output(struct crypt_job *j, struct err *err)
{
    struct atomic_file *new_file = NULL;
    if (!j->path)
        return 0;
    if (atomic_file_new(j->path, &new_file, err) < 0)
        return -1;
    j->new_file = new_file;
    j->out = atomic_file_fd(new_file);
    return 0;
}

static int finish_job(struct crypt_job *j, struct err *err)
{
    if (!j->path)
        return 0;
    if (atomic_file_sync(j->new_file, err) < 0 || atomic_file_give_name(j->new_file, j->path, err) < 0)
        return -1;
    printf("%s\n", j->path);
    return 0;
}

static void release_job(struct crypt_job *j)
{
    atomic_file_free(j->new_file);
    if (j->in != STDIN_FILENO)
        fd_close(&j->in);
    free(j->path);
}

static void free_piece(unsigned char *piece)
{
    if (piece)
        explicit_bzero(piece, PIECE_SIZE);
    free(piece);
}

/* ---- encrypt ------------------------------------------------------------------------------------------- */

static ssize_t read_piece(const struct crypt_job *j, unsigned char *piece, struct err *err)
{
    for (;;) {
        if (fd_wait(j->in, POLLIN, CLOCK_NEVER, signals_cancel_fd(), err) < 0)
            return -1;
        ssize_t n = read(j->in, piece, PIECE_SIZE);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n < 0 ? err_sys(err, "cannot read %s", j->o->file) : n;
    }
}

static int encrypt_file(const struct crypt_job *j, const struct age_recipients *to, struct err *err)
{
    struct age_writer *w = NULL;
    ssize_t n = -1;
    unsigned char *piece = aligned_alloc(PAGE_BYTES, PIECE_SIZE);
    int rc = piece ? age_writer_open(j->out, to, j->o->armor, &w, err) : err_nomem(err);
    if (rc == 0)
        age_writer_set_cancel_fd(w, signals_cancel_fd());
    while (rc == 0 && (n = read_piece(j, piece, err)) > 0)
        rc = age_writer_write(w, piece, (size_t)n, err);
    if (rc == 0)
        rc = n < 0 ? -1 : age_writer_finish(w, err);
    age_writer_free(w);
    free_piece(piece);
    return rc;
}

/* Prints the recipients. Prints that the input file is unchanged, and whether it is in plain text. */
static void print_recipients(const struct crypt_job *j, const struct age_recipients *to)
{
    for (size_t i = 0; i < age_recipients_count(to); i++)
        message_print("encrypted to %s", age_recipients_name(to, i));
    if (j->in != STDIN_FILENO)
        message_print("%s is unchanged%s", j->o->file,
                      input_is_encrypted(j->o->file) ? "" : ", in plain text");
}

int crypt_encrypt(const struct crypt_options *o, struct err *err)
{
    struct crypt_job j;
    struct age_recipients *to = NULL;
    int rc = -1;
    if (begin_job(&j, o, true, err) == 0 && age_recipients_new(&to, err) == 0 &&
        add_recipients(o, to, err) == 0 && choose_output(&j, true, err) == 0 &&
        (!o->passphrase || add_passphrase(to, o->passphrase_file, err) == 0) && open_output(&j, err) == 0) {
        rc = encrypt_file(&j, to, err);
        if (rc < 0)
            err_wrap(err, "%s", j.path ? j.path : "standard output");
        else if ((rc = finish_job(&j, err)) == 0)
            print_recipients(&j, to);
    }
    age_recipients_free(to);
    release_job(&j);
    return rc;
}

/* ---- decrypt ------------------------------------------------------------------------------------------- */

/* Writes each decrypted chunk at once, because each chunk is authentic. Only the last chunk shows that the
 * file is complete, so a failure may follow written data. */
static int copy_decrypted(const struct crypt_job *j, struct age_reader *r, struct err *err)
{
    ssize_t n = 0;
    unsigned char *piece = aligned_alloc(PAGE_BYTES, PIECE_SIZE);
    int rc = piece ? 0 : err_nomem(err);
    while (rc == 0 && (n = age_reader_read(r, piece, PIECE_SIZE, err)) > 0)
        rc = fd_write_or_cancel(j->out, piece, (size_t)n, signals_cancel_fd(), err);
    free_piece(piece);
    if (err->kind == ERR_CANCELLED)
        return err_set(err, ERR_CANCELLED,
                       j->path ? "interrupted; nothing was written"
                               : "interrupted; the written data is incomplete");
    return n < 0 ? err_wrap(err, "%s", j->o->file) : rc;
}

static int decrypt_file(struct crypt_job *j, struct age_identities *identities, struct err *err)
{
    struct age_reader *r = NULL;
    if (age_reader_open(j->in, identities, &r, err) < 0)
        return err_wrap(err, "%s", j->o->file);
    int rc = open_output(j, err);
    if (rc == 0)
        rc = copy_decrypted(j, r, err);
    age_reader_free(r);
    if (rc < 0 && !j->path && err->kind != ERR_CANCELLED)
        return err_hint(err, "the data already written is authentic, but incomplete");
    return rc < 0 ? -1 : finish_job(j, err);
}

int crypt_decrypt(const struct crypt_options *o, struct err *err)
{
    struct crypt_job j;
    struct opener opener;
    int rc = -1;
    if (begin_job(&j, o, false, err) == 0 && choose_output(&j, false, err) == 0 &&
        opener_init(&opener, o->identities, o->passphrase_file, err) == 0) {
        rc = decrypt_file(&j, opener.identities, err);
        opener_release(&opener);
    }
    release_job(&j);
    return rc;
}
