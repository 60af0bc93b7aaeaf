/* The age format: alphabets, armor, headers and chunks; valid recipients and identities. These tests read
 * what they write; tests/e2e/52-age.bats exchanges files with age itself and runs the format's own
 * vectors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "seal/age.h"
#include "seal/age_armor.h"
#include "seal/age_header.h"
#include "seal/age_stream.h"
#include "seal/bech32.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* The key pair of the format's specification. */
#define SECRET "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
#define PUBLIC "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"

/* ---- base64 and bech32 ------------------------------------------------------------------------------- */

static void only_canonical_base64_is_decoded(void **state)
{
    static const struct {
        enum base64_form form;
        const char *text;
        int n; /* -1: refused */
    } rows[] = {{BASE64_RAW, "", 0},         {BASE64_RAW, "AA", 1},         {BASE64_RAW, "AAA", 2},
                {BASE64_RAW, "AAAA", 3},     {BASE64_RAW, "+/+/", 3},       {BASE64_RAW, "A", -1},
                {BASE64_RAW, "AAAAA", -1},   {BASE64_RAW, "AA==", -1},      {BASE64_RAW, "AB", -1},
                {BASE64_RAW, "AAB", -1},     {BASE64_RAW, "A A", -1},       {BASE64_RAW, "AA\n", -1},
                {BASE64_RAW, "-_AA", -1},    {BASE64_RAW, "AAAAAAAAA", -1}, {BASE64_PADDED, "", 0},
                {BASE64_PADDED, "AA==", 1},  {BASE64_PADDED, "AAA=", 2},    {BASE64_PADDED, "AAAA", 3},
                {BASE64_PADDED, "AA", -1},   {BASE64_PADDED, "AA=", -1},    {BASE64_PADDED, "AB==", -1},
                {BASE64_PADDED, "A===", -1}, {BASE64_PADDED, "====", -1},   {BASE64_PADDED, "=AAA", -1},
                {BASE64_PADDED, "AA=A", -1}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char bytes[8];
        size_t n = 77;
        int rc = base64_decode(rows[i].form, str_of(rows[i].text), bytes, sizeof bytes, &n);
        if (rc != (rows[i].n < 0 ? -1 : 0) || n != (rows[i].n < 0 ? 77 : (size_t)rows[i].n))
            fail_msg("\"%s\" gave %d, %zu bytes", rows[i].text, rc, n);
    }
    for (size_t n = 0; n < 9; n++) {
        struct buf b = BUF_INIT(100);
        unsigned char back[9];
        size_t got = 0;
        base64_add(&b, BASE64_RAW, "\0\1\376\377age!", n);
        assert_int_equal(base64_decode(BASE64_RAW, (struct str){buf_str(&b), b.len}, back, n, &got), 0);
        assert_int_equal(got, n);
        assert_memory_equal(back, "\0\1\376\377age!", n);
        if (n > 0)
            assert_int_equal(base64_decode(BASE64_RAW, (struct str){buf_str(&b), b.len}, back, n - 1, &got),
                             -1);
        buf_release(&b);
    }
}

static void decode_damaged_key(void *ctx, const struct damaged *s)
{
    unsigned char key[32];
    (void)ctx;
    bool fits = bech32_decode(s->p, s->n, "age", key, sizeof key) == 0;
    /* The checksum, the alphabet or the mixed case shows every cut and every flipped bit. */
    assert_false(fits);
}

static void keys_in_bech32_are_decoded(void **state)
{
    unsigned char secret[32], upper[32], point[32];
    (void)state;
    assert_int_equal(bech32_decode(SECRET, strlen(SECRET), "age-secret-key-", secret, sizeof secret), 0);
    for (size_t i = 0; i < sizeof secret; i++)
        assert_int_equal(secret[i], 0x42);
    assert_int_equal(bech32_decode(PUBLIC, strlen(PUBLIC), "age", point, sizeof point), 0);
    struct err err = ERR_INIT;
    assert_ok(age_x25519_base(secret, upper, &err), &err);
    assert_memory_equal(point, upper, sizeof point);
    struct buf b = BUF_INIT(100);
    bech32_add(&b, "age", point, sizeof point);
    assert_string_equal(buf_str(&b), PUBLIC);
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = b.data[i] >= 'a' && b.data[i] <= 'z' ? (char)(b.data[i] - 32) : b.data[i];
    assert_int_equal(bech32_decode(b.data, b.len, "age", upper, sizeof upper), 0);
    b.data[0] = 'a'; /* both cases */
    assert_int_equal(bech32_decode(b.data, b.len, "age", upper, sizeof upper), -1);
    assert_int_equal(bech32_decode(PUBLIC, strlen(PUBLIC), "agf", upper, sizeof upper), -1);
    assert_int_equal(bech32_decode(PUBLIC, strlen(PUBLIC), "age", upper, 31), -1);
    damage_everywhere(PUBLIC, strlen(PUBLIC), decode_damaged_key, NULL);
    buf_release(&b);
}

/* ---- whole files ------------------------------------------------------------------------------------- */

static struct age_identities *read_identities(const char *dir, const char *text)
{
    struct age_identities *identities = NULL;
    struct err err = ERR_INIT;
    char *path = scratch_file(dir, "identity", text, strlen(text));
    assert_ok(age_identities_new(NULL, NULL, 0, &identities, &err), &err);
    assert_ok(age_identities_add_file(identities, path, &err), &err);
    free(path);
    return identities;
}

static struct age_recipients *read_recipients(const char *text)
{
    struct age_recipients *r = NULL;
    struct err err = ERR_INIT;
    assert_ok(age_recipients_new(&r, &err), &err);
    assert_ok(age_recipients_add(r, text, "here", &err), &err);
    return r;
}

/* Makes n bytes, each derived from its position. */
static unsigned char *make_plain_bytes(size_t n)
{
    unsigned char *p = malloc(n + 1);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(i * 7 + i / 65536);
    return p;
}

/* Encrypts n bytes to a new file, in pieces of `step`. Returns its path, which the caller frees. */
static char *encrypt_file(const char *dir, const struct age_recipients *recipients, bool armor, size_t n,
                          size_t step)
{
    struct age_writer *w = NULL;
    struct err err = ERR_INIT;
    char *path = file_join(dir, "file.age");
    unsigned char *p = make_plain_bytes(n);
    unlink(path);
    int fd = file_create(path, &err);
    assert_true(fd >= 0);
    assert_ok(age_writer_open(fd, recipients, armor, &w, &err), &err);
    for (size_t at = 0; at < n; at += step)
        assert_ok(age_writer_write(w, p + at, n - at < step ? n - at : step, &err), &err);
    assert_ok(age_writer_finish(w, &err), &err);
    age_writer_free(w);
    fd_close(&fd);
    free(p);
    return path;
}

/* The result of reading a file. */
struct outcome {
    bool whole; /* every byte up to the end of the file was authentic */
    size_t n;   /* bytes read */
    struct err err;
};

/* Reads a file in pieces of `step`, up to its end or an error. */
static struct outcome decrypt_file(const char *path, struct age_identities *identities, size_t step)
{
    struct outcome o = {.err = ERR_INIT};
    struct age_reader *r = NULL;
    unsigned char *chunk = malloc(step), *expected = make_plain_bytes(1 << 20);
    ssize_t n = -1;
    int fd = file_open(path, &o.err);
    assert_true(fd >= 0 && chunk);
    if (age_reader_open(fd, identities, &r, &o.err) == 0)
        while ((n = age_reader_read(r, chunk, step, &o.err)) > 0) {
            assert_true((size_t)n <= step);
            assert_memory_equal(chunk, expected + o.n, (size_t)n); /* every returned byte is authentic */
            o.n += (size_t)n;
        }
    o.whole = n == 0;
    if (r && n < 0) /* each later read fails too */
        assert_int_equal(age_reader_read(r, chunk, step, NULL), -1);
    age_reader_free(r);
    fd_close(&fd);
    free(chunk);
    free(expected);
    return o;
}

static void files_of_any_size_are_decrypted(void **state)
{
    static const size_t ns[] = {0, 1, 65535, 65536, 65537, 131071, 131072, 131073, 300000};
    static const size_t steps[] = {1 << 20, 65536, 65537, 4096, 7777};
    struct age_recipients *recipients = read_recipients(PUBLIC);
    struct age_identities *identities = read_identities(*state, SECRET "\n");
    for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
        for (size_t k = 0; k < 2 * sizeof steps / sizeof *steps; k++) {
            char *path = encrypt_file(*state, recipients, k & 1, ns[i], steps[k / 2]);
            struct outcome o = decrypt_file(path, identities, steps[k / 2]);
            if (!o.whole)
                fail_msg("%zu bytes in steps of %zu: %s", ns[i], steps[k / 2], o.err.msg);
            assert_int_equal(o.n, ns[i]);
            free(path);
        }
    age_recipients_free(recipients);
    age_identities_free(identities);
}

/* Overwrites a file with n bytes, and reads it. */
static struct outcome decrypt_bytes(const char *path, const void *p, size_t n,
                                    struct age_identities *identities)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return decrypt_file(path, identities, 65536);
}

/* A file that was cut, extended, or had chunks exchanged or repeated is refused. */
static void rearranged_files_are_refused(void **state)
{
    struct age_recipients *recipients = read_recipients(PUBLIC);
    struct age_identities *identities = read_identities(*state, SECRET);
    char *path = encrypt_file(*state, recipients, false, 200000, 65536);
    struct buf b = scratch_read(path), other = BUF_INIT(1 << 20);
    size_t first = b.len - (200000 + 4 * AGE_TAG),
           cuts[] = {
               first,     first + 1,      first + AGE_SEALED, first + 2 * AGE_SEALED, first + 3 * AGE_SEALED,
               b.len - 1, b.len - AGE_TAG};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct outcome o = decrypt_bytes(path, b.data, cuts[i], identities);
        assert_false(o.whole);
        assert_true(o.n <= (cuts[i] - first) / AGE_SEALED * AGE_CHUNK);
    }
    static const struct {
        int order[5]; /* of the four chunks; -1: no more */
        size_t n;     /* authentic bytes before the error */
    } rows[] = {{{1, 0, 2, 3, -1}, 0},
                {{0, 2, 1, 3, -1}, 65536},
                {{0, 1, 3, -1}, 131072},
                {{0, 0, 1, 2, 3}, 65536},
                {{0, 1, 2, -1}, 196608},
                {{0, 1, 2, 3, 3}, 196608},
                {{3, -1}, 0},
                {{0, 1, 2, 2, 3}, 196608}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buf_clear(&other);
        buf_add(&other, b.data, first);
        for (size_t k = 0; k < 5 && rows[i].order[k] >= 0; k++) {
            size_t at = first + (size_t)rows[i].order[k] * AGE_SEALED;
            buf_add(&other, b.data + at, b.len - at < AGE_SEALED ? b.len - at : AGE_SEALED);
        }
        struct outcome o = decrypt_bytes(path, other.data, other.len, identities);
        assert_false(o.whole);
        assert_int_equal(o.err.kind, ERR_FAILED);
        assert_int_equal(o.n, rows[i].n);
    }
    buf_add(&b, "x", 1);
    assert_false(decrypt_bytes(path, b.data, b.len, identities).whole);
    buf_release(&b);
    buf_release(&other);
    free(path);
    age_recipients_free(recipients);
    age_identities_free(identities);
}

struct damaged_file {
    const char *path;
    struct age_identities *identities;
    bool armor;
    size_t whole; /* the length of the undamaged file */
};

/* Armor allows white space around it, so its last newline may be missing or changed. */
static void decrypt_damaged(void *ctx, const struct damaged *s)
{
    struct damaged_file *x = ctx;
    struct outcome o = decrypt_bytes(x->path, s->p, s->n, x->identities);
    if (o.whole && !(x->armor && s->at + 1 == x->whole))
        fail_msg("%s at %zu: whole", s->cut ? "cut" : "flipped", s->at);
    assert_true(o.whole || o.err.msg[0]);
}

static void damaged_files_are_refused(void **state)
{
    struct age_recipients *recipients = read_recipients(PUBLIC);
    struct age_identities *identities = read_identities(*state, SECRET);
    for (int armor = 0; armor < 2; armor++) {
        char *path = encrypt_file(*state, recipients, armor, 50, 50);
        struct buf b = scratch_read(path);
        struct damaged_file x = {path, identities, armor, b.len};
        damage_everywhere(b.data, b.len, decrypt_damaged, &x);
        buf_release(&b);
        free(path);
    }
    age_recipients_free(recipients);
    age_identities_free(identities);
}

/* ---- recipients -------------------------------------------------------------------------------------- */

/* Makes the line of an Ed25519 key of these 32 bytes. The caller frees it. */
static char *ed25519_line(const unsigned char raw[32])
{
    struct buf blob = BUF_INIT(100), line = BUF_INIT(200);
    ssh_add_string(&blob, "ssh-ed25519", 11);
    ssh_add_string(&blob, raw, 32);
    buf_adds(&line, "ssh-ed25519 ");
    ssh_base64_add(&line, blob.data, blob.len);
    buf_release(&blob);
    return buf_detach(&line);
}

static void invalid_recipients_are_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {{SECRET, "a secret key"},
                {"age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwk", "mistyped"},
                {"age1", "mistyped"},
                {"age1pq1qqqq", "post-quantum"},
                {"age1tag1qqqq", "hardware"},
                {"age1yubikey1qqqq", "plugins"},
                {"AGE-PLUGIN-X-1QQQ", "plugin's identity"},
                {PUBLIC " " PUBLIC, "there is text after the age1 key"},
                {"", "no recipient"},
                {"\n\n", "no recipient"},
                {PUBLIC "\n" PUBLIC, "more than one line"},
                {"ecdsa-sha2-nistp256 AAAA ann", "ECDSA key, which can sign but not decrypt"},
                {"sk-ssh-ed25519@openssh.com AAAA ann", "security key"},
                {"ssh-ed25519-cert-v01@openssh.com AAAA", "certificate"},
                {"ssh-dss AAAA", "DSA"},
                {"ssh-next AAAA", "does not support"},
                {"ssh-ed25519", "cut or damaged"},
                {"ssh-ed25519 AAA", "cut or damaged"},
                {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==", "damaged"},
                {"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIA==", "but its key is of type ssh-ed25519"},
                {"ssh-rsa AAAAB3NzaC1yc2E=", "damaged"},
                {"hello world", "no recipient"}};
    struct age_recipients *r = NULL;
    struct err err = ERR_INIT;
    (void)state;
    assert_ok(age_recipients_new(&r, &err), &err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(age_recipients_add(r, rows[i].text, "here", &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        assert_contains(err.msg, "here: ");
        assert_contains(err.msg, rows[i].part);
        assert_null(strstr(err.msg, "GFPYYSJZ"));
        assert_null(strstr(err.hint, "GFPYYSJZ"));
    }
    assert_int_equal(age_recipients_count(r), 0);
    age_recipients_free(r);
}

/* No honest key has these points: y = 1 (division by zero), y beyond the field, y of no point; and y = 0,
 * which has a low order, so that its shared secret would be public. */
static void points_of_no_honest_key_are_refused(void **state)
{
    unsigned char bytes[32] = {1}, beyond[32], two[32] = {2}, zero[32] = {0};
    struct age_recipients *r = NULL;
    struct err err = ERR_INIT;
    (void)state;
    memset(beyond, 0xff, sizeof beyond);
    const unsigned char *const rows[] = {bytes, beyond, two};
    assert_ok(age_recipients_new(&r, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        char *line = ed25519_line(rows[i]);
        assert_int_equal(age_recipients_add(r, line, "here", &err), -1);
        assert_contains(err.msg, "damaged");
        free(line);
    }
    char *line = ed25519_line(zero);
    assert_ok(age_recipients_add(r, line, "here", &err), &err);
    free(line);
    struct age_writer *w = NULL;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(age_writer_open(fd, r, false, &w, &err), -1);
    assert_contains(err.msg, "the X25519 share of a stanza is invalid");
    close(fd);
    age_recipients_free(r);
}

static void files_of_recipients_are_read(void **state)
{
    static const char text[] = "# a team\r\n\n" PUBLIC "\n"
                               "  " PUBLIC "  \n"
                               "restrict,command=\"a \\\"b\\\" c\" ssh-ed25519 %s ann@home, at work\n";
    struct age_recipients *r = NULL;
    struct err err = ERR_INIT;
    char *key = format_text("%s/key", *(char **)state), *pub = format_text("%s.pub", key);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ann", "-f", key);
    struct buf b = scratch_read(pub);
    char *base64_text = strndup(b.data + 12, strcspn(b.data + 12, " ")),
         *file = format_text(text, base64_text);
    char *path = scratch_file(*state, "team", file, strlen(file));
    assert_ok(age_recipients_new(&r, &err), &err);
    assert_ok(age_recipients_add_file(r, path, &err), &err);
    assert_ok(age_recipients_add_file(r, pub, &err), &err);
    assert_int_equal(age_recipients_count(r), 2);
    assert_string_equal(age_recipients_name(r, 0), PUBLIC);
    assert_contains(age_recipients_name(r, 1), "ssh-ed25519 SHA256:");
    assert_int_equal(age_recipients_add_file(r, key, &err), -1);
    assert_contains(err.msg, "is a private key");
    free(path);
    path = scratch_file(*state, "team", "# nobody\n", 9);
    assert_int_equal(age_recipients_add_file(r, path, &err), -1);
    assert_contains(err.msg, "contains no recipient");
    free(path);
    path = scratch_file(*state, "team", PUBLIC "\necdsa-sha2-nistp256 AAAA\n", strlen(PUBLIC) + 26);
    assert_int_equal(age_recipients_add_file(r, path, &err), -1);
    assert_contains(err.msg, "team:2: ecdsa-sha2-nistp256");
    free(path);
    path = scratch_file(*state, "team", "age1\0x", 6);
    assert_int_equal(age_recipients_add_file(r, path, &err), -1);
    assert_contains(err.msg, "not text");
    age_recipients_free(r);
    buf_release(&b);
    free(path);
    free(base64_text);
    free(file);
    free(key);
    free(pub);
}

static void a_passphrase_must_be_the_only_recipient(void **state)
{
    struct secret s = {.text = "x", .len = 1}, none = {.len = 0};
    struct age_recipients *r = read_recipients(PUBLIC);
    struct err err = ERR_INIT;
    (void)state;
    assert_int_equal(age_recipients_add_passphrase(r, &s, &err), -1);
    assert_int_equal(age_recipients_add_passphrase(r, &none, &err), -1);
    assert_int_equal(age_recipients_count(r), 1);
    age_recipients_free(r);
    assert_ok(age_recipients_new(&r, &err), &err);
    assert_ok(age_recipients_add_passphrase(r, &s, &err), &err);
    assert_int_equal(age_recipients_add(r, PUBLIC, "here", &err), -1);
    assert_string_equal(age_recipients_name(r, 0), "passphrase");
    age_recipients_free(r);
}

/* ---- identities -------------------------------------------------------------------------------------- */

static void invalid_identities_are_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {{PUBLIC, ":1: this is a recipient"},
                {"# x\nAGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEY",
                 ":2: this is a mistyped identity"},
                {"AGE-SECRET-KEY-PQ-1QQ", "post-quantum"},
                {"AGE-PLUGIN-YUBIKEY-1QQ", "plugin"},
                {"ssh-ed25519 AAAA", "public half"},
                {"# nothing\n", "contains no identity"},
                {"", "contains no identity"},
                {"hello", "no identity"},
                {"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "last line"},
                {"-----BEGIN CERTIFICATE-----\nAAAA\n", "not supported"}};
    struct age_identities *identities = NULL;
    struct err err = ERR_INIT;
    (void)state;
    assert_ok(age_identities_new(NULL, NULL, 0, &identities, &err), &err);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        char *path = scratch_file(*state, "identity", rows[k].text, strlen(rows[k].text));
        assert_int_equal(age_identities_add_file(identities, path, &err), -1);
        assert_contains(err.msg, rows[k].part);
        assert_null(strstr(err.msg, "GFPYYSJZ"));
        free(path);
    }
    char *path = scratch_file(*state, "identity", SECRET "\n\0", strlen(SECRET) + 2);
    assert_int_equal(age_identities_add_file(identities, path, &err), -1);
    assert_contains(err.msg, "not text");
    free(path);
    char *key = format_text("%s/ecdsa", *(char **)state);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", key);
    assert_int_equal(age_identities_add_file(identities, key, &err), -1);
    assert_contains(err.msg, "ecdsa-sha2-nistp256, which cannot decrypt");
    free(key);
    age_identities_free(identities);
}

/* A person who answers from a list. */
struct person {
    const char *const *answers;
    size_t n_asked;
    char prompts[1000];
};

static int answer_question(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    struct person *p = ctx;
    size_t n = strlen(p->prompts);
    snprintf(p->prompts + n, sizeof p->prompts - n, "%s\n", file_base(q->prompt));
    if (q->kind == ASK_NOTICE)
        return 0;
    const char *text = p->answers[p->n_asked++];
    if (!text)
        return err_set(err, ERR_NOT_FOUND, "there is no terminal to ask on");
    *ret = (struct secret){.len = strlen(text)};
    memcpy(ret->text, text, ret->len);
    return 0;
}

static struct age_identities *new_asking_identities(struct person *p)
{
    struct age_identities *identities = NULL;
    struct err err = ERR_INIT;
    assert_ok(age_identities_new(answer_question, p, 1000, &identities, &err), &err);
    return identities;
}

/* profgrab asks for the passphrase of a key only if a file has a stanza for the key: once, or up to three
 * times if the answer is wrong. */
static void ssh_keys_are_recipients_and_identities(void **state)
{
    static const char *const types[] = {"ed25519", "rsa"};
    for (size_t t = 0; t < 2; t++) {
        struct err err = ERR_INIT;
        struct age_recipients *r = NULL;
        char *open_key = format_text("%s/open-%s", *(char **)state, types[t]),
             *locked = format_text("%s/locked-%s", *(char **)state, types[t]);
        char *open_pub = format_text("%s.pub", open_key), *locked_pub = format_text("%s.pub", locked);
        RUN_PROGRAM("ssh-keygen", "-q", "-t", types[t], "-b", "2048", "-N", "", "-f", open_key);
        RUN_PROGRAM("ssh-keygen", "-q", "-t", types[t], "-b", "2048", "-a", "1", "-N", "secret", "-f",
                    locked);
        assert_ok(age_recipients_new(&r, &err), &err);
        assert_ok(age_recipients_add_file(r, open_pub, &err), &err);
        char *path = encrypt_file(*state, r, false, 1000, 1000);
        struct person p = {.answers = (const char *const[]){"wrong", "wronger", "secret", NULL}};
        struct age_identities *identities = new_asking_identities(&p);
        assert_ok(age_identities_add_file(identities, locked, &err), &err);
        struct outcome o = decrypt_file(path, identities, 100);
        assert_int_equal(p.n_asked, 0);
        assert_int_equal(o.err.kind, ERR_NO_KEY);
        assert_contains(o.err.msg, types[t]);
        assert_ok(age_identities_add_file(identities, open_key, &err), &err);
        assert_true(decrypt_file(path, identities, 100).whole);
        assert_ok(age_recipients_add_file(r, locked_pub, &err), &err);
        free(path);
        path = encrypt_file(*state, r, false, 1000, 1000);
        assert_true(decrypt_file(path, identities, 100).whole); /* the key without a passphrase opens it */
        assert_int_equal(p.n_asked, 0);
        age_identities_free(identities);
        identities = new_asking_identities(&p);
        assert_ok(age_identities_add_file(identities, locked, &err), &err);
        assert_true(decrypt_file(path, identities, 100).whole);
        assert_true(decrypt_file(path, identities, 100).whole);
        assert_int_equal(p.n_asked, 3);
        age_identities_free(identities);
        p = (struct person){.answers = (const char *const[]){"a", "b", "c", "secret"}};
        identities = new_asking_identities(&p);
        assert_ok(age_identities_add_file(identities, locked, &err), &err);
        o = decrypt_file(path, identities, 100);
        assert_int_equal(p.n_asked, 3);
        assert_contains(o.err.msg, "does not open");
        age_identities_free(identities);
        age_recipients_free(r);
        free(path);
        free(open_key);
        free(open_pub);
        free(locked);
        free(locked_pub);
    }
}

/* Copies the file with n stanzas before its own. They name the same RSA key, but no key opens them. */
static char *add_decoy_stanzas(const char *dir, const char *path, int n)
{
    static const char row[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";
    struct buf whole = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    assert_ok(file_read(path, &whole, &err), &err);
    const char *stanza = buf_str(&whole) + strlen(AGE_VERSION_LINE);
    size_t line = strcspn(stanza, "\n") + 1;
    buf_adds(&b, AGE_VERSION_LINE);
    for (int i = 0; i < n; i++) {
        buf_add(&b, stanza, line);
        for (int k = 0; k < 5; k++)
            buf_adds(&b, row);
        buf_adds(&b, "AAAAAAAAAAAAAAAAAAAAAA\n");
    }
    buf_add(&b, stanza, whole.len - strlen(AGE_VERSION_LINE));
    char *with_decoys = scratch_file(dir, "decoys", b.data, b.len);
    buf_release(&whole);
    buf_release(&b);
    return with_decoys;
}

/* An attempt with an RSA key takes milliseconds, or a second if the key is large. A header of a thousand
 * stanzas would take minutes. */
static void few_stanzas_of_an_rsa_key_are_tried(void **state)
{
    struct err err = ERR_INIT;
    struct age_recipients *r = NULL;
    struct age_identities *identities = NULL;
    char *key = format_text("%s/%s", *(char **)state, "key"), *pub = format_text("%s.pub", key);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", key);
    assert_ok(age_recipients_new(&r, &err), &err);
    assert_ok(age_recipients_add_file(r, pub, &err), &err);
    assert_ok(age_identities_new(NULL, NULL, 0, &identities, &err), &err);
    assert_ok(age_identities_add_file(identities, key, &err), &err);
    char *path = encrypt_file(*state, r, false, 1000, 1000);
    for (int n = 7; n <= 8; n++) {
        char *with_decoys = add_decoy_stanzas(*state, path, n);
        struct outcome o = decrypt_file(with_decoys, identities, 100);
        assert_false(o.whole);
        assert_contains(o.err.msg, n == 7 ? "changed" : "none of the keys tried opens it");
        free(with_decoys);
    }
    age_identities_free(identities);
    age_recipients_free(r);
    free(path);
    free(key);
    free(pub);
}

/* ---- passphrases ------------------------------------------------------------------------------------- */

/* Writes a file with a passphrase and a low work factor, because a normal one takes a second each time. */
static char *write_scrypt_file(const char *dir, const char *name, const char *passphrase, const char *text)
{
    unsigned char file_key[AGE_FILE_KEY] = {1, 2, 3}, nonce[AGE_NONCE] = {4}, sealed[1000];
    struct secret s = {.len = strlen(passphrase)};
    struct age_stream *stream = NULL;
    struct buf b = BUF_INIT(10000);
    struct err err = ERR_INIT;
    memcpy(s.text, passphrase, s.len);
    buf_adds(&b, AGE_VERSION_LINE);
    assert_ok(age_scrypt_wrap(&s, 4, file_key, &b, &err), &err);
    assert_ok(age_header_finish(&b, file_key, &err), &err);
    buf_add(&b, nonce, sizeof nonce);
    assert_ok(age_stream_new(file_key, nonce, &stream, &err), &err);
    assert_ok(age_stream_seal(stream, (struct age_bytes){text, strlen(text)}, true, sealed, &err), &err);
    buf_add(&b, sealed, strlen(text) + AGE_TAG);
    age_stream_free(stream);
    char *path = scratch_file(dir, name, b.data, b.len);
    buf_release(&b);
    return path;
}

/* The creator of a file chooses scrypt's work factor. A high one is refused before a passphrase is asked for
 * and before memory is allocated; age's own factor is accepted. */
static void too_high_scrypt_work_factors_are_refused_without_a_prompt(void **state)
{
    static const struct {
        unsigned log_n;
        const char *prompts;
    } cases[] = {
        {23, ""},
        {22, "profgrab: opening the file takes about 4.3 GB of memory and 14s for each passphrase tried\n"
             "Enter passphrase: \n"},
        {19, "profgrab: opening the file takes about 536.9 MB of memory and 1.7s for each passphrase tried\n"
             "Enter passphrase: \n"},
        {18, "Enter passphrase: \n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(1000);
        struct person p = {.answers = (const char *const[]){NULL}};
        struct age_identities *identities = new_asking_identities(&p);
        buf_addf(&b,
                 "%s-> scrypt AAAAAAAAAAAAAAAAAAAAAA %u\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"
                 "--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
                 AGE_VERSION_LINE, cases[i].log_n);
        char *path = scratch_file(*state, "cost", b.data, b.len);
        struct outcome o = decrypt_file(path, identities, 100);
        assert_contains(o.err.msg, cases[i].log_n > 22 ? "the scrypt cost is too high"
                                                       : "there is no terminal to ask on");
        assert_string_equal(p.prompts, cases[i].prompts);
        age_identities_free(identities);
        buf_release(&b);
        free(path);
    }
}

static void a_passphrase_is_asked_for_until_it_is_right(void **state)
{
    char *path = write_scrypt_file(*state, "x", "secret", "");
    struct person p = {.answers = (const char *const[]){"wrong", "secret", "a", "b", "c", NULL}};
    struct age_identities *identities = new_asking_identities(&p), *nobody = NULL;
    struct err err = ERR_INIT;
    assert_true(decrypt_file(path, identities, 100).whole);
    assert_string_equal(p.prompts, "Enter passphrase: \nEnter passphrase: \n");
    /* These identities keep the file key. New identities ask again. */
    age_identities_free(identities);
    identities = new_asking_identities(&p);
    struct outcome o = decrypt_file(path, identities, 100);
    assert_string_equal(o.err.msg, "the passphrase does not open the file");
    o = decrypt_file(path, identities, 100);
    assert_int_equal(o.err.kind, ERR_NOT_FOUND);
    assert_string_equal(o.err.msg, "the passphrase of the file: there is no terminal to ask on");
    assert_ok(age_identities_new(NULL, NULL, 0, &nobody, &err), &err);
    o = decrypt_file(path, nobody, 100);
    assert_contains(o.err.msg, "it is encrypted to a passphrase");
    o = decrypt_file(path, NULL, 100);
    assert_int_equal(o.err.kind, ERR_NO_KEY);
    assert_contains(o.err.msg, "it is encrypted to a passphrase");
    age_identities_free(nobody);
    age_identities_free(identities);
    free(path);
}

static void an_encrypted_identity_file_asks_once(void **state)
{
    struct person p = {.answers = (const char *const[]){"secret", NULL}};
    struct age_recipients *r = read_recipients(PUBLIC);
    struct err err = ERR_INIT;
    char *sealed = write_scrypt_file(*state, "sealed", "secret", "# mine\n" SECRET "\n");
    char *path = encrypt_file(*state, r, true, 1000, 1000);
    struct age_identities *identities = new_asking_identities(&p);
    assert_ok(age_identities_add_file(identities, sealed, &err), &err);
    assert_int_equal(p.n_asked, 0);
    assert_true(decrypt_file(path, identities, 100).whole);
    assert_true(decrypt_file(path, identities, 100).whole);
    assert_string_equal(p.prompts, "sealed': \n");
    age_identities_free(identities);
    free(sealed);
    /* A content that is not an identity is not printed. */
    sealed = write_scrypt_file(*state, "sealed", "secret", "my diary\n");
    p = (struct person){.answers = (const char *const[]){"secret", NULL}};
    identities = new_asking_identities(&p);
    assert_ok(age_identities_add_file(identities, sealed, &err), &err);
    struct outcome o = decrypt_file(path, identities, 100);
    assert_false(o.whole);
    assert_contains(o.err.msg, "sealed:1: this is no identity");
    assert_null(strstr(o.err.msg, "diary"));
    age_identities_free(identities);
    age_recipients_free(r);
    free(sealed);
    free(path);
}

/* ---- headers ----------------------------------------------------------------------------------------- */

#define SHARE "TEiF0ypqr+bpvcqXNyCVJpL7OuwPdVwPL7KQEbFDOCc"
#define BODY "hjabGXwSLQ9c3S6Lw2i+S2Tu2fiwQHHslbBN6B41FLE"
#define MAC "--- WyJp9F/9FOZh7gJdheq2WIJcwHgYc8NIVh3ddwhrcNg\n"
#define GOOD AGE_VERSION_LINE "-> X25519 " SHARE "\n" BODY "\n-> ssh-rsa AAAAAA\nAAAA\n-> grease x\n\n" MAC

static void parse_damaged_header(void *ctx, const struct damaged *s)
{
    struct age_header h;
    struct err err = ERR_INIT;
    (void)ctx;
    if (age_header_parse(s->p, s->n, &h, &err) < 0) {
        assert_true(err.msg[0]);
        return;
    }
    assert_false(s->cut);
    assert_true(h.n > 0 && h.n_covered < s->n);
    age_header_release(&h);
}

static void headers_are_read(void **state)
{
    struct age_header h;
    struct err err = ERR_INIT;
    char name[80];
    (void)state;
    assert_ok(age_header_parse(GOOD, strlen(GOOD), &h, &err), &err);
    assert_int_equal(h.n, 3);
    assert_int_equal(h.stanzas[0].kind, AGE_X25519);
    assert_int_equal(h.stanzas[1].kind, AGE_SSH_RSA);
    assert_int_equal(h.stanzas[2].kind, AGE_OTHER);
    assert_string_equal(age_stanza_name(&h.stanzas[0], name, sizeof name), "X25519");
    assert_string_equal(age_stanza_name(&h.stanzas[1], name, sizeof name), "ssh-rsa SHA256:AAAAA...");
    assert_string_equal(age_stanza_name(&h.stanzas[2], name, sizeof name), "grease");
    age_header_release(&h);
    damage_everywhere(GOOD, strlen(GOOD), parse_damaged_header, NULL);
}

/* The number of stanzas is limited. The body of an unknown kind may be long. */
static void headers_with_too_many_stanzas_are_refused(void **state)
{
    struct buf b = BUF_INIT(8 << 20);
    struct age_header h;
    struct err err = ERR_INIT;
    (void)state;
    buf_adds(&b, AGE_VERSION_LINE "-> long\n");
    for (int i = 0; i < 10000; i++)
        buf_adds(&b, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n");
    buf_adds(&b, "\n" MAC);
    assert_ok(age_header_parse(b.data, b.len, &h, &err), &err);
    age_header_release(&h);
    buf_clear(&b);
    buf_adds(&b, AGE_VERSION_LINE);
    for (int i = 0; i < AGE_STANZAS_MAX + 1; i++)
        buf_adds(&b, "-> x\n\n");
    buf_adds(&b, MAC);
    assert_int_equal(age_header_parse(b.data, b.len, &h, &err), -1);
    assert_contains(err.msg, "too many stanzas");
    buf_release(&b);
}

static void encrypted_files_are_recognized(void **state)
{
    (void)state;
    assert_true(age_is_encrypted(GOOD, strlen(GOOD)));
    assert_true(age_is_encrypted("\n  -----BEGIN AGE ENCRYPTED FILE-----\n", 38));
    assert_false(age_is_encrypted(GOOD, 10));
    assert_false(age_is_encrypted("", 0));
    assert_false(age_is_encrypted("-----BEGIN OPENSSH PRIVATE KEY-----\n", 36));
    assert_false(age_is_encrypted("\x1f\x8b", 2));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_canonical_base64_is_decoded),
        cmocka_unit_test(keys_in_bech32_are_decoded),
        SCRATCH(files_of_any_size_are_decrypted),
        SCRATCH(rearranged_files_are_refused),
        SCRATCH(damaged_files_are_refused),
        cmocka_unit_test(invalid_recipients_are_refused),
        cmocka_unit_test(points_of_no_honest_key_are_refused),
        SCRATCH(files_of_recipients_are_read),
        cmocka_unit_test(a_passphrase_must_be_the_only_recipient),
        SCRATCH(invalid_identities_are_refused),
        SCRATCH(ssh_keys_are_recipients_and_identities),
        SCRATCH(few_stanzas_of_an_rsa_key_are_tried),
        SCRATCH(too_high_scrypt_work_factors_are_refused_without_a_prompt),
        SCRATCH(a_passphrase_is_asked_for_until_it_is_right),
        SCRATCH(an_encrypted_identity_file_asks_once),
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(headers_with_too_many_stanzas_are_refused),
        cmocka_unit_test(encrypted_files_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
