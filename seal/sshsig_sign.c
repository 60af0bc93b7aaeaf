/*
 * Signing begins with the public key. The agent finds the private half by the public key, and a private key
 * from a file must match the public key. Each signature is verified before it is returned, because the agent
 * is another program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seal/sshsig.h"
#include "seal/sshsig_format.h"
#include "base/banned.h"

enum { PASSPHRASE_TRIES = 3 };

struct signing {
    const struct sshsig_signer *signer;
    struct ssh_blob public;
    char type[64];
    char fingerprint[SSH_FINGERPRINT];
    char *private_path;          /* path of the private key; NULL: there is none */
    struct privkey *private_key; /* set when it is needed */
    struct ssh_blob data;        /* the bytes to sign */
    struct err agent_err; /* why the agent did not sign; ERR_NONE: no agent, or it does not have the key */
};

/* ---- finding the key ---- */

/* Reads the public key from a text such as "ssh-ed25519 AAAA… comment". */
static int read_key_text(struct signing *s, struct err *err)
{
    const char *base64 = s->signer->key + strcspn(s->signer->key, " \t");
    base64 += strspn(base64, " \t");
    return ssh_base64_decode(base64, strcspn(base64, " \t\r\n"), &s->public, err);
}

static bool is_key_text(const char *key)
{
    size_t n = strcspn(key, " \t");
    return key[n] && strncmp(key + n + strspn(key + n, " \t"), "AAAA", 4) == 0;
}

static int ask_passphrase(const struct signing *s, bool is_retry, struct secret *ret, struct err *err)
{
    char prompt[600], shown[500];
    if (!s->signer->ask)
        return err_set(err, ERR_NOT_FOUND, "it has a passphrase, and no user can be asked for it");
    snprintf(prompt, sizeof prompt, "Enter passphrase for key '%s': ",
             text_printable(shown, sizeof shown, s->private_path, strlen(s->private_path)));
    struct question q = {.kind = ASK_HIDDEN,
                         .prompt = prompt,
                         .file = s->private_path,
                         .is_retry = is_retry,
                         .deadline = clock_deadline(s->signer->ask_ms)};
    return s->signer->ask(s->signer->ask_ctx, &q, ret, err);
}

/* Opens the key with a passphrase, and asks again while it is wrong. */
static int unlock_key(struct signing *s, const struct buf *file, struct err *err)
{
    int rc = -1;
    for (int i = 0; rc < 0 && i < PASSPHRASE_TRIES; i++) {
        struct secret secret = {0};
        const struct passphrase passphrase = {&secret, s->signer->cancel_fd};
        if (ask_passphrase(s, i > 0, &secret, err) < 0)
            return -1;
        struct err why = ERR_INIT;
        rc = privkey_parse(file->data, file->len, &passphrase, &s->private_key, &why);
        secret_wipe(&secret);
        if (rc < 0 && err)
            *err = why;
        if (rc < 0 && why.kind != ERR_NOT_FOUND)
            return -1;
    }
    return rc;
}

static int open_private(struct signing *s, struct err *err)
{
    struct buf file = {.max = KEYFILE_MAX, .secret = true};
    struct keyfile k = {0};
    if (s->private_key)
        return 0;
    int rc = file_read(s->private_path, &file, err);
    if (rc == 0) {
        rc = keyfile_parse(buf_str(&file), file.len, &k, err);
        if (rc == 0)
            rc = k.encrypted ? unlock_key(s, &file, err)
                             : privkey_parse(file.data, file.len, NULL, &s->private_key, err);
        if (rc < 0)
            err_wrap(err, "%s", s->private_path);
    }
    keyfile_release(&k);
    buf_release(&file);
    return rc;
}

static int read_private(struct signing *s, struct err *err)
{
    struct keyfile k = {0};
    s->private_path = strdup(s->signer->key);
    if (!s->private_path)
        return err_nomem(err);
    if (keyfile_inspect(s->signer->key, &k, err) < 0)
        return -1;
    s->public = k.blob;
    /* Some formats encrypt the public half. */
    return s->public.n > 0 ||
                   (open_private(s, err) == 0 && privkey_public(s->private_key, &s->public, err) == 0)
               ? 0
               : -1;
}

static int read_public(struct signing *s, struct err *err)
{
    if (keyfile_read_public(s->signer->key, &s->public, err) < 0)
        return -1;
    s->private_path = strndup(s->signer->key, strlen(s->signer->key) - strlen(".pub"));
    return s->private_path ? 0 : err_nomem(err);
}

static int find_key(struct signing *s, struct err *err)
{
    int rc = is_key_text(s->signer->key)            ? read_key_text(s, err)
             : text_ends_in(s->signer->key, ".pub") ? read_public(s, err)
                                                    : read_private(s, err);
    if (rc < 0)
        return err_wrap(err, "the key to sign with");
    ssh_blob_type(&s->public, s->type, sizeof s->type);
    ssh_blob_fingerprint(&s->public, s->fingerprint);
    if (pubkey_is_supported(s->type))
        return 0;
    err_set(err, ERR_USAGE, "the key to sign with is of type %s, which cannot sign bundles", s->type);
    return err_hint(err, "take an ed25519, RSA, ECDSA or FIDO key itself, no certificate");
}

/* ---- the agent ---- */

static bool is_fido(const struct signing *s)
{
    return strncmp(s->type, "sk-", 3) == 0;
}

static const char *choose_algorithm(const struct signing *s)
{
    return strcmp(s->type, "ssh-rsa") == 0 ? "rsa-sha2-512" : s->type;
}

static void on_slow_agent(void *ctx)
{
    struct signing *s = ctx;
    char prompt[300];
    snprintf(prompt, sizeof prompt, "waiting for the SSH agent to sign with %s %s: %s", s->type,
             s->fingerprint, is_fido(s) ? "touch the key" : "it may ask for a confirmation");
    struct question q = {.kind = ASK_NOTICE, .prompt = prompt, .deadline = clock_deadline(s->signer->ask_ms)};
    if (s->signer->ask)
        s->signer->ask(s->signer->ask_ctx, &q, NULL, NULL);
}

static bool has_key(const struct agent *a, const struct ssh_blob *key)
{
    for (size_t i = 0; i < a->n_keys; i++)
        if (ssh_blob_equal(&a->keys[i].blob, key))
            return true;
    return false;
}

/* Returns 0 and leaves *ret empty if there is no agent, or if the agent does not have the key. */
static int sign_by_agent(struct signing *s, struct ssh_blob *ret, struct err *err)
{
    struct agent a = {.fd = -1};
    int64_t deadline = clock_deadline(s->signer->agent_ms);
    if (!s->signer->agent || !*s->signer->agent)
        return 0;
    if (agent_open(s->signer->agent, deadline, s->signer->cancel_fd, &a, err) < 0)
        return -1;
    struct agent_request request = {.key = &s->public,
                                    .algorithm = choose_algorithm(s),
                                    .data = s->data,
                                    .deadline = is_fido(s) ? clock_deadline(s->signer->ask_ms) : deadline,
                                    .on_slow = on_slow_agent,
                                    .slow_ctx = s};
    int rc = has_key(&a, &s->public) ? agent_sign_blob(&a, &request, ret, err) : 0;
    agent_release(&a);
    return rc;
}

/* ---- the file ---- */

static int set_mismatch_error(const struct signing *s, struct err *err)
{
    return err_set(err, ERR_USAGE, "%s is not the private half of %s %s", s->private_path, s->type,
                   s->fingerprint);
}

static int sign_by_file(struct signing *s, struct ssh_blob *ret, struct err *err)
{
    struct ssh_blob public = {0}, inner = {0};
    struct buf b = BUF_INIT(SSH_BLOB_MAX);
    int rc = open_private(s, err);
    if (rc == 0 && (rc = privkey_public(s->private_key, &public, err)) == 0 &&
        !ssh_blob_equal(&public, &s->public))
        rc = set_mismatch_error(s, err);
    if (rc == 0)
        rc = privkey_sign(s->private_key, choose_algorithm(s), &s->data, &inner, err);
    if (rc == 0) {
        ssh_add_string(&b, choose_algorithm(s), strlen(choose_algorithm(s)));
        ssh_add_string(&b, inner.data, inner.n);
        rc = buf_check(&b, "the signature", err);
    }
    if (rc == 0)
        rc = ssh_blob_copy(ret, b.data, b.len, err);
    ssh_blob_release(&public);
    ssh_blob_release(&inner);
    buf_release(&b);
    return rc;
}

/* ---- signing ---- */

/* Sets the error if neither the agent nor a file can sign. */
static int set_no_signer_error(const struct signing *s, struct err *err)
{
    if (s->agent_err.kind != ERR_NONE) {
        if (err)
            *err = s->agent_err;
        return err_wrap(err, "cannot sign with %s %s", s->type, s->fingerprint);
    }
    bool has_agent = s->signer->agent && *s->signer->agent;
    err_set(err, ERR_NOT_FOUND, "cannot sign with %s %s: %s%s%s", s->type, s->fingerprint,
            has_agent ? "the SSH agent does not have the key" : "there is no SSH agent",
            is_fido(s)        ? ", and only an agent can use a FIDO key"
            : s->private_path ? ", and there is no file "
                              : "",
            !is_fido(s) && s->private_path ? s->private_path : "");
    return err_hint(err, "ssh-add %s", s->private_path ? s->private_path : "the private key");
}

static int sign_data(struct signing *s, struct ssh_blob *ret, struct err *err)
{
    struct ssh_blob signature = {0};
    struct err why = ERR_INIT;
    if (sign_by_agent(s, &signature, &why) < 0) {
        s->agent_err = why;
        if (why.kind == ERR_CANCELLED) {
            if (err)
                *err = why;
            return -1;
        }
    }
    if (signature.n > 0) {
        *ret = signature;
        return 0;
    }
    ssh_blob_release(&signature);
    return !is_fido(s) && s->private_path && file_exists(s->private_path) ? sign_by_file(s, ret, err)
                                                                          : set_no_signer_error(s, err);
}

static int sign_and_check(struct signing *s, const char *namespace, char **ret, struct err *err)
{
    struct ssh_blob signature = {0};
    int rc = sign_data(s, &signature, err);
    if (rc == 0 && (rc = pubkey_verify(&s->public, &signature, &s->data, err)) < 0)
        err_wrap(err, "the signature made with %s %s", s->type, s->fingerprint);
    if (rc == 0)
        rc = sshsig_armor(namespace, &s->public, &signature, ret, err);
    ssh_blob_release(&signature);
    return rc;
}

static void signing_release(struct signing *s)
{
    ssh_blob_release(&s->public);
    ssh_blob_release(&s->data);
    privkey_free(s->private_key);
    free(s->private_path);
}

int sshsig_sign(const struct sshsig_signer *signer, const char *namespace, struct str message, char **ret,
                struct err *err)
{
    struct signing s = {.signer = signer};
    int rc = find_key(&s, err);
    if (rc == 0)
        rc = sshsig_signed_data(namespace, false, message, &s.data, err);
    if (rc == 0)
        rc = sign_and_check(&s, namespace, ret, err);
    signing_release(&s);
    return rc;
}

int sshsig_check_signer(const struct sshsig_signer *signer, struct err *err)
{
    struct sshsig_signer offline = *signer;
    struct signing s = {.signer = &offline};
    struct err why = ERR_INIT;
    offline.ask = NULL;
    if (signer->agent && !file_exists(signer->agent))
        offline.agent = NULL;
    int rc = find_key(&s, &why);
    bool has_file = s.private_path && file_exists(s.private_path);
    /* The passphrase encrypts the public half too, so find_key failed: sshsig_sign will ask for it. */
    if (rc < 0 && why.kind == ERR_NOT_FOUND && has_file)
        rc = 0;
    else if (rc == 0 && (is_fido(&s) || !has_file) && !(offline.agent && *offline.agent))
        rc = set_no_signer_error(&s, &why);
    signing_release(&s);
    if (rc < 0 && err)
        *err = why;
    return rc;
}
