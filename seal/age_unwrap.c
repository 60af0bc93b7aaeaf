/*
 * Finds the key of a file. If the file has a passphrase, asks for it. Otherwise first tries unencrypted
 * identities, then SSH keys that need a passphrase, if a stanza has their tag. If the file has an X25519
 * stanza, tries encrypted identity files last, because their keys are unknown until they are decrypted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seal/age_identity.h"
#include "seal/age_reader.h"
#include "base/banned.h"

enum { TRIES = 3, RSA_TRIES = 8, NAMED_MAX = 6, PATH_SHOWN = 200 };
/* The size limit of a decrypted identity file. */
#define DECRYPTED_MAX (256u << 10)

static char *format_path(char dst[PATH_SHOWN], const char *path)
{
    return text_printable(dst, PATH_SHOWN, path, strlen(path));
}

/* ---- asking ---- */

struct passphrase_question {
    const char *prompt, *file; /* `file` is the name of the file in messages */
    /* Tries a passphrase. *ret_matches is false if it is wrong. -1 ends the attempts. */
    int (*attempt)(void *ctx, const struct secret *passphrase, bool *ret_matches, struct err *err);
    void *ctx;
};

static int ask_once(const struct age_identities *identities, const struct passphrase_question *question,
                    bool is_retry, struct secret *ret, struct err *err)
{
    struct question q = {.kind = ASK_HIDDEN,
                         .prompt = question->prompt,
                         .file = question->file,
                         .is_retry = is_retry,
                         .deadline = clock_deadline(identities->ask_ms)};
    if (!identities->ask)
        return err_set(err, ERR_NOT_FOUND, "no user can be asked");
    if (identities->ask(identities->ask_ctx, &q, ret, err) < 0)
        return -1;
    return ret->len > 0 ? 0 : err_set(err, ERR_NOT_FOUND, "no answer was given");
}

/* Asks up to TRIES times while the passphrase is wrong. ERR_NOT_FOUND: every passphrase was wrong, or nobody
 * answered. */
static int ask_passphrase(const struct age_identities *identities, const struct passphrase_question *question,
                          struct err *err)
{
    struct secret *passphrase = calloc(1, sizeof *passphrase);
    bool matches = false;
    int rc = passphrase ? 0 : err_nomem(err);
    for (int tries = 0; rc == 0 && !matches && tries < TRIES; tries++) {
        rc = ask_once(identities, question, tries > 0, passphrase, err);
        if (rc < 0)
            err_wrap(err, "the passphrase of %s", question->file);
        else
            rc = question->attempt(question->ctx, passphrase, &matches, err);
    }
    if (passphrase)
        secret_wipe(passphrase);
    free(passphrase);
    if (rc == 0 && !matches)
        rc = err_set(err, ERR_NOT_FOUND, "the passphrase does not open %s", question->file);
    return rc;
}

/* ---- SSH keys with a passphrase ---- */

/* An SSH key with a passphrase. */
struct locked_key {
    struct age_identity *identity;
    struct buf bytes; /* bytes of the file */
    int cancel_fd;
};

static int try_key_passphrase(void *ctx, const struct secret *secret, bool *ret_matches, struct err *err)
{
    struct locked_key *l = ctx;
    const struct passphrase passphrase = {secret, l->cancel_fd};
    struct err why = ERR_INIT;
    *ret_matches =
        privkey_parse(buf_str(&l->bytes), l->bytes.len, &passphrase, &l->identity->privkey, &why) == 0;
    if (*ret_matches || why.kind == ERR_NOT_FOUND)
        return 0;
    if (err)
        *err = why;
    return err_wrap(err, "%s", l->identity->path);
}

static int unlock_ssh_key(const struct age_identities *identities, struct age_identity *identity,
                          struct err *err)
{
    struct locked_key l = {.identity = identity,
                           .bytes = {.max = KEYFILE_MAX, .secret = true},
                           .cancel_fd = identities->cancel_fd};
    char shown[PATH_SHOWN], prompt[PATH_SHOWN + 50];
    snprintf(prompt, sizeof prompt, "Enter passphrase for key '%s': ", format_path(shown, identity->path));
    struct passphrase_question question = {
        .prompt = prompt, .file = identity->path, .attempt = try_key_passphrase, .ctx = &l};
    int rc = file_read(identity->path, &l.bytes, err);
    if (rc == 0)
        rc = ask_passphrase(identities, &question, err);
    buf_release(&l.bytes);
    return rc;
}

/* ---- passphrases of files ---- */

struct scrypt_attempt {
    const struct age_stanza *stanza;
    struct age_unwrapped result;
    int cancel_fd;
};

static int try_file_passphrase(void *ctx, const struct secret *secret, bool *ret_matches, struct err *err)
{
    struct scrypt_attempt *s = ctx;
    const struct passphrase passphrase = {secret, s->cancel_fd};
    if (age_scrypt_unwrap(&passphrase, s->stanza, &s->result, err) < 0)
        return -1;
    *ret_matches = s->result.matches;
    return 0;
}

/* Announces a cost above age's default before the first question, so that the user can stop. The creator of
 * the file chose the cost. */
static int announce_cost(const struct age_identities *identities, const struct age_stanza *stanza,
                         const char *what, struct err *err)
{
    char text[200], memory[32], time[32];
    uint64_t n = UINT64_C(1) << stanza->log_n;
    struct question q = {.kind = ASK_NOTICE, .prompt = text, .deadline = clock_deadline(identities->ask_ms)};
    if (stanza->log_n <= AGE_SCRYPT_LOG || !identities->ask)
        return 0;
    snprintf(text, sizeof text,
             "profgrab: opening %s takes about %s of memory and %s for each passphrase tried", what,
             text_bytes(memory, sizeof memory, AGE_SCRYPT_MEMORY * n),
             text_duration(time, sizeof time, (int64_t)(n / AGE_SCRYPT_PER_MS)));
    return identities->ask(identities->ask_ctx, &q, NULL, err);
}

static int unwrap_scrypt(const struct age_identities *identities, const struct age_stanza *stanza,
                         const char *prompt, unsigned char ret_file_key[AGE_FILE_KEY], struct err *err)
{
    struct scrypt_attempt s = {.stanza = stanza, .cancel_fd = identities->cancel_fd};
    struct passphrase_question question = {
        .prompt = prompt, .file = "the file", .attempt = try_file_passphrase, .ctx = &s};
    int rc = announce_cost(identities, stanza, question.file, err);
    if (rc == 0)
        rc = ask_passphrase(identities, &question, err);
    if (rc == 0)
        memcpy(ret_file_key, s.result.file_key, AGE_FILE_KEY);
    explicit_bzero(&s, sizeof s);
    return rc;
}

/* ---- encrypted identity files ---- */

static int read_all(struct age_reader *r, struct buf *ret, struct err *err)
{
    unsigned char chunk[4096];
    ssize_t n;
    while ((n = age_reader_read(r, chunk, sizeof chunk, err)) > 0)
        buf_add(ret, chunk, (size_t)n);
    explicit_bzero(chunk, sizeof chunk);
    return n < 0 ? -1 : buf_check(ret, "its content", err);
}

static int decrypt_identity_file(struct age_identities *identities, const char *path, int fd, struct buf *ret,
                                 struct err *err)
{
    unsigned char file_key[AGE_FILE_KEY];
    char shown[PATH_SHOWN], prompt[PATH_SHOWN + 50];
    struct age_reader *r = NULL;
    snprintf(prompt, sizeof prompt, "Enter passphrase for identity file '%s': ", format_path(shown, path));
    if (age_reader_read_header(fd, identities->cancel_fd, &r, err) < 0)
        return -1;
    const struct age_stanza *first = &age_reader_header(r)->stanzas[0];
    int rc = first->kind == AGE_SCRYPT
                 ? unwrap_scrypt(identities, first, prompt, file_key, err)
                 : err_set(err, ERR_FAILED, "it is encrypted, but not with a passphrase");
    if (rc == 0)
        rc = age_reader_unlock(r, file_key, err);
    if (rc == 0)
        rc = read_all(r, ret, err);
    explicit_bzero(file_key, sizeof file_key);
    age_reader_free(r);
    return rc;
}

/* Adds the identities of the decrypted file to the others. */
static int open_identity_file(struct age_identities *identities, const char *path, struct err *err)
{
    struct buf b = {.max = DECRYPTED_MAX, .secret = true};
    int fd = file_open(path, err);
    if (fd < 0)
        return -1;
    int rc = decrypt_identity_file(identities, path, fd, &b, err);
    if (rc == 0 && age_is_encrypted(buf_str(&b), b.len))
        rc = err_set(err, ERR_FAILED, "it is encrypted more than once");
    if (rc < 0)
        err_wrap(err, "%s", path);
    else
        rc = age_identities_parse(identities, buf_str(&b), b.len, path, err);
    fd_close(&fd);
    buf_release(&b);
    return rc;
}

/* ---- search ---- */

struct search {
    struct age_identities *identities;
    const struct age_header *header;
    struct age_unwrapped result;
    struct err why; /* the error of an earlier question */
};

static bool may_match(const struct age_identity *identity, const struct age_stanza *s)
{
    if (identity->form == IDENTITY_AGE)
        return s->kind == AGE_X25519;
    return identity->form == IDENTITY_SSH && (s->kind == AGE_SSH_ED25519 || s->kind == AGE_SSH_RSA) &&
           memcmp(identity->tag, s->tag, AGE_SSH_TAG) == 0;
}

static int try_stanza(struct search *search, struct age_identity *identity, const struct age_stanza *s,
                      struct err *err)
{
    if (identity->form == IDENTITY_AGE)
        return age_x25519_unwrap(identity->secret, s, &search->result, err);
    if (!identity->privkey && !identity->tried &&
        unlock_ssh_key(search->identities, identity, &search->why) < 0) {
        identity->tried = true;
        /* Without this passphrase another identity may still open the file. Cancellation and timeout end the
         * search. */
        if (search->why.kind == ERR_CANCELLED || search->why.kind == ERR_TIMEOUT) {
            if (err)
                *err = search->why;
            return -1;
        }
    }
    return identity->privkey ? age_ssh_unwrap(identity->privkey, &identity->key, s, &search->result, err) : 0;
}

/* Tries one identity on the stanzas that may be for it, at most RSA_TRIES if it is an RSA key. Anybody who
 * has the public half of an RSA key can make stanzas with its tag, and each try takes milliseconds, or a
 * second for a large key. */
static int try_identity(struct search *search, struct age_identity *identity, struct err *err)
{
    int tries = 0;
    for (size_t s = 0; s < search->header->n && !search->result.matches; s++) {
        const struct age_stanza *stanza = &search->header->stanzas[s];
        if (!may_match(identity, stanza) || (stanza->kind == AGE_SSH_RSA && ++tries > RSA_TRIES))
            continue;
        if (fd_cancelled(search->identities->cancel_fd))
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (try_stanza(search, identity, stanza, err) < 0)
            return -1;
    }
    return 0;
}

/* Tries the identities from number `first` on. `locked`: only SSH keys that need a passphrase; otherwise only
 * identities that need none. */
static int try_all(struct search *search, size_t first, bool locked, struct err *err)
{
    for (size_t k = first; k < search->identities->n && !search->result.matches; k++) {
        struct age_identity *identity = search->identities->items[k];
        if (locked != (identity->form == IDENTITY_SSH && !identity->privkey))
            continue;
        if (try_identity(search, identity, err) < 0)
            return -1;
    }
    return 0;
}

static bool has_kind(const struct age_header *h, enum age_kind kind)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->stanzas[i].kind == kind)
            return true;
    return false;
}

static int try_identity_files(struct search *search, struct err *err)
{
    size_t n = search->identities->n;
    for (size_t k = 0; k < n && !search->result.matches; k++) {
        struct age_identity *identity = search->identities->items[k];
        size_t before = search->identities->n;
        if (identity->form != IDENTITY_ENCRYPTED || identity->tried)
            continue;
        identity->tried = true;
        if (open_identity_file(search->identities, identity->path, err) < 0 ||
            try_all(search, before, false, err) < 0)
            return -1;
    }
    return 0;
}

static void name_stanzas(const struct age_header *h, struct buf *b)
{
    char name[80];
    for (size_t i = 0; i < h->n && i < NAMED_MAX; i++)
        buf_addf(b, "%s%s", i ? ", " : "", age_stanza_name(&h->stanzas[i], name, sizeof name));
    if (h->n > NAMED_MAX)
        buf_addf(b, " and %zu more", h->n - NAMED_MAX);
}

static int set_no_match_error(const struct search *search, struct err *err)
{
    struct buf names = BUF_INIT(1000);
    if (search->why.kind != ERR_NONE) {
        if (err)
            *err = search->why;
        return -1;
    }
    name_stanzas(search->header, &names);
    err_set(err, ERR_NO_KEY, "%sit is encrypted to %s",
            search->identities->n ? "none of the keys tried opens it; " : "", buf_str(&names));
    buf_release(&names);
    return err_hint(err, "give the identity that opens it: -i FILE, an age identity or an SSH private key");
}

int age_identities_unwrap(struct age_identities *identities, const struct age_header *h,
                          unsigned char ret_file_key[AGE_FILE_KEY], struct err *err)
{
    struct age_identities none = {.cancel_fd = -1};
    struct search search = {.identities = identities ? identities : &none, .header = h, .why = ERR_INIT};
    int rc = 0;
    if (h->stanzas[0].kind == AGE_SCRYPT && identities && identities->ask)
        return unwrap_scrypt(identities, &h->stanzas[0], "Enter passphrase: ", ret_file_key, err);
    if (try_all(&search, 0, false, err) < 0 || try_all(&search, 0, true, err) < 0 ||
        (has_kind(h, AGE_X25519) && try_identity_files(&search, err) < 0))
        rc = -1;
    else if (!search.result.matches)
        rc = set_no_match_error(&search, err);
    else
        memcpy(ret_file_key, search.result.file_key, AGE_FILE_KEY);
    explicit_bzero(&search.result, sizeof search.result);
    return rc;
}
