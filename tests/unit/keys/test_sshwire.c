/* SSH's data types, base64, fingerprints, and the inspection of private key files made by ssh-keygen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "keys/keyfile.h"
#include "keys/sshwire.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* An ed25519 public key of thirty-two bytes 'k'. */
static const unsigned char blob_bytes[] = "\0\0\0\x0bssh-ed25519\0\0\0\x20kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";
static const struct ssh_blob blob = {(unsigned char *)(uintptr_t)blob_bytes, sizeof blob_bytes - 1};

static void numbers_and_strings_are_encoded_and_read(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(100);
    ssh_add_u32(&b, 0xdeadbeef);
    ssh_add_string(&b, "ab", 2);
    ssh_add_string(&b, NULL, 0);
    assert_int_equal(b.len, 14);
    assert_memory_equal(b.data, "\xde\xad\xbe\xef\0\0\0\2ab\0\0\0\0", 14);
    struct ssh_reader r = {(const unsigned char *)b.data, b.len};
    uint32_t v = 0;
    const unsigned char *p = NULL;
    size_t n = 9;
    assert_int_equal(ssh_read_u32(&r, &v), 0);
    assert_true(v == 0xdeadbeef);
    assert_int_equal(ssh_read_string(&r, &p, &n), 0);
    assert_int_equal(n, 2);
    assert_memory_equal(p, "ab", 2);
    assert_int_equal(ssh_read_string(&r, &p, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(r.left, 0);
    assert_int_equal(ssh_read_u32(&r, &v), -1);
    buf_release(&b);
}

static void a_length_is_not_trusted(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {{"", 0},
               {"\0\0\0", 3},
               {"\0\0\0\1", 4},
               {"\0\0\0\3ab", 6},
               {"\xff\xff\xff\xff"
                "ab",
                6}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unsigned char *copy = malloc(bad[i].n + 1);
        assert_non_null(copy);
        memcpy(copy + 1, bad[i].bytes, bad[i].n);
        struct ssh_reader r = {copy + 1, bad[i].n};
        const unsigned char *p = copy;
        size_t n = 7;
        assert_int_equal(ssh_read_string(&r, &p, &n), -1);
        assert_ptr_equal(p, copy);
        assert_int_equal(n, 7);
        assert_ptr_equal(r.p, copy + 1);
        assert_int_equal(r.left, bad[i].n);
        free(copy);
    }
}

static void assert_decoded(const char *text, const char *bytes, size_t n)
{
    struct ssh_blob b = {0};
    struct err err = ERR_INIT;
    assert_ok(ssh_base64_decode(text, strlen(text), &b, &err), &err);
    assert_int_equal(b.n, n);
    assert_memory_equal(b.data, bytes, n);
    ssh_blob_release(&b);
    assert_null(b.data);
}

static void invalid_base64_is_refused(void **state)
{
    (void)state;
    assert_decoded("Zg==", "f", 1);
    assert_decoded("Zm8=", "fo", 2);
    assert_decoded("Zm9v", "foo", 3);
    assert_decoded("Zm9vYmFy", "foobar", 6);
    assert_decoded("+/+/", "\xfb\xff\xbf", 3);
    static const char *const bad[] = {
        "",         "Z",        "Zm9",      "Zm9vY", "Zm=v", "Z===",    "====",     " Zm9v",    "Zm9v\n",
        "Zm9v    ", "\n\n\n\n", "Zm9v----", "Zm9-",  "Zm9_", "Zm9\xc3", "Zg==Zm9v", "    Zm9v", "Z\n9v"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ssh_blob b = {0};
        struct err err = ERR_INIT;
        assert_refused(ssh_base64_decode(bad[i], strlen(bad[i]), &b, &err), &err, ERR_FAILED,
                       "this is not base64");
        assert_null(b.data);
    }
    struct ssh_blob b = {0};
    char much[SSH_BLOB_MAX / 3 * 4 + 4];
    memset(much, 'A', sizeof much);
    assert_int_equal(ssh_base64_decode(much, sizeof much, &b, NULL), -1);
    assert_int_equal(ssh_base64_decode(much, sizeof much - 4, &b, NULL), 0);
    assert_int_equal(b.n, SSH_BLOB_MAX / 3 * 3);
    ssh_blob_release(&b);
}

static void blobs_are_compared_and_named(void **state)
{
    (void)state;
    char type[64], fingerprint[SSH_FINGERPRINT];
    struct ssh_blob copy = {0}, empty = {0};
    assert_ok(ssh_blob_copy(&copy, blob.data, blob.n, NULL), NULL);
    assert_true(ssh_blob_equal(&copy, &blob));
    copy.data[20] ^= 1;
    assert_false(ssh_blob_equal(&copy, &blob));
    assert_false(ssh_blob_equal(&empty, &empty));
    assert_string_equal(ssh_blob_type(&blob, type, sizeof type), "ssh-ed25519");
    assert_string_equal(ssh_blob_type(&empty, type, sizeof type), "?");
    struct ssh_blob hostile = {(unsigned char *)(uintptr_t) "\0\0\0\4a\x1b[m", 8};
    assert_string_equal(ssh_blob_type(&hostile, type, sizeof type), "a?[m");
    struct ssh_blob blank = {(unsigned char *)(uintptr_t) "\0\0\0\2\v ", 6};
    assert_string_equal(ssh_blob_type(&blank, type, sizeof type), "?");
    assert_string_equal(ssh_blob_fingerprint(&blob, fingerprint),
                        "SHA256:sArVyTbDlP2ByuRNM59Xf/iwOUmdy69sxylyNl3iUQQ");
    ssh_blob_release(&copy);
}

static void run_keygen(const char *path, const char *const options[])
{
    const char *argv[24] = {"ssh-keygen", "-q", "-C", "unit", "-f", path};
    size_t n = 6;
    for (; *options; options++)
        argv[n++] = *options;
    struct buf out = run_program(argv);
    buf_release(&out);
}

/* Reads the public key from the .pub file. */
static struct ssh_blob public_key(const char *path)
{
    struct ssh_blob b = {0};
    struct err err = ERR_INIT;
    char *pub = format_text("%s.pub", path);
    struct buf text = scratch_read(pub);
    const char *from = strchr(buf_str(&text), ' ') + 1;
    assert_ok(ssh_base64_decode(from, strcspn(from, " \n"), &b, &err), &err);
    buf_release(&text);
    free(pub);
    return b;
}

struct key_form {
    const char *name;
    const char *options[14];
    const char *type; /* as the file shows it */
    bool encrypted;
    bool hidden; /* the file does not show its public key */
};

static const struct key_form keys[] = {
    {"ed25519", {"-t", "ed25519", "-N", ""}, "ssh-ed25519", false, false},
    {"ed25519-secret", {"-t", "ed25519", "-N", "secret", "-a", "1"}, "ssh-ed25519", true, false},
    {"ed25519-pem", {"-t", "ed25519", "-N", "", "-m", "PEM"}, "ssh-ed25519", false, false},
    {"p256", {"-t", "ecdsa", "-b", "256", "-N", ""}, "ecdsa-sha2-nistp256", false, false},
    {"p384", {"-t", "ecdsa", "-b", "384", "-N", ""}, "ecdsa-sha2-nistp384", false, false},
    {"p521", {"-t", "ecdsa", "-b", "521", "-N", ""}, "ecdsa-sha2-nistp521", false, false},
    {"p256-secret", {"-t", "ecdsa", "-N", "secret", "-a", "1"}, "ecdsa-sha2-nistp256", true, false},
    {"p256-pem", {"-t", "ecdsa", "-N", "", "-m", "PEM"}, "ecdsa", false, true},
    {"p256-pem-secret", {"-t", "ecdsa", "-N", "secret", "-m", "PEM"}, "ecdsa", true, true},
    {"rsa", {"-t", "rsa", "-b", "2048", "-N", ""}, "ssh-rsa", false, false},
    {"rsa-secret", {"-t", "rsa", "-b", "2048", "-N", "secret", "-a", "1"}, "ssh-rsa", true, false},
    {"rsa-pem", {"-t", "rsa", "-b", "2048", "-N", "", "-m", "PEM"}, "ssh-rsa", false, true},
    {"rsa-pem-secret", {"-t", "rsa", "-b", "2048", "-N", "secret", "-m", "PEM"}, "ssh-rsa", true, true},
    {"pkcs8", {"-t", "ecdsa", "-N", "", "-m", "PKCS8"}, "", false, true},
    {"pkcs8-secret", {"-t", "ecdsa", "-N", "secret", "-m", "PKCS8"}, "", true, true},
};

/* Inspects the key with its .pub file, which always has the public key, and without this file. */
static void inspect_with_and_without_pub_file(const char *path, const struct key_form *form)
{
    struct keyfile with = {0}, without = {0};
    struct err err = ERR_INIT;
    char *pub = format_text("%s.pub", path), type[64];
    struct ssh_blob public = public_key(path);
    assert_ok(keyfile_inspect(path, &with, &err), &err);
    assert_true(ssh_blob_equal(&with.blob, &public));
    assert_string_equal(with.type, ssh_blob_type(&public, type, sizeof type));
    assert_int_equal(with.encrypted, form->encrypted);
    assert_int_equal(unlink(pub), 0);
    assert_ok(keyfile_inspect(path, &without, &err), &err);
    assert_string_equal(without.type, form->type);
    assert_int_equal(without.encrypted, form->encrypted);
    assert_int_equal(ssh_blob_equal(&without.blob, &public), !form->hidden);
    assert_int_equal(without.blob.n == 0, form->hidden);
    keyfile_release(&with);
    keyfile_release(&without);
    ssh_blob_release(&public);
    free(pub);
}

static void each_form_of_ssh_keygen_is_read(void **state)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char *path = file_join(*state, keys[i].name);
        run_keygen(path, keys[i].options);
        inspect_with_and_without_pub_file(path, &keys[i]);
        free(path);
    }
}

static void fingerprints_equal_those_of_ssh_keygen(void **state)
{
    char *path = file_join(*state, "key"), fingerprint[SSH_FINGERPRINT];
    run_keygen(path, (const char *const[]){"-t", "ed25519", "-N", "", NULL});
    struct ssh_blob public = public_key(path);
    struct buf printed = run_program((const char *const[]){"ssh-keygen", "-l", "-f", path, NULL});
    assert_contains(buf_str(&printed), ssh_blob_fingerprint(&public, fingerprint));
    assert_int_equal(strlen(fingerprint), 50);
    buf_release(&printed);
    ssh_blob_release(&public);
    free(path);
}

static void an_invalid_public_key_file_is_ignored(void **state)
{
    static const char *const odd[] = {"",      "\n",  "ecdsa", "ecdsa ", "ecdsa AAAA\x1b[31m",
                                      "x y z", "   ", "a AAA="};
    struct err err = ERR_INIT;
    char *path = file_join(*state, "key"), *pub = file_join(*state, "key.pub");
    run_keygen(path, (const char *const[]){"-t", "ecdsa", "-N", "", "-m", "PEM", NULL});
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct keyfile k = {0};
        assert_ok(file_write(pub, odd[i], strlen(odd[i]), &err), &err);
        assert_ok(keyfile_inspect(path, &k, &err), &err);
        assert_int_equal(k.encrypted, false);
        keyfile_release(&k);
    }
    free(path);
    free(pub);
}

/* The texts that ssh accepts as the public key of a key in an agent. */
static void a_public_key_file_is_accepted_as_ssh_does(void **state)
{
    static const struct {
        const char *name;        /* the inspected file: key, or key.pub with the public key */
        const char *private_key; /* the text of the file key; NULL: there is no such file */
        const char *front;       /* the text in key.pub in front of the public key */
        bool is_public;
        const char *unusable; /* a part of the reason; "": usable */
    } cases[] = {{"key.pub", NULL, "", true, ""},
                 {"key.pub", "a private key", "", true, ""},
                 {"key.pub", NULL, "\n  \n# of the token\n\t ", true, ""},
                 {"key", NULL, "", false, ""},
                 {"key", "nonsense", "", false, "not a private key"},
                 {"key", "", "", false, "not a private key"}};
    char *path = file_join(*state, "key"), *pub = file_join(*state, "key.pub");
    struct err err = ERR_INIT;
    run_keygen(path, (const char *const[]){"-t", "ed25519", "-N", "", NULL});
    struct ssh_blob public = public_key(path);
    struct buf line = scratch_read(pub);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct keyfile k = {0};
        char *text = format_text("%s%s", cases[i].front, buf_str(&line)),
             *name = file_join(*state, cases[i].name);
        unlink(path);
        if (cases[i].private_key)
            assert_ok(file_write(path, cases[i].private_key, strlen(cases[i].private_key), &err), &err);
        assert_ok(file_write(pub, text, strlen(text), &err), &err);
        assert_ok(keyfile_inspect(name, &k, &err), &err);
        assert_true(k.is_private_absent);
        assert_int_equal(k.is_public, cases[i].is_public);
        assert_true(ssh_blob_equal(&k.blob, &public));
        assert_string_equal(k.type, "ssh-ed25519");
        assert_contains(k.unusable, cases[i].unusable);
        assert_int_equal(k.unusable[0] == '\0', cases[i].unusable[0] == '\0');
        keyfile_release(&k);
        free(name);
        free(text);
    }
    buf_release(&line);
    ssh_blob_release(&public);
    free(path);
    free(pub);
}

static void other_lines_are_not_public_keys(void **state)
{
    static const char *const texts[] = {
        "", "\n", "# nothing else", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 !!!!",
        /* "ssh-rsa", under another name */
        "ssh-ed25519 AAAAB3NzaC1yc2E=", "-----BEGIN PUBLIC KEY-----\nAAAAB3NzaC1yc2E=\n"};
    char *path = file_join(*state, "key.pub");
    struct err err = ERR_INIT;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct keyfile k = {0};
        struct ssh_blob read = {0};
        assert_ok(file_write(path, texts[i], strlen(texts[i]), &err), &err);
        assert_int_equal(keyfile_inspect(path, &k, &err), -1);
        assert_int_equal(keyfile_read_public(path, &read, &err), -1);
        assert_null(read.data);
    }
    free(path);
}

static void assert_key_refused(const char *text, const char *msg)
{
    struct keyfile k = {.type = "untouched"};
    struct err err = ERR_INIT;
    assert_refused(keyfile_parse(text, strlen(text), &k, &err), &err, ERR_FAILED, msg);
    assert_string_equal(k.type, "untouched");
}

static void other_blobs_are_not_keys(void **state)
{
    assert_key_refused("", "not a private key");
    assert_key_refused("ssh-ed25519 AAAA", "not a private key");
    assert_key_refused("-----BEGIN CERTIFICATE-----\n", "the format of the private key is not supported");
    assert_key_refused("-----BEGIN OPENSSH PRIVATE KEY-----\n", "the private key's last line is missing");
    assert_key_refused("-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
                       "this is not base64");
    assert_key_refused("-----BEGIN OPENSSH PRIVATE KEY-----\n!!!!\n-----END OPENSSH PRIVATE KEY-----\n",
                       "this is not base64");
    assert_key_refused("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
                       "not an OpenSSH private key");
    /* "openssh-key-v1" with its NUL only */
    assert_key_refused(
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n",
        "the OpenSSH private key is damaged");
    struct keyfile k = {0};
    struct err err = ERR_INIT;
    char *path = scratch_file(*state, "file", "hello", 5), *msg = format_text("%s: not a private key", path);
    assert_refused(keyfile_inspect(path, &k, &err), &err, ERR_FAILED, msg);
    free(msg);
    free(path);
    path = file_join(*state, "none");
    msg = format_text("cannot open %s: No such file or directory", path);
    assert_refused(keyfile_inspect(path, &k, &err), &err, ERR_NOT_FOUND, msg);
    free(msg);
    free(path);
    static char much[70000];
    memset(much, '-', sizeof much);
    path = scratch_file(*state, "much", much, sizeof much);
    msg = format_text("%s is larger than 65536 bytes", path);
    assert_refused(keyfile_inspect(path, &k, &err), &err, ERR_FAILED, msg);
    free(msg);
    free(path);
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct keyfile k = {0};
    struct err err = ERR_INIT;
    if (keyfile_parse(s->p, s->n, &k, &err) < 0)
        assert_int_equal(err.kind, ERR_FAILED);
    keyfile_release(&k);
}

static void damaged_keys_are_read_or_refused(void **state)
{
    static const size_t some[] = {0, 1, 8, 13};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        char *path = file_join(*state, keys[some[i]].name);
        run_keygen(path, keys[some[i]].options);
        struct buf text = scratch_read(path);
        damage_everywhere(text.data, text.len, read_damaged, NULL);
        buf_release(&text);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_strings_are_encoded_and_read),
        cmocka_unit_test(a_length_is_not_trusted),
        cmocka_unit_test(invalid_base64_is_refused),
        cmocka_unit_test(blobs_are_compared_and_named),
        SCRATCH(each_form_of_ssh_keygen_is_read),
        SCRATCH(fingerprints_equal_those_of_ssh_keygen),
        SCRATCH(an_invalid_public_key_file_is_ignored),
        SCRATCH(a_public_key_file_is_accepted_as_ssh_does),
        SCRATCH(other_lines_are_not_public_keys),
        SCRATCH(other_blobs_are_not_keys),
        SCRATCH(damaged_keys_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
