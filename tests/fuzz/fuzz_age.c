/*
 * Parses everything of the age format. The first byte chooses: `h` a header, `a` armor, `i` a file of
 * identities, `r` a line of recipients, anything else a whole file, which our identity can decrypt. No
 * passphrase is available, so scrypt never runs.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "seal/age.h"
#include "seal/age_armor.h"
#include "seal/age_header.h"
#include "seal/age_identity.h"
#include "base/banned.h"

/* The identity of the specification's example, to which the seeds are encrypted. */
#define SECRET "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"

static int make_file(const uint8_t *p, size_t n)
{
    int fd = memfd_create("age", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, p, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static void check_header(const uint8_t *p, size_t n)
{
    struct age_header h = {.n = 0};
    struct err err = ERR_INIT;
    if (age_header_parse(p, n, &h, &err) < 0) {
        fuzz_expect_err(&err);
        assert(!h.stanzas);
        return;
    }
    assert(h.n > 0 && h.n <= AGE_STANZAS_MAX && h.n_covered < n);
    for (size_t i = 0; i < h.n; i++) {
        char name[80];
        const struct age_stanza *s = &h.stanzas[i];
        assert(fuzz_is_printable(age_stanza_name(s, name, sizeof name)) && name[0]);
        assert(s->kind == AGE_OTHER ? !s->body : s->body && s->n_body > 0 && s->n_body <= AGE_BODY_MAX);
        assert(s->kind != AGE_SCRYPT || (h.n == 1 && s->log_n >= 1 && s->log_n <= AGE_SCRYPT_LOG_MAX));
    }
    age_header_release(&h);
}

/* Reading the armor in large and in small pieces gives equally many bytes, at most as many as the input. */
static void check_armor(const uint8_t *p, size_t n)
{
    size_t total[2] = {0, 0};
    int results[2];
    for (int pass = 0; pass < 2; pass++) {
        unsigned char chunk[4096];
        struct age_input *in = NULL;
        struct err err = ERR_INIT;
        int fd = make_file(p, n);
        size_t piece = pass ? sizeof chunk : 7, got = piece;
        results[pass] = age_input_new(fd, -1, &in, &err);
        while (results[pass] == 0 && got == piece) {
            results[pass] = age_input_read(in, chunk, piece, &got, &err);
            total[pass] += results[pass] == 0 ? got : 0;
        }
        if (results[pass] < 0)
            fuzz_expect_err(&err);
        age_input_free(in);
        close(fd);
    }
    assert(results[0] == results[1] && total[0] <= n);
    assert(results[0] < 0 || total[0] == total[1]);
}

static void check_identities(const uint8_t *p, size_t n)
{
    struct age_identities *identities = NULL;
    struct err err = ERR_INIT;
    assert(age_identities_new(NULL, NULL, 0, &identities, &err) == 0);
    if (age_identities_parse(identities, p, n, "/nowhere/identity", &err) < 0)
        fuzz_expect_err(&err);
    else
        assert(identities->n > 0);
    age_identities_free(identities);
}

static void check_recipient(const uint8_t *p, size_t n)
{
    struct age_recipients *r = NULL;
    struct err err = ERR_INIT;
    char *text = strndup((const char *)p, n);
    assert(text && age_recipients_new(&r, &err) == 0);
    if (age_recipients_add(r, text, "here", &err) < 0)
        fuzz_expect_err(&err);
    else
        assert(age_recipients_count(r) == 1 && fuzz_is_printable(age_recipients_name(r, 0)));
    age_recipients_free(r);
    free(text);
}

static void decrypt_input(const uint8_t *p, size_t n)
{
    unsigned char chunk[1000];
    struct age_identities *identities = NULL;
    struct age_reader *r = NULL;
    struct err err = ERR_INIT;
    ssize_t got = -1;
    size_t total = 0;
    int fd = make_file(p, n);
    assert(age_identities_new(NULL, NULL, 0, &identities, &err) == 0);
    assert(age_identities_parse(identities, SECRET, strlen(SECRET), "secret", &err) == 0);
    if (age_reader_open(fd, identities, &r, &err) == 0)
        while ((got = age_reader_read(r, chunk, sizeof chunk, &err)) > 0)
            total += (size_t)got;
    if (got < 0)
        fuzz_expect_err(&err);
    assert(total <= n && (!r || age_is_encrypted(p, n)));
    age_reader_free(r);
    age_identities_free(identities);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    if (p[0] == 'h')
        check_header(p + 1, n - 1);
    else if (p[0] == 'a')
        check_armor(p + 1, n - 1);
    else if (p[0] == 'i')
        check_identities(p + 1, n - 1);
    else if (p[0] == 'r')
        check_recipient(p + 1, n - 1);
    else
        decrypt_input(p + 1, n - 1);
    return 0;
}
