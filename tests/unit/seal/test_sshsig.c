/* Signatures: those of profgrab, which ssh-keygen verifies; those of ssh-keygen, which profgrab verifies;
 * damaged ones; FIDO keys made by hand; allowed signers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "seal/sshsig_format.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static const char message[] = "{ \"format\": \"profgrab-bundle\" }\n";
#define NAMESPACE "profgrab-bundle"

static const struct kind {
    const char *type, *bits, *form;
} kinds[] = {{"ed25519", "256", "RFC4716"}, {"rsa", "2048", "PKCS8"},    {"rsa", "3072", "RFC4716"},
             {"ecdsa", "256", "PEM"},       {"ecdsa", "384", "RFC4716"}, {"ecdsa", "521", "PKCS8"}};
#define N_KINDS (sizeof kinds / sizeof *kinds)

/* Makes a key. Returns its path, a new string. */
static char *make_key(const char *directory, const struct kind *k, const char *passphrase)
{
    char *path = format_text("%s/%s-%s%s", directory, k->type, k->bits, *passphrase ? "-locked" : "");
    RUN_PROGRAM("ssh-keygen", "-q", "-t", k->type, "-b", k->bits, "-m", k->form, "-N", passphrase, "-f",
                path);
    return path;
}

static char *sign_with(const struct sshsig_signer *signer)
{
    struct err err = ERR_INIT;
    char *armor = NULL;
    assert_ok(sshsig_sign(signer, NAMESPACE, str_of(message), &armor, &err), &err);
    return armor;
}

static struct sshsig parse_signature(const char *armor)
{
    struct sshsig s = {0};
    struct err err = ERR_INIT;
    assert_ok(sshsig_parse(armor, strlen(armor), &s, &err), &err);
    return s;
}

/* Returns whether `ssh-keygen -Y check-novalidate` accepts the signature. */
static bool is_accepted_by_ssh_keygen(const char *directory, const char *armor)
{
    char *sig = scratch_file(directory, "accepted.sig", armor, strlen(armor));
    char *text = scratch_file(directory, "accepted", message, strlen(message));
    const char *argv[] = {"ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", sig, NULL};
    struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1, .max_output = 1u << 16};
    struct proc_result r;
    struct err err = ERR_INIT;
    int fd = file_open(text, &err);
    assert_ok(proc_run_with_input(argv, fd, &limits, &r, &err), &err);
    fd_close(&fd);
    bool good = r.exit_code == 0;
    proc_result_release(&r);
    free(sig);
    free(text);
    return good;
}

/* ---- every kind of key ------------------------------------------------------------------------------ */

static void ssh_keygen_verifies_our_signatures(void **state)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        char *path = make_key(*state, &kinds[i], ""), *pub = format_text("%s.pub", path);
        const char *keys[] = {path, pub};
        for (int k = 0; k < 2; k++) {
            struct sshsig_signer signer = {.key = keys[k], .cancel_fd = -1};
            char *armor = sign_with(&signer);
            assert_true(is_accepted_by_ssh_keygen(*state, armor));
            struct sshsig s = parse_signature(armor);
            assert_string_equal(s.namespace, NAMESPACE);
            assert_false(s.sha256);
            assert_int_equal(sshsig_verify(&s, message, strlen(message), NULL), 0);
            sshsig_release(&s);
            free(armor);
        }
        free(path);
        free(pub);
    }
}

static void signatures_of_ssh_keygen_are_verified(void **state)
{
    static const char *const hashes[] = {"hashalg=sha512", "hashalg=sha256"};
    char *text = scratch_file(*state, "m", message, strlen(message)), *sig = format_text("%s.sig", text);
    for (size_t i = 0; i < N_KINDS * 2; i++) {
        char *path = make_key(*state, &kinds[i / 2], "");
        RUN_PROGRAM("ssh-keygen", "-q", "-Y", "sign", "-O", hashes[i % 2], "-f", path, "-n", NAMESPACE, text);
        struct buf b = scratch_read(sig);
        struct sshsig s = parse_signature(buf_str(&b));
        struct err err = ERR_INIT;
        assert_int_equal(s.sha256, i % 2);
        assert_ok(sshsig_verify(&s, message, strlen(message), &err), &err);
        assert_refused(sshsig_verify(&s, message, strlen(message) - 1, &err), &err, ERR_DENIED,
                       "the signature is not genuine");
        snprintf(s.namespace, sizeof s.namespace, "file");
        assert_refused(sshsig_verify(&s, message, strlen(message), &err), &err, ERR_DENIED,
                       "the signature is not genuine");
        sshsig_release(&s);
        buf_release(&b);
        assert_int_equal(remove(sig), 0);
        char *pub = format_text("%s.pub", path);
        assert_int_equal(remove(path) | remove(pub), 0);
        free(pub);
        free(path);
    }
    free(text);
    free(sig);
}

/* Ed25519 signatures are deterministic, so both programs write the same bytes. */
static void signatures_equal_those_of_ssh_keygen(void **state)
{
    char *path = make_key(*state, &kinds[0], ""), *text = scratch_file(*state, "m", message, strlen(message));
    char *sig = format_text("%s.sig", text);
    RUN_PROGRAM("ssh-keygen", "-q", "-Y", "sign", "-f", path, "-n", NAMESPACE, text);
    struct buf theirs = scratch_read(sig);
    struct sshsig_signer signer = {.key = path, .cancel_fd = -1};
    char *ours = sign_with(&signer);
    assert_string_equal(ours, buf_str(&theirs));
    buf_release(&theirs);
    free(ours);
    free(path);
    free(text);
    free(sig);
}

/* ---- FIDO -------------------------------------------------------------------------------------------- */

/* PROTOCOL.u2f: a FIDO key signs a hash of its application, the flags, the counter, and a hash of the
 * data. */
static struct ssh_blob fido_sign(EVP_PKEY *key, const char *name, const struct ssh_blob *data)
{
    unsigned char all[69], signature[200];
    size_t n = sizeof signature;
    struct buf b = BUF_INIT(1000);
    struct ssh_blob ret = {0};
    EVP_Digest("ssh:", 4, all, NULL, EVP_sha256(), NULL);
    memcpy(all + 32, "\1\0\0\0\7", 5);
    EVP_Digest(data->data, data->n, all + 37, NULL, EVP_sha256(), NULL);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(context, NULL, NULL, NULL, key), 1);
    assert_int_equal(EVP_DigestSign(context, signature, &n, all, sizeof all), 1);
    EVP_MD_CTX_free(context);
    ssh_add_string(&b, name, strlen(name));
    ssh_add_string(&b, signature, n);
    buf_add(&b, "\1\0\0\0\7", 5);
    assert_ok(ssh_blob_copy(&ret, b.data, b.len, NULL), NULL);
    buf_release(&b);
    return ret;
}

static struct ssh_blob fido_public(EVP_PKEY *key, const char *name)
{
    unsigned char point[32];
    size_t n = sizeof point;
    struct buf b = BUF_INIT(1000);
    struct ssh_blob ret = {0};
    assert_int_equal(EVP_PKEY_get_raw_public_key(key, point, &n), 1);
    ssh_add_string(&b, name, strlen(name));
    ssh_add_string(&b, point, n);
    ssh_add_string(&b, "ssh:", 4);
    assert_ok(ssh_blob_copy(&ret, b.data, b.len, NULL), NULL);
    buf_release(&b);
    return ret;
}

static void a_signature_of_a_fido_key_is_verified(void **state)
{
    static const char name[] = "sk-ssh-ed25519@openssh.com";
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    struct ssh_blob public = fido_public(key, name), data = {0};
    struct err err = ERR_INIT;
    assert_ok(sshsig_signed_data(NAMESPACE, false, str_of(message), &data, &err), &err);
    struct ssh_blob signature = fido_sign(key, name, &data);
    char *armor = NULL;
    assert_ok(sshsig_armor(NAMESPACE, &public, &signature, &armor, &err), &err);
    assert_true(is_accepted_by_ssh_keygen(*state, armor));
    struct sshsig s = parse_signature(armor);
    assert_string_equal(s.type, name);
    assert_ok(sshsig_verify(&s, message, strlen(message), &err), &err);
    for (size_t i = 1; i <= 5; i++) { /* flags and counter are signed too */
        s.signature.data[s.signature.n - i] ^= 4;
        assert_refused(sshsig_verify(&s, message, strlen(message), &err), &err, ERR_DENIED,
                       "the signature is not genuine");
        s.signature.data[s.signature.n - i] ^= 4;
    }
    sshsig_release(&s);
    ssh_blob_release(&public);
    ssh_blob_release(&signature);
    ssh_blob_release(&data);
    EVP_PKEY_free(key);
    free(armor);
}

/* Only an agent can sign with a FIDO key. */
static void a_fido_key_needs_an_agent(void **state)
{
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    struct ssh_blob public = fido_public(key, "sk-ssh-ed25519@openssh.com");
    struct buf line = BUF_INIT(1000);
    buf_adds(&line, "sk-ssh-ed25519@openssh.com ");
    ssh_base64_add(&line, public.data, public.n);
    struct sshsig_signer signer = {.key = buf_str(&line), .cancel_fd = -1};
    struct err err = ERR_INIT;
    char *armor = NULL;
    assert_int_equal(sshsig_sign(&signer, NAMESPACE, str_of(message), &armor, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_contains(err.msg, "there is no SSH agent, and only an agent can use a FIDO key");
    assert_null(armor);
    ssh_blob_release(&public);
    buf_release(&line);
    EVP_PKEY_free(key);
    (void)state;
}

/* ---- passphrases ------------------------------------------------------------------------------------- */

/* A user who gives the same answer to each question; NULL: none. */
struct person {
    const char *answer;
    int n_asked;
};

static int answer_question(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    struct person *p = ctx;
    assert_int_equal(q->kind, ASK_HIDDEN);
    assert_contains(q->prompt, "Enter passphrase for key '");
    p->n_asked++;
    if (!p->answer)
        return err_set(err, ERR_NOT_FOUND, "there is no terminal to ask on");
    ret->len = (size_t)snprintf(ret->text, sizeof ret->text, "%s", p->answer);
    return 0;
}

static void a_passphrase_is_asked_for(void **state)
{
    static const struct {
        const char *answer;
        int n_asked;
        const char *msg;
    } cases[] = {{"secret", 1, NULL},
                 {"wrong", 3, "the passphrase is wrong"},
                 {NULL, 1, "there is no terminal to ask on"}};
    char *path = make_key(*state, &kinds[1], "secret");
    for (size_t i = 0; i < 3; i++) {
        struct person p = {.answer = cases[i].answer};
        struct sshsig_signer signer = {
            .key = path, .ask = answer_question, .ask_ctx = &p, .ask_ms = 1000, .cancel_fd = -1};
        struct err err = ERR_INIT;
        char *armor = NULL;
        int rc = sshsig_sign(&signer, NAMESPACE, str_of(message), &armor, &err);
        assert_int_equal(rc, cases[i].msg ? -1 : 0);
        if (cases[i].msg)
            assert_contains(err.msg, cases[i].msg);
        assert_int_equal(p.n_asked, cases[i].n_asked);
        free(armor);
    }
    struct sshsig_signer signer = {.key = path, .cancel_fd = -1};
    struct err err = ERR_INIT;
    char *armor = NULL;
    assert_int_equal(sshsig_sign(&signer, NAMESPACE, str_of(message), &armor, &err), -1);
    assert_contains(err.msg, "it has a passphrase, and no user can be asked for it");
    free(path);
}

/* ---- bad keys ---------------------------------------------------------------------------------------- */

static void assert_key_refused(const char *key, enum err_kind kind, const char *part)
{
    struct sshsig_signer signer = {.key = key, .cancel_fd = -1};
    struct err err = ERR_INIT;
    char *armor = NULL;
    assert_int_equal(sshsig_sign(&signer, NAMESPACE, str_of(message), &armor, &err), -1);
    assert_int_equal(err.kind, kind);
    assert_contains(err.msg, part);
    assert_null(armor);
}

static void unusable_keys_are_refused(void **state)
{
    static const struct kind dsa = {"dsa", "1024", "RFC4716"}, small = {"rsa", "1024", "RFC4716"};
    char *key = make_key(*state, &kinds[0], ""), *other = make_key(*state, &dsa, "");
    char *pub = format_text("%s.pub", key), *missing = format_text("%s/missing", (char *)*state);
    char *short_rsa = make_key(*state, &small, "");
    assert_key_refused(other, ERR_USAGE, "of type ssh-dss, which cannot sign bundles");
    assert_key_refused(short_rsa, ERR_UNSUPPORTED, "an RSA key of 1024 bits is not supported");
    assert_key_refused(missing, ERR_NOT_FOUND, missing);
    assert_key_refused("ssh-ed25519 AAAA!", ERR_FAILED, "this is not base64");
    /* A public key whose private key is missing, or does not belong to it. */
    assert_int_equal(remove(key), 0);
    assert_key_refused(pub, ERR_NOT_FOUND, "there is no SSH agent, and there is no file ");
    assert_int_equal(rename(short_rsa, key), 0);
    assert_key_refused(pub, ERR_USAGE, "is not the private half of ssh-ed25519 SHA256:");
    /* A certificate. */
    RUN_PROGRAM("ssh-keygen", "-q", "-s", key, "-I", "me", "-n", "me", pub);
    char *certificate = format_text("%s-cert.pub", key);
    assert_key_refused(certificate, ERR_USAGE, "of type ssh-ed25519-cert-v01@openssh.com");
    free(certificate);
    free(key);
    free(pub);
    free(other);
    free(missing);
    free(short_rsa);
}

/* ---- damaged ----------------------------------------------------------------------------------------- */

static void check_damaged(void *ctx, const struct damaged *damaged)
{
    const char *good = ctx;
    struct sshsig s = {0};
    if (sshsig_parse(damaged->p, damaged->n, &s, NULL) < 0) {
        assert_null(s.key.data);
        return;
    }
    /* A damaged signature that can be parsed is not genuine, unless only its last newline is missing or
     * changed. */
    if (sshsig_verify(&s, message, strlen(message), NULL) == 0)
        if (damaged->at + 1 < strlen(good))
            fail_msg("%s at %zu of %zu: %.*s", damaged->cut ? "cut" : "flipped", damaged->at, strlen(good),
                     (int)damaged->n, damaged->p);
    sshsig_release(&s);
}

static void damaged_signatures_are_refused(void **state)
{
    for (size_t i = 0; i < N_KINDS; i += 3) {
        char *path = make_key(*state, &kinds[i], "");
        struct sshsig_signer signer = {.key = path, .cancel_fd = -1};
        char *armor = sign_with(&signer);
        damage_everywhere(armor, strlen(armor), check_damaged, armor);
        free(armor);
        free(path);
    }
}

static void malformed_armor_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *msg;
    } cases[] = {
        {"", "its first line is not -----BEGIN SSH SIGNATURE-----"},
        {"-----BEGIN SSH SIGNATURE-----", "its first line is not -----BEGIN SSH SIGNATURE-----"},
        {"-----BEGIN SSH SIGNATURE-----\n", "its last line is not -----END SSH SIGNATURE-----"},
        {"-----BEGIN SSH SIGNATURE-----\nAAAA-----END SSH SIGNATURE-----\n",
         "its last line is not -----END SSH SIGNATURE-----"},
        {"-----BEGIN SSH SIGNATURE-----\nA A=\n-----END SSH SIGNATURE-----\n", "this is not base64"},
        {"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
         "it does not begin with SSHSIG"},
        {"-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n", "it is cut off"},
        {"-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAg==\n-----END SSH SIGNATURE-----\n",
         "the signature is of version 2, which is not supported"},
        {"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\nmore", "there is text after it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sshsig s = {0};
        struct err err = ERR_INIT;
        assert_int_equal(sshsig_parse(cases[i].text, strlen(cases[i].text), &s, &err), -1);
        assert_contains(err.msg, cases[i].msg);
    }
}

/* ---- allowed signers --------------------------------------------------------------------------------- */

/* A line of a file of allowed signers. */
struct allowed {
    const char *options;   /* the text before the key */
    const char *principal; /* the expected result; NULL if the key is refused */
    const char *msg;       /* NULL: the key is allowed */
};

static void allowed_signers_restrict_keys(void **state)
{
    static const struct allowed cases[] = {
        {"alice@example.org ", "alice@example.org", NULL},
        {"alice@example.org,bob ", "alice@example.org", NULL},
        {"*@example.org ", "*@example.org", NULL},
        {"alice namespaces=\"git,profgrab-*\" ", "alice", NULL},
        {"alice namespaces=\"file\" ", NULL, "does not allow the key"},
        {"alice valid-before=\"20200101\" ", NULL, "does not allow the key"},
        {"alice valid-after=\"20200101Z\" ", "alice", NULL},
        {"alice cert-authority ", NULL, "does not allow the key"},
        {"# alice ", NULL, "does not allow the key"},
    };
    struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1};
    char *key = make_key(*state, &kinds[0], ""), *pub_path = format_text("%s.pub", key);
    struct buf pub = scratch_read(pub_path);
    struct sshsig_signer signer = {.key = key, .cancel_fd = -1};
    char *armor = sign_with(&signer);
    struct sshsig_claim claim = {.armor = armor, .namespace = NAMESPACE, .p = message, .n = strlen(message)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *line = format_text("%s%s", cases[i].options, buf_str(&pub)), *who = NULL;
        char *file = scratch_file(*state, "allowed", line, strlen(line));
        struct err err = ERR_INIT;
        int rc = sshsig_find_principal(file, &claim, &limits, &who, &err);
        if (cases[i].msg) {
            assert_int_equal(rc, -1);
            assert_int_equal(err.kind, ERR_DENIED);
            assert_contains(err.msg, cases[i].msg);
        } else {
            assert_ok(rc, &err);
            assert_string_equal(who, cases[i].principal);
        }
        free(who);
        free(line);
        free(file);
    }
    char *who = NULL;
    struct err err = ERR_INIT;
    assert_int_equal(sshsig_find_principal("/nowhere", &claim, &limits, &who, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    buf_release(&pub);
    free(armor);
    free(key);
    free(pub_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(ssh_keygen_verifies_our_signatures),
        SCRATCH(signatures_of_ssh_keygen_are_verified),
        SCRATCH(signatures_equal_those_of_ssh_keygen),
        SCRATCH(a_signature_of_a_fido_key_is_verified),
        SCRATCH(a_fido_key_needs_an_agent),
        SCRATCH(a_passphrase_is_asked_for),
        SCRATCH(unusable_keys_are_refused),
        SCRATCH(damaged_signatures_are_refused),
        SCRATCH(malformed_armor_is_refused),
        SCRATCH(allowed_signers_restrict_keys),
    };
    return cmocka_run_group_tests_name("sshsig", tests, NULL, NULL);
}
