/* Private keys and certificates of ssh-keygen: opened, their public keys, their signatures, damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "gateway/ssh/certificate.h"
#include "keys/keyfile.h"
#include "keys/privkey.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static const struct kind {
    const char *type, *bits, *form;
} kinds[] = {{"ed25519", "256", "RFC4716"}, {"ecdsa", "256", "RFC4716"}, {"ecdsa", "384", "PEM"},
             {"ecdsa", "521", "PKCS8"},     {"ecdsa", "521", "RFC4716"}, {"rsa", "2048", "RFC4716"},
             {"rsa", "2048", "PEM"},        {"rsa", "2048", "PKCS8"}};

/* Makes a key. Returns its path, a new string. */
static char *make_key(const char *directory, const struct kind *k, const char *passphrase)
{
    char *path =
        format_text("%s/%s-%s-%s%s", directory, k->type, k->bits, k->form, *passphrase ? "-locked" : "");
    RUN_PROGRAM("ssh-keygen", "-q", "-t", k->type, "-b", k->bits, "-m", k->form, "-a", "1", "-N", passphrase,
                "-f", path);
    return path;
}

static struct buf read_bytes(const char *path)
{
    struct buf b = BUF_INIT(KEYFILE_MAX);
    struct err err = ERR_INIT;
    assert_ok(file_read(path, &b, &err), &err);
    return b;
}

static struct privkey *open_key(const char *path, const char *passphrase, struct err *err)
{
    struct buf b = read_bytes(path);
    struct privkey *k = NULL;
    struct secret s = {.len = strlen(passphrase)};
    snprintf(s.text, sizeof s.text, "%s", passphrase);
    privkey_parse(b.data, b.len, *passphrase ? &(struct passphrase){&s, -1} : NULL, &k, err);
    buf_release(&b);
    return k;
}

static int check_passphrase(const char *path, const char *passphrase, struct err *err)
{
    struct buf b = read_bytes(path);
    struct secret s = {.len = strlen(passphrase)};
    snprintf(s.text, sizeof s.text, "%s", passphrase);
    int rc = privkey_check_passphrase(b.data, b.len, &(struct passphrase){&s, -1}, err);
    buf_release(&b);
    return rc;
}

/* Asserts that PATH.pub has the public half of the key. */
static void assert_same_public_key(const struct privkey *k, const char *path)
{
    struct ssh_blob mine = {0}, theirs = {0};
    struct err err = ERR_INIT;
    char *pub = format_text("%s.pub", path);
    assert_ok(privkey_public(k, &mine, &err), &err);
    assert_ok(keyfile_read_public(pub, &theirs, &err), &err);
    assert_true(ssh_blob_equal(&mine, &theirs));
    ssh_blob_release(&mine);
    ssh_blob_release(&theirs);
    free(pub);
}

static void each_kind_of_key_is_read(void **state)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct err err = ERR_INIT;
        char *path = make_key(*state, &kinds[i], "");
        struct privkey *k = open_key(path, "", &err);
        if (!k)
            fail_msg("%s: %s", path, err.msg);
        assert_same_public_key(k, path);
        privkey_free(k);
        /* Any passphrase "opens" it. */
        assert_refused(check_passphrase(path, "secret", &err), &err, ERR_FAILED,
                       "the private key has no passphrase");
        free(path);
    }
}

static void assert_opened_only_by(const char *path, const char *passphrase)
{
    struct err err = ERR_INIT;
    assert_refused(check_passphrase(path, "wrong", &err), &err, ERR_NOT_FOUND, "the passphrase is wrong");
    assert_refused(check_passphrase(path, "", &err), &err, ERR_NOT_FOUND, "the passphrase is wrong");
    assert_ok(check_passphrase(path, passphrase, &err), &err);
    assert_null(open_key(path, "", &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_null(open_key(path, "wrong", &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    struct privkey *k = open_key(path, passphrase, &err);
    if (!k)
        fail_msg("%s: %s", path, err.msg);
    assert_same_public_key(k, path);
    privkey_free(k);
}

static void only_the_passphrase_opens_a_key(void **state)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char *path = make_key(*state, &kinds[i], "secret");
        assert_opened_only_by(path, "secret");
        free(path);
    }
}

/* In OpenSSH's own format: every cipher, several numbers of rounds, and a passphrase that is longer than a
 * block of the hash and not ASCII. */
static void each_cipher_of_openssh_is_decrypted(void **state)
{
    static const struct {
        const char *cipher, *rounds, *passphrase;
    } rows[] = {
        {"aes256-ctr", "1", "secret"},
        {"aes256-ctr", "7", "secret"},
        {"aes192-ctr", "1", "secret"},
        {"aes128-ctr", "1", "secret"},
        {"aes256-cbc", "2", "secret"},
        {"aes192-cbc", "1", "secret"},
        {"aes128-cbc", "1", "secret"},
        {"3des-cbc", "1", "secret"},
        {"aes256-gcm@openssh.com", "3", "secret"},
        {"aes128-gcm@openssh.com", "1", "secret"},
        {"chacha20-poly1305@openssh.com", "2", "secret"},
        {"aes256-ctr", "1",
         "na\303\257ve and long and long and long and long and long and long and long and long and long and "
         "long and long and long and long and long"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = format_text("%s/locked-%zu", *(char **)state, i);
        RUN_PROGRAM("ssh-keygen", "-q", "-t", i % 2 ? "ecdsa" : "ed25519", "-Z", rows[i].cipher, "-a",
                    rows[i].rounds, "-N", rows[i].passphrase, "-f", path);
        assert_opened_only_by(path, rows[i].passphrase);
        free(path);
    }
}

/* sshd verifies signatures in 41-auth.bats. This test checks only their format, and that the name determines
 * the hash. */
static void the_signature_name_determines_the_hash(void **state)
{
    static const char *const names[] = {"rsa-sha2-512", "rsa-sha2-256", "ssh-rsa"};
    struct ssh_blob data = {(unsigned char *)(uintptr_t) "sign this", 9}, signed_by[3] = {{0}};
    struct err err = ERR_INIT;
    char *path = make_key(*state, &kinds[5], "");
    struct privkey *k = open_key(path, "", &err);
    assert_non_null(k);
    for (int i = 0; i < 3; i++) {
        assert_ok(privkey_sign(k, names[i], &data, &signed_by[i], &err), &err);
        assert_int_equal(signed_by[i].n, 256);
        for (int other = 0; other < i; other++)
            assert_false(ssh_blob_equal(&signed_by[i], &signed_by[other]));
    }
    for (int i = 0; i < 3; i++)
        ssh_blob_release(&signed_by[i]);
    privkey_free(k);
    free(path);
    path = make_key(*state, &kinds[1], "");
    k = open_key(path, "", &err);
    assert_non_null(k);
    assert_ok(privkey_sign(k, "ecdsa-sha2-nistp256", &data, &signed_by[0], &err), &err);
    struct ssh_reader r = {signed_by[0].data, signed_by[0].n};
    const unsigned char *number = NULL;
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ssh_read_string(&r, &number, &n), 0);
        assert_true(n > 0 && n <= 33 && number[0] < 0x80);
    }
    assert_int_equal(r.left, 0);
    ssh_blob_release(&signed_by[0]);
    privkey_free(k);
    free(path);
}

static void parse_damaged_key(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct privkey *k = NULL;
    struct err err = ERR_INIT;
    if (privkey_parse(s->p, s->n, NULL, &k, &err) < 0)
        assert_true(!k && err.msg[0]);
    privkey_free(k);
}

static void damaged_keys_are_read_or_refused_with_a_message(void **state)
{
    static const size_t some[] = {0, 1, 2};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        char *path = make_key(*state, &kinds[some[i]], "");
        struct buf b = read_bytes(path);
        damage_everywhere(b.data, b.len, parse_damaged_key, NULL);
        buf_release(&b);
        free(path);
    }
}

/* ---- certificates ------------------------------------------------------------------------------------ */

/* Makes a certificate, asserts that certificate_read reads its members, and returns the whole. */
static struct ssh_blob make_certificate(const char *directory, const char *type, const char *validity)
{
    struct ssh_blob blob = {0};
    struct err err = ERR_INIT;
    char *authority = format_text("%s/authority-%s", directory, type),
         *key = format_text("%s/%s", directory, type);
    char *pub = format_text("%s.pub", key), *certificate = format_text("%s-cert.pub", key);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", type, "-N", "", "-f", key);
    RUN_PROGRAM("ssh-keygen", "-q", "-s", authority, "-I", "ann\33[31m", "-n", "ann,root", "-V", validity,
                pub);
    assert_ok(keyfile_read_public(certificate, &blob, &err), &err);
    struct certificate c = {0};
    assert_ok(certificate_read(certificate, &c, &err), &err);
    struct ssh_blob plain = {0};
    assert_ok(keyfile_read_public(pub, &plain, &err), &err);
    assert_true(ssh_blob_equal(&plain, &c.key));
    assert_true(ssh_blob_equal(&blob, &c.blob));
    assert_string_equal(c.id, "ann?[31m");
    ssh_blob_release(&plain);
    char *authority_pub = format_text("%s.pub", authority), fingerprint[SSH_FINGERPRINT];
    assert_ok(keyfile_read_public(authority_pub, &plain, &err), &err);
    assert_string_equal(c.authority, ssh_blob_fingerprint(&plain, fingerprint));
    ssh_blob_release(&plain);
    certificate_release(&c);
    free(authority);
    free(authority_pub);
    free(key);
    free(pub);
    free(certificate);
    return blob;
}

static void certificates_are_recognized(void **state)
{
    static const char *const types[] = {"ed25519", "ecdsa", "rsa"};
    for (size_t i = 0; i < 3; i++) {
        struct ssh_blob blob = make_certificate(*state, types[i], "always:forever");
        ssh_blob_release(&blob);
    }
    assert_true(certificate_is_type("ssh-ed25519-cert-v01@openssh.com"));
    assert_false(certificate_is_type("ssh-ed25519"));
    assert_false(certificate_is_type("-cert-v01@openssh.com"));
    assert_false(certificate_is_type(""));
}

static void parse_damaged_certificate(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct certificate c = {0};
    struct err err = ERR_INIT;
    int rc = certificate_parse(s->p, s->n, &c, &err);
    if (s->cut)
        assert_int_equal(rc, -1);
    assert_true(rc == 0 ? c.key.n > 0 && c.key.n < s->n : !c.key.data && !c.blob.data && err.msg[0]);
    certificate_release(&c);
}

static void cut_certificates_are_refused(void **state)
{
    struct ssh_blob blob = make_certificate(*state, "ecdsa", "always:forever");
    damage_everywhere((char *)blob.data, blob.n, parse_damaged_certificate, NULL);
    ssh_blob_release(&blob);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        SCRATCH(each_kind_of_key_is_read),
        SCRATCH(only_the_passphrase_opens_a_key),
        SCRATCH(each_cipher_of_openssh_is_decrypted),
        SCRATCH(the_signature_name_determines_the_hash),
        SCRATCH(damaged_keys_are_read_or_refused_with_a_message),
        SCRATCH(certificates_are_recognized),
        SCRATCH(cut_certificates_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
