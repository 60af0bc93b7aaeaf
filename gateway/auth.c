/*
 * Order, as OpenSSH has it: configured key files that the agent holds (it knows their passphrase), the
 * agent's other keys unless IdentitiesOnly, then the remaining key files.
 */
#include "gateway/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/agent.h"
#include "gateway/keyfile.h"
#include "gateway/session.h"
#include "base/banned.h"

/* Servers end a session after a few refusals (sshd: six), and say so. This is for those that never do. */
#define TRIES_MAX 64

struct file_key {
    const char *path;
    struct keyfile key;
    bool in_agent;
};

struct auth {
    struct session *s;
    const struct ssh_config *config;
    struct agent agent;
    struct file_key *files;
    size_t n_files;
    int tries;
    struct buf tried;   /* what was offered and refused */
    struct buf skipped; /* what could not be offered, and why */
};

struct signer {
    struct auth *auth;
    const struct agent_key *key;
    struct err err;
};

static int on_sign(LIBSSH2_SESSION *ssh, unsigned char **sig, size_t *sig_len, const unsigned char *data,
                   size_t data_len, void **abstract)
{
    (void)ssh;
    struct signer *signer = *abstract;
    struct ssh_blob signed_data = {(unsigned char *)(uintptr_t)data, data_len}, signature = {0};
    /* A key may want to be touched: that takes its owner a moment. */
    if (agent_sign(&signer->auth->agent, signer->key, &signed_data, clock_deadline(60000), &signature,
                   &signer->err) < 0)
        return -1;
    *sig = signature.data;
    *sig_len = signature.n;
    return 0;
}

/* Whether this libssh2 can sign with such a key: RSA with SHA-2, which today's servers ask for, came with
 * 1.11. */
static bool type_supported(const char *type)
{
    if (strcmp(type, "ssh-rsa") == 0)
        return libssh2_version(0x010b00) != NULL;
    return strcmp(type, "ssh-ed25519") == 0 || strncmp(type, "ecdsa", 5) == 0 || !*type;
}

static void note(struct buf *b, const char *what, const char *name, const char *why)
{
    buf_addf(b, "%s%s %s%s%s%s", b->len ? ", " : "", what, name, why ? " (" : "", why ? why : "",
             why ? ")" : "");
}

/* The server has had enough, usually of keys. */
static int ended(const struct auth *a, int rc, struct err *err)
{
    char words[sizeof a->s->disconnect + 64];
    struct err why = ERR_INIT;
    session_error(a->s, rc, "authentication", &why);
    snprintf(words, sizeof words, "%.300s", why.msg);
    if (a->tried.len == 0)
        return err_set(err, ERR_FAILED, "%s", words);
    err_set(err, ERR_FAILED, "%s; until then it had refused %s", words, buf_str(&a->tried));
    return err_hint(
        err, "offer only the right key: IdentityFile and `IdentitiesOnly yes` in your ssh configuration, "
             "or `identity:` in the inventory");
}

/* One attempt is over: 1 it worked, 0 this key was refused, -1 there is no use in going on. */
static int verdict(struct auth *a, int rc, const char *what, const char *name, struct err *err)
{
    struct session *s = a->s;
    a->tries++;
    if (rc == 0) {
        snprintf(s->hop.authentication, sizeof s->hop.authentication, "%s %s", what, name);
        return 1;
    }
    if (s->disconnect[0] || s->wire.eof || s->wire.error)
        return ended(a, rc, err);
    bool refused = rc == LIBSSH2_ERROR_AUTHENTICATION_FAILED || rc == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED;
    note(refused ? &a->tried : &a->skipped, what, name, refused ? NULL : "it could not be used");
    return 0;
}

static int try_agent_key(struct auth *a, const struct agent_key *key, struct err *err)
{
    char name[160], fingerprint[SSH_FINGERPRINT];
    snprintf(name, sizeof name, "%s %s", key->type, ssh_blob_fingerprint(&key->blob, fingerprint));
    if (!type_supported(key->type)) {
        note(&a->skipped, "agent", name, "this libssh2 cannot use keys of its type");
        return 0;
    }
    struct signer signer = {.auth = a, .key = key};
    void *abstract = &signer;
    const char *user = a->config->user;
    int64_t deadline = clock_deadline(a->s->options.step_timeout_ms + 60000);
    int rc;
    while ((rc = libssh2_userauth_publickey(a->s->ssh, user, key->blob.data, key->blob.n, on_sign,
                                            &abstract)) == LIBSSH2_ERROR_EAGAIN)
        if (session_wait(a->s, deadline, err) < 0)
            return err_wrap(err, "authentication");
    if (signer.err.kind == ERR_CANCELLED) {
        if (err)
            *err = signer.err;
        return -1;
    }
    if (signer.err.kind != ERR_NONE && !a->s->disconnect[0] && !a->s->wire.eof && !a->s->wire.error) {
        a->tries++;
        note(&a->skipped, "agent", name, signer.err.msg);
        return 0;
    }
    return verdict(a, rc, "agent", name, err);
}

static int try_file(struct auth *a, const struct file_key *f, struct err *err)
{
    if (f->in_agent)
        return 0;
    if (!type_supported(f->key.type)) {
        note(&a->skipped, "key", f->path, "this libssh2 cannot use keys of its type");
        return 0;
    }
    if (f->key.encrypted) {
        note(&a->skipped, "key", f->path, "it has a passphrase: add it to your agent with ssh-add");
        return 0;
    }
    const char *user = a->config->user;
    int64_t deadline = session_deadline(a->s);
    int rc;
    while ((rc = libssh2_userauth_publickey_fromfile_ex(a->s->ssh, user, (unsigned)strlen(user), NULL,
                                                        f->path, "")) == LIBSSH2_ERROR_EAGAIN)
        if (session_wait(a->s, deadline, err) < 0)
            return err_wrap(err, "authentication");
    return verdict(a, rc, "key", f->path, err);
}

/* 1 authenticated, 0 nothing worked, -1 failure. */
static int try_all(struct auth *a, struct err *err)
{
    int rc = 0;
    for (int configured = 1; configured >= 0; configured--) {
        for (size_t i = 0; rc == 0 && i < a->agent.n_keys && a->tries < TRIES_MAX; i++) {
            bool named = false;
            for (size_t f = 0; f < a->n_files; f++)
                named = named || ssh_blob_equal(&a->files[f].key.blob, &a->agent.keys[i].blob);
            if (named == (configured == 1) && (named || !a->config->identities_only))
                rc = try_agent_key(a, &a->agent.keys[i], err);
        }
    }
    for (size_t i = 0; rc == 0 && i < a->n_files && a->tries < TRIES_MAX; i++)
        rc = try_file(a, &a->files[i], err); // NOLINT(clang-analyzer-unix.Malloc): auth_run frees the files
    return rc;
}

/* Asks what the server takes. 1: no authentication is needed at all; 0: public keys are welcome. */
static int ask_methods(const struct auth *a, struct err *err)
{
    struct session *s = a->s;
    const char *user = a->config->user;
    int64_t deadline = session_deadline(s);
    char *methods;
    while (!(methods = libssh2_userauth_list(s->ssh, user, (unsigned)strlen(user)))) {
        int rc = libssh2_session_last_errno(s->ssh);
        if (libssh2_userauth_authenticated(s->ssh))
            return 1;
        if (rc != LIBSSH2_ERROR_EAGAIN)
            return session_error(s, rc, "authentication", err);
        if (session_wait(s, deadline, err) < 0)
            return err_wrap(err, "authentication");
    }
    if (strstr(methods, "publickey"))
        return 0;
    char offered[128];
    text_printable(offered, sizeof offered, methods, strlen(methods));
    return err_set(err, ERR_FAILED, "authentication: the server does not take public keys, only %s", offered);
}

static int load_files(struct auth *a, struct err *err)
{
    const struct strlist *paths = &a->config->identity_files;
    a->files = calloc(paths->n + 1, sizeof *a->files);
    if (!a->files)
        return err_nomem(err);
    for (size_t i = 0; i < paths->n; i++) {
        struct err why = ERR_INIT;
        struct file_key f = {.path = paths->items[i]};
        if (keyfile_inspect(f.path, &f.key, &why) < 0) {
            note(&a->skipped, "key", f.path, why.msg);
            continue;
        }
        for (size_t k = 0; k < a->agent.n_keys; k++)
            f.in_agent = f.in_agent || ssh_blob_equal(&f.key.blob, &a->agent.keys[k].blob);
        a->files[a->n_files++] = f;
    }
    return 0;
}

static void load_agent(struct auth *a)
{
    const struct session *s = a->s;
    struct err why = ERR_INIT;
    if (a->config->agent &&
        agent_open(a->config->agent, session_deadline(s), s->options.cancel_fd, &a->agent, &why) < 0)
        buf_addf(&a->skipped, "%s%s", a->skipped.len ? ", " : "", why.msg);
}

static int refuse(const struct auth *a, struct err *err)
{
    bool tried = a->tried.len > 0;
    err_set(err, ERR_FAILED, "permission denied for user %s: %s%s%s%s%s", a->s->hop.user,
            tried ? "the server refused " : "there was no key to offer", buf_str(&a->tried),
            a->skipped.len ? "; not offered: " : "", buf_str(&a->skipped),
            a->tries >= TRIES_MAX ? "; no more were tried" : "");
    if (!tried)
        return err_hint(err, "load a key into your agent (ssh-add), or name one: IdentityFile in your ssh "
                             "configuration, `identity:` in the inventory");
    return err_hint(err, "is that user right, and is one of these keys in its authorized_keys? "
                         "`ssh -v` to the same address shows what your ssh does");
}

int auth_run(struct session *s, const struct ssh_config *config, struct err *err)
{
    struct auth a = {
        .s = s, .config = config, .agent = {.fd = -1}, .tried = BUF_INIT(300), .skipped = BUF_INIT(300)};
    int rc = ask_methods(&a, err);
    if (rc == 1)
        snprintf(s->hop.authentication, sizeof s->hop.authentication, "none");
    if (rc == 0) {
        load_agent(&a);
        rc = fd_cancelled(s->options.cancel_fd) ? err_set(err, ERR_CANCELLED, "interrupted")
                                                : load_files(&a, err);
        if (rc == 0)
            rc = try_all(&a, err);
        if (rc == 0)
            rc = refuse(&a, err);
    }
    for (size_t i = 0; i < a.n_files; i++)
        keyfile_release(&a.files[i].key);
    free(a.files);
    agent_release(&a.agent);
    buf_release(&a.tried);
    buf_release(&a.skipped);
    return rc < 0 ? -1 : 0;
}
