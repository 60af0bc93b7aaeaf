/*
 * The order of the keys avoids refusals, because the server allows only a few (MaxAuthTries): certificates,
 * configured keys that the agent has (they need no passphrase), the agent's other keys unless IdentitiesOnly,
 * then the other key files. Each key occurs once.
 */
#include "gateway/ssh/auth_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define PASSPHRASE_TRIES 3

const char *auth_candidate_describe(const struct candidate *c, char *dst, size_t cap)
{
    char type[64], fingerprint[SSH_FINGERPRINT];
    if (c->certificate) {
        bool expired = c->certificate->valid_before < (uint64_t)clock_utc() / 1000;
        snprintf(dst, cap, "\"%s\" signed by %s%s", c->certificate->id, c->certificate->authority,
                 expired ? " (expired)" : "");
        return "certificate";
    }
    if (c->file) {
        text_printable(dst, cap, c->file->path, strlen(c->file->path));
        return "key";
    }
    snprintf(dst, cap, "%s %s", ssh_blob_type(c->offer, type, sizeof type),
             ssh_blob_fingerprint(c->offer, fingerprint));
    return "agent";
}

void auth_candidate_record_refused(struct auth *a, const struct candidate *c, const char *why)
{
    char name[300];
    const char *kind = auth_candidate_describe(c, name, sizeof name);
    auth_record_refused(a, kind, name, why);
}

/* ---- gathering ----------------------------------------------------------------------------------------- */

static void add_candidate(struct auth_keys *k, struct candidate c)
{
    for (size_t i = 0; c.offer && i < k->n_candidates; i++)
        if (k->candidates[i].offer && ssh_blob_equal(k->candidates[i].offer, c.offer))
            return;
    if (array_reserve((void **)&k->candidates, &k->cap_candidates, k->n_candidates + 1, sizeof c, NULL) == 0)
        k->candidates[k->n_candidates++] = c;
}

static const struct agent_key *find_in_agent(const struct auth_keys *k, const struct ssh_blob *blob)
{
    for (size_t i = 0; i < k->agent.n_keys; i++)
        if (ssh_blob_equal(&k->agent.keys[i].blob, blob))
            return &k->agent.keys[i];
    return NULL;
}

static void load_agent(struct auth *a, struct auth_keys *k)
{
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    if (a->config->login.agent && agent_open(a->config->login.agent, session_deadline(a->session),
                                             session_cancel_fd(a->session), &k->agent, &why) < 0)
        buf_addf(&a->skipped, "%s%s", a->skipped.len ? ", " : "", why.msg);
    a->deadline += clock_now() - began;
}

static int load_files(struct auth *a, struct auth_keys *k, struct err *err)
{
    const struct strlist *paths = &a->config->login.identity_files;
    k->files = calloc(paths->n + 1, sizeof *k->files);
    if (!k->files)
        return err_nomem(err);
    for (size_t i = 0; i < paths->n; i++) {
        struct err why = ERR_INIT;
        struct file_key f = {.path = paths->items[i]};
        if (keyfile_inspect(f.path, &f.key, &why) < 0) {
            auth_record_refused(a, "key", f.path, why.msg);
            continue;
        }
        f.agent_key = find_in_agent(k, &f.key.blob);
        k->files[k->n_files++] = f;
    }
    return 0;
}

static void load_certificate(struct auth *a, struct auth_keys *k, const char *path)
{
    struct err why = ERR_INIT;
    if (certificate_read(path, &k->certificates[k->n_certificates], &why) == 0)
        k->n_certificates++;
    else if (why.kind != ERR_NOT_FOUND)
        auth_record_refused(a, "certificate", path, why.msg);
}

/* Loads the configured certificates, then the certificates beside a key file, where ssh-keygen -s writes
 * them. */
static int load_certificates(struct auth *a, struct auth_keys *k, struct err *err)
{
    const struct strlist *given = &a->config->login.certificate_files,
                         *keys = &a->config->login.identity_files;
    k->certificates = calloc(given->n + keys->n + 1, sizeof *k->certificates);
    if (!k->certificates)
        return err_nomem(err);
    for (size_t i = 0; i < given->n; i++)
        load_certificate(a, k, given->items[i]);
    for (size_t i = 0; i < keys->n; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s-cert.pub", keys->items[i]) < 0)
            return err_nomem(err);
        load_certificate(a, k, path);
        free(path);
    }
    return 0;
}

static void add_certificates(struct auth *a, struct auth_keys *k)
{
    for (size_t i = 0; i < k->n_certificates; i++) {
        const struct certificate *certificate = &k->certificates[i];
        struct candidate c = {
            .offer = &certificate->blob, .key = &certificate->key, .certificate = certificate};
        bool agent_has_it = find_in_agent(k, &certificate->key) || find_in_agent(k, &certificate->blob);
        /* Some agents know the key only under its certificate. */
        if (!find_in_agent(k, &certificate->key) && find_in_agent(k, &certificate->blob))
            c.key = &certificate->blob;
        for (size_t f = 0; !agent_has_it && !c.file && f < k->n_files; f++)
            if (!k->files[f].key.is_private_absent &&
                ssh_blob_equal(&k->files[f].key.blob, &certificate->key))
                c.file = &k->files[f];
        if (agent_has_it || c.file)
            add_candidate(k, c);
        else
            auth_candidate_record_refused(a, &c, "there is no private key for it");
    }
}

static bool is_configured(const struct auth_keys *k, const struct agent_key *key)
{
    for (size_t i = 0; i < k->n_files; i++)
        if (k->files[i].agent_key == key)
            return true;
    return false;
}

/* Records a key whose private half is missing. */
static void record_missing_private(struct auth *a, const struct file_key *f, const struct candidate *c)
{
    char why[360];
    snprintf(why, sizeof why, "%s%sits private half is not in the agent", f->key.unusable,
             f->key.unusable[0] ? ", and " : "");
    auth_candidate_record_refused(a, c, why);
}

static void add_keys(struct auth *a, struct auth_keys *k)
{
    for (int configured = 1; configured >= 0; configured--)
        for (size_t i = 0; i < k->agent.n_keys; i++) {
            const struct agent_key *key = &k->agent.keys[i];
            if (is_configured(k, key) == (configured == 1) &&
                (configured || !a->config->login.identities_only))
                add_candidate(k, (struct candidate){.offer = &key->blob, .key = &key->blob});
        }
    for (size_t i = 0; i < k->n_files; i++) {
        struct file_key *f = &k->files[i];
        struct candidate c = {.file = f, .offer = f->key.blob.n ? &f->key.blob : NULL, .key = &f->key.blob};
        if (f->key.is_private_absent && !f->agent_key)
            record_missing_private(a, f, &c);
        else if (!f->agent_key)
            add_candidate(k, c);
    }
}

int auth_keys_collect(struct auth *a, struct err *err)
{
    struct auth_keys *k = a->keys = calloc(1, sizeof *k);
    if (!k)
        return err_nomem(err);
    k->agent.fd = -1;
    load_agent(a, k);
    if (fd_cancelled(session_cancel_fd(a->session)))
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (load_files(a, k, err) < 0 || load_certificates(a, k, err) < 0)
        return -1;
    add_certificates(a, k);
    add_keys(a, k);
    return 0;
}

void auth_keys_free(struct auth_keys *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->n_files; i++) {
        keyfile_release(&k->files[i].key);
        privkey_free(k->files[i].privkey);
    }
    for (size_t i = 0; i < k->n_certificates; i++)
        certificate_release(&k->certificates[i]);
    free(k->files);
    free(k->certificates);
    free(k->candidates);
    agent_release(&k->agent);
    free(k);
}

/* ---- opening a key file -------------------------------------------------------------------------------- */

/* A key file that is being opened. */
struct opening {
    struct buf bytes; /* of the file */
    int cancel_fd;
    struct privkey *key; /* once opened */
};

static int try_passphrase(void *ctx, const struct secret *secret, bool *ret_fits, struct err *err)
{
    struct opening *o = ctx;
    const struct passphrase passphrase = {secret, o->cancel_fd};
    struct err why = ERR_INIT;
    *ret_fits = privkey_parse(buf_str(&o->bytes), o->bytes.len, &passphrase, &o->key, &why) == 0;
    if (*ret_fits || why.kind == ERR_NOT_FOUND)
        return 0;
    if (err)
        *err = why;
    return -1;
}

static int open_locked(struct auth *a, const char *path, struct opening *o, struct err *err)
{
    char shown[500], login[AUTH_LOGIN_NAME], text[1300], *name = keyring_name_of_file(path);
    if (!name)
        return err_nomem(err);
    snprintf(text, sizeof text, "Passphrase for the key %s, to log in as %s: ",
             text_printable(shown, sizeof shown, path, strlen(path)), auth_login_name(a, login));
    struct secret_prompt prompt = {.name = name,
                                   .prompt = text,
                                   .file = path,
                                   .max_tries = PASSPHRASE_TRIES,
                                   .ctx = o,
                                   .check = try_passphrase};
    struct err why = ERR_INIT;
    int rc = auth_try_secrets(a, &prompt, &why);
    free(name);
    if (rc < 0 && why.kind == ERR_NOT_FOUND)
        err_wrap(&why, "it has a passphrase");
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int auth_open_file(struct auth *a, struct file_key *file, struct err *err)
{
    struct opening o = {.bytes = {.max = KEYFILE_MAX, .secret = true},
                        .cancel_fd = session_cancel_fd(a->session)};
    if (file->privkey)
        return 0;
    int64_t before = clock_thread_cpu_ns();
    int rc = file_read(file->path, &o.bytes, err);
    if (rc == 0 && file->key.encrypted)
        rc = open_locked(a, file->path, &o, err);
    else if (rc == 0)
        rc = privkey_parse(buf_str(&o.bytes), o.bytes.len, NULL, &o.key, err);
    buf_release(&o.bytes);
    session_exclude_cpu(a->session, clock_thread_cpu_ns() - before);
    if (rc == 0)
        file->privkey = o.key;
    return rc;
}
