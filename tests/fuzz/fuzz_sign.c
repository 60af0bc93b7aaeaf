/*
 * Signatures and the redaction of a copy. The first byte chooses: `s` an armored signature, `b` a
 * signature's body, armored here, `c` a command line, `d` lines of a goroutine dump, anything else a profile.
 */
#include "tests/fuzz/fuzz.h"

#include "bundle/redact/redact.h"
#include "proto/proto.h"
#include "seal/sshsig.h"
#include "tests/unit/profiles.h"
#include "base/banned.h"

static void check_signature(const void *p, size_t n)
{
    struct sshsig s = {0};
    struct err err = ERR_INIT;
    if (sshsig_parse(p, n, &s, &err) < 0) {
        fuzz_expect_err(&err);
        assert(!s.key.data && !s.signature.data);
        return;
    }
    assert(s.namespace[0] && fuzz_is_printable(s.namespace) && fuzz_is_printable(s.type));
    if (sshsig_verify(&s, "message", 7, &err) < 0)
        fuzz_expect_err(&err);
    sshsig_release(&s);
}

static void check_body(const uint8_t *p, size_t n)
{
    struct buf b = BUF_INIT(65536);
    buf_adds(&b, "-----BEGIN SSH SIGNATURE-----\n");
    ssh_base64_add(&b, p, n);
    buf_adds(&b, "\n-----END SSH SIGNATURE-----\n");
    if (!b.failed)
        check_signature(b.data, b.len);
    buf_release(&b);
}

/* Redacts the command line and then the result. A redaction that counts nothing changes nothing. */
static void check_cmdline(const uint8_t *p, size_t n)
{
    struct buf once = BUF_INIT(16 * n + 64), twice = BUF_INIT(256 * n + 1024);
    struct redact_tally tally = {{0}}, again = {{0}};
    redact_cmdline(p, n, &once, &tally);
    assert(!once.failed);
    if (redact_sum(&tally) == 0)
        assert(once.len == n && (n == 0 || memcmp(once.data, p, n) == 0));
    redact_cmdline(buf_str(&once), once.len, &twice, &again);
    assert(!twice.failed);
    buf_release(&once);
    buf_release(&twice);
}

static void check_dump(const uint8_t *p, size_t n)
{
    struct buf once = BUF_INIT(16 * n + 64), twice = BUF_INIT(256 * n + 1024);
    struct redact_tally tally = {{0}}, again = {{0}};
    struct redact_dump d = REDACT_DUMP_INIT(NULL, &tally), e = REDACT_DUMP_INIT(NULL, &again);
    redact_dump(&d, (const char *)p, n, &once);
    for (size_t at = 0; at < once.len; at++)
        redact_dump(&e, once.data + at, 1, &twice);
    assert(!once.failed && !twice.failed && once.len == twice.len);
    assert(tally.n[REDACT_LABEL] == again.n[REDACT_LABEL]);
    assert(once.len == 0 || memcmp(once.data, twice.data, once.len) == 0);
    buf_release(&once);
    buf_release(&twice);
}

static void scan_profile(const struct buf *b)
{
    struct profile_summary sum;
    struct profile_scan *s = profile_scan_new(NULL);
    assert(s && profile_scan_feed(s, b->data, b->len, NULL) == 0 && profile_scan_finish(s, &sum, NULL) == 0);
    profile_scan_free(s);
}

/* The output is a valid profile. */
static void check_profile(const uint8_t *p, size_t n)
{
    struct buf b = BUF_INIT(16u << 20);
    struct bytes in = {p, n, 0};
    struct err err = ERR_INIT;
    uint64_t labels = 0;
    if (relabel(&in, &b, &labels, &err) < 0)
        fuzz_expect_err(&err);
    else if (labels > 0)
        scan_profile(&b);
    else
        assert(b.len == 0);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    switch (p[0]) {
    case 's':
        check_signature(p + 1, n - 1);
        break;
    case 'b':
        check_body(p + 1, n - 1);
        break;
    case 'c':
        check_cmdline(p + 1, n - 1);
        break;
    case 'd':
        check_dump(p + 1, n - 1);
        break;
    default:
        check_profile(p + 1, n - 1);
    }
    return 0;
}
