/*
 * Offers the candidates of auth_keys.c in their order, RSA keys under one or more algorithm names.
 *
 * The server first answers whether it accepts a key. If it does, libssh2 requests the signature (on_sign),
 * and we ask for the passphrase. So the user types no passphrase for a refused key. The agent or OpenSSL
 * signs.
 *
 * libssh2 1.10 has only ssh-rsa (SHA-1) for RSA keys, and servers refuse ssh-rsa. libssh2 reads the
 * algorithm's name from the key's first string, so we pass a key that begins with rsa-sha2-512. OpenSSH's
 * server accepts such a key. Stricter servers refuse it or close the connection, so we offer it to them last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/auth_keys.h"
#include "base/banned.h"

/* Servers end a session after a few refusals (sshd: six). This limit is for servers that never end it. */
#define TRIES_MAX 64

/* An attempt to log in with one key: the offer and its result. */
struct attempt {
    struct auth *auth;
    struct candidate *candidate;
    struct ssh_blob renamed;      /* the key with another algorithm name; owned */
    const struct ssh_blob *offer; /* as the server receives it */
    bool accepted;                /* the server accepts the key */
    struct err err;               /* why there is no signature */
};

/* ---- one offer ----------------------------------------------------------------------------------------- */

/* Reads the algorithm's name from the data to sign (RFC 4252 section 7): session, 50, user, service,
 * "publickey", TRUE, name, key. libssh2 1.11 chooses the algorithm and does not report it. */
static int read_algorithm(const unsigned char *p, size_t n, char *dst, size_t cap)
{
    struct ssh_reader r = {p, n};
    const unsigned char *s = NULL;
    size_t n_s = 0;
    if (ssh_read_string(&r, &s, &n_s) < 0 || r.left < 1)
        return -1;
    r.p++;
    r.left--;
    for (int i = 0; i < 3; i++)
        if (ssh_read_string(&r, &s, &n_s) < 0)
            return -1;
    if (r.left < 1)
        return -1;
    r.p++;
    r.left--;
    if (ssh_read_string(&r, &s, &n_s) < 0)
        return -1;
    text_printable(dst, cap, (const char *)s, n_s);
    return 0;
}

static int sign_data(struct attempt *attempt, const struct ssh_blob *data, struct ssh_blob *ret)
{
    struct auth *a = attempt->auth;
    const struct candidate *c = attempt->candidate;
    char algorithm[64];
    if (read_algorithm(data->data, data->n, algorithm, sizeof algorithm) < 0)
        return failure_set(FAILURE_SIGNING_UNKNOWN, FAILURE_DETAILS(NULL), &attempt->err);
    if (!c->file) {
        struct agent_request request = {.key = c->key,
                                        .algorithm = algorithm,
                                        .data = *data,
                                        .deadline = clock_deadline(a->options->ask_ms)};
        int64_t began = clock_now();
        int rc = agent_sign(&a->keys->agent, &request, ret, &attempt->err);
        a->deadline += clock_now() - began;
        return rc;
    }
    if (auth_open_file(a, c->file, &attempt->err) < 0)
        return -1;
    return privkey_sign(c->file->privkey, algorithm, data, ret, &attempt->err);
}

static int on_sign(LIBSSH2_SESSION *ssh, unsigned char **sig, size_t *sig_len, const unsigned char *data,
                   size_t data_len, void **abstract)
{
    (void)ssh;
    struct attempt *attempt = *abstract;
    struct ssh_blob signed_data = {(unsigned char *)(uintptr_t)data, data_len}, signature = {0};
    attempt->accepted = true;
    if (sign_data(attempt, &signed_data, &signature) < 0)
        return -1;
    *sig = signature.data;
    *sig_len = signature.n;
    return 0;
}

/* Offers the key, and signs if the server accepts it. *ret_rc is libssh2's result. -1: the wait for the
 * server has failed. */
static int offer_key(struct attempt *attempt, int *ret_rc, struct err *err)
{
    struct auth *a = attempt->auth;
    void *abstract = attempt;
    int rc;
    while ((rc = libssh2_userauth_publickey(session_libssh2(a->session), a->config->user,
                                            attempt->offer->data, attempt->offer->n, on_sign, &abstract)) ==
           LIBSSH2_ERROR_EAGAIN)
        if (session_wait(a->session, a->deadline, err) < 0)
            return err_wrap(err, "authentication");
    *ret_rc = rc;
    return 0;
}

/* ---- names and types ----------------------------------------------------------------------------------- */

static bool is_libssh2_1_11(void)
{
    return libssh2_version(0x010b00) != NULL;
}

static bool has_prefix(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* Returns why this libssh2 cannot use the type, or NULL if it can. */
static const char *missing_support(const char *type)
{
    if (has_prefix(type, "sk-"))
        return "is a security key";
    if (certificate_is_type(type) && !is_libssh2_1_11() && !has_prefix(type, "ecdsa-"))
        return "is a certificate of a type that this libssh2 cannot use";
    return NULL;
}

static bool is_allowed_algorithm(const struct auth *a, const char *algorithm)
{
    const char *list = a->config->algorithms.keys;
    size_t n = strlen(algorithm);
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, algorithm, n) == 0 && (p[n] == ',' || !p[n]))
            return true;
    return !list;
}

static bool is_openssh_server(const struct auth *a)
{
    return strstr(session_facts(a->session)->banner, "OpenSSH") != NULL;
}

/* ---- the result of an offer ---------------------------------------------------------------------------- */

static void record_refusal(struct attempt *attempt)
{
    struct candidate *c = attempt->candidate;
    c->n_refusals++;
    attempt->auth->n_refused_offers++;
    if (c->n_refusals == 1)
        auth_candidate_record_refused(attempt->auth, c, NULL);
}

/* After a valid signature without a login, the server requires another method. A wrong signature looks the
 * same, but we assume that the agent and OpenSSL sign correctly. */
static int classify_result(struct attempt *attempt, int rc, enum auth_result *ret, struct err *err)
{
    struct auth *a = attempt->auth;
    char name[300];
    bool changed = false;
    const char *kind = auth_candidate_describe(attempt->candidate, name, sizeof name);
    if (rc == 0 || attempt->accepted)
        auth_record_accepted(a, kind, name);
    else
        record_refusal(attempt);
    *ret = rc == 0 ? AUTH_DONE : attempt->accepted ? AUTH_PARTIAL : AUTH_REFUSED;
    attempt->candidate->finished = attempt->candidate->finished || rc == 0 || attempt->accepted;
    return *ret == AUTH_PARTIAL ? auth_list_methods_again(a, &changed, err) : 0;
}

/* Skips an unusable key. Returns -1 if the session ended or the user cancelled. */
static int skip_candidate(struct attempt *attempt, const struct err *why, struct err *err)
{
    attempt->candidate->finished = true;
    /* While the user did not answer, the server's login timeout has passed too. */
    bool unanswered = why->kind == ERR_TIMEOUT && attempt->candidate->file;
    if (why->kind == ERR_CANCELLED || unanswered || auth_session_is_closed(attempt->auth)) {
        if (err)
            *err = *why;
        return -1;
    }
    auth_candidate_record_refused(attempt->auth, attempt->candidate, why->msg);
    return 0;
}

static int try_offer(struct attempt *attempt, enum auth_result *ret, struct err *err)
{
    struct auth *a = attempt->auth;
    int rc = 0;
    a->n_tries++;
    if (offer_key(attempt, &rc, err) < 0)
        return -1;
    if (rc != 0 && auth_session_is_closed(a))
        return auth_explain_end(a, rc, err);
    /* End the login here, because libssh2 1.11 would offer the next key under the algorithm name of this key.
     */
    if (rc == LIBSSH2_ERROR_METHOD_NONE) {
        auth_record_unsupported(a, FAILURE_RSA_NO_COMMON, FAILURE_DETAILS(NULL));
        return auth_explain_end(a, rc, err);
    }
    if (attempt->err.kind != ERR_NONE)
        return skip_candidate(attempt, &attempt->err, err);
    return classify_result(attempt, rc, ret, err);
}

/* ---- RSA ----------------------------------------------------------------------------------------------- */

/* Returns the algorithm name for offer `number` (from 0) of an RSA key; NULL after the last. ssh-rsa (SHA-1)
 * needs PubkeyAcceptedAlgorithms in the configuration. */
static const char *rsa_algorithm(const struct auth *a, unsigned number)
{
    static const char *const names[] = {"rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"};
    size_t n = a->config->algorithms.keys ? 3 : 2;
    for (size_t i = 0; i < n; i++)
        if (is_allowed_algorithm(a, names[i]) && number-- == 0)
            return names[i];
    return NULL;
}

/* Copies the key with another name at its start. */
static int rename_key(const struct ssh_blob *key, const char *name, struct ssh_blob *ret, struct err *err)
{
    struct ssh_reader r = {key->data, key->n};
    struct buf b = BUF_INIT(SSH_BLOB_MAX + 16);
    const unsigned char *type = NULL;
    size_t n = 0;
    ssh_add_string(&b, name, strlen(name));
    if (ssh_read_string(&r, &type, &n) == 0)
        buf_add(&b, r.p, r.left);
    int rc = buf_check(&b, "the public key", err);
    if (rc == 0)
        rc = ssh_blob_copy(ret, b.data, b.len, err);
    buf_release(&b);
    return rc;
}

/* libssh2 1.11 offers an RSA key under the first of these names that the server lists. */
static void prefer_algorithm(struct auth *a, const char *name)
{
#ifndef LIBSSH2_METHOD_SIGN_ALGO
    enum { LIBSSH2_METHOD_SIGN_ALGO = 10 };
#endif
    char list[64];
    size_t n = (size_t)snprintf(list, sizeof list, "%s", name);
    const char *other;
    for (unsigned i = 0; (other = rsa_algorithm(a, i)); i++)
        if (strcmp(other, name) != 0)
            n += (size_t)snprintf(list + n, sizeof list - n, ",%s", other);
    libssh2_session_method_pref(session_libssh2(a->session), LIBSSH2_METHOD_SIGN_ALGO, list);
}

/* Tries an RSA key under one of its newer names, which only libssh2 1.10 needs. */
static int try_renamed(struct attempt *attempt, const char *name, enum auth_result *ret, struct err *err)
{
    struct auth *a = attempt->auth;
    struct candidate *c = attempt->candidate;
    if (!is_openssh_server(a))
        auth_record_unsupported(a, FAILURE_RSA_BEYOND_LIBSSH2,
                                FAILURE_DETAILS(libssh2_version(0), session_facts(a->session)->banner));
    if (rename_key(c->offer, name, &attempt->renamed, err) < 0)
        return -1;
    attempt->offer = &attempt->renamed;
    int rc = try_offer(attempt, ret, err);
    ssh_blob_release(&attempt->renamed);
    return rc;
}

static int try_rsa(struct attempt *attempt, enum auth_result *ret, struct err *err)
{
    struct candidate *c = attempt->candidate;
    const char *name = rsa_algorithm(attempt->auth, c->n_refusals);
    if (!name) {
        c->finished = true;
        if (c->n_refusals == 0)
            auth_candidate_record_refused(attempt->auth, c, "PubkeyAcceptedAlgorithms does not allow it");
        return 0;
    }
    if (!is_libssh2_1_11())
        return try_renamed(attempt, name, ret, err);
    prefer_algorithm(attempt->auth, name);
    return try_offer(attempt, ret, err);
}

/* ---- all keys ------------------------------------------------------------------------------------------ */

/* Opens a key file whose public half is unknown, and sets c->offer to that half. */
static int read_public_half(struct auth *a, struct candidate *c, struct err *err)
{
    struct file_key *file = c->file;
    struct err why = ERR_INIT;
    int rc = auth_open_file(a, file, &why);
    if (rc == 0)
        rc = privkey_public(file->privkey, &file->key.blob, &why);
    struct attempt attempt = {.auth = a, .candidate = c};
    if (rc < 0)
        return skip_candidate(&attempt, &why, err);
    ssh_blob_type(&file->key.blob, file->key.type, sizeof file->key.type);
    for (size_t i = 0; i < a->keys->n_candidates; i++)
        if (a->keys->candidates[i].offer && ssh_blob_equal(a->keys->candidates[i].offer, &file->key.blob))
            c->finished = true; /* another candidate has the same key */
    c->offer = &file->key.blob;
    return 0;
}

static int try_candidate(struct auth *a, struct candidate *c, enum auth_result *ret, struct err *err)
{
    char type[64];
    struct attempt attempt = {.auth = a, .candidate = c};
    if (!c->offer && read_public_half(a, c, err) < 0)
        return -1;
    if (c->finished || !c->offer)
        return 0;
    attempt.offer = c->offer;
    ssh_blob_type(c->offer, type, sizeof type);
    const char *missing = missing_support(type);
    if (missing) {
        char name[300];
        const char *kind = auth_candidate_describe(c, name, sizeof name);
        auth_record_unsupported(
            a, FAILURE_KEY_BEYOND_LIBSSH2,
            FAILURE_DETAILS(strcmp(kind, "agent") == 0 ? "agent's key" : kind, name, missing));
        auth_candidate_record_refused(a, c, missing);
        c->finished = true;
        return 0;
    }
    if (strcmp(type, "ssh-rsa") == 0)
        return try_rsa(&attempt, ret, err);
    c->finished = true;
    if (!has_prefix(type, "ssh-rsa") && !is_allowed_algorithm(a, type)) {
        auth_candidate_record_refused(a, c, "PubkeyAcceptedAlgorithms does not allow it");
        return 0;
    }
    return try_offer(&attempt, ret, err);
}

/* Decides whether to offer the key in this round. A renamed RSA key comes last if the server may end the
 * session because of it. */
static bool is_due(const struct auth *a, const struct candidate *c, unsigned round)
{
    char type[64];
    bool renamed =
        c->offer && !is_libssh2_1_11() && strcmp(ssh_blob_type(c->offer, type, sizeof type), "ssh-rsa") == 0;
    unsigned first = renamed && !is_openssh_server(a) ? 1 : 0;
    return !c->finished && round >= (renamed ? first + c->n_refusals : 0);
}

int auth_publickey(struct auth *a, enum auth_result *ret, struct err *err)
{
    enum { ROUNDS = 4 };
    if (!a->keys && auth_keys_collect(a, err) < 0)
        return -1;
    *ret = AUTH_REFUSED;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < a->keys->n_candidates && a->n_tries < TRIES_MAX; i++) {
            struct candidate *c = &a->keys->candidates[i];
            if (!is_due(a, c, round))
                continue;
            if (try_candidate(a, c, ret, err) < 0)
                return -1;
            if (*ret != AUTH_REFUSED)
                return 0;
        }
    return 0;
}
