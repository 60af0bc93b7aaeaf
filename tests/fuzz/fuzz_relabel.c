/*
 * An untrusted profile with an added label and an added string that redaction must remove: the output has
 * neither, each removed label reads [redacted], and a second redaction finds the same labels and no string.
 */
#include "tests/fuzz/fuzz.h"

#include "bundle/redact/redact.h"
#include "proto/proto.h"
#include "proto/wire.h"
#include "base/banned.h"

#define VALUE "planted-value-of-a-label"
#define WORD "planted0word"

struct bytes {
    const void *p;
    size_t n;
};

static int read_input(void *ctx, gunzip_sink_fn *sink, void *sink_ctx, struct err *err)
{
    const struct bytes *b = ctx;
    for (size_t at = 0, n; at < b->n; at += n) {
        n = b->n - at < 4099 ? b->n - at : 4099;
        if (sink(sink_ctx, (const char *)b->p + at, n, err) < 0)
            return -1;
    }
    return 0;
}

static int keep_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "it", err);
}

static bool is_secret_label(void *ctx, const char *key, size_t n)
{
    (void)ctx;
    return redact_is_secret_label(NULL, key, n);
}

static bool rewrite_text(void *ctx, const char *text, size_t n, struct buf *ret)
{
    struct redact_tally tally = {{0}};
    const struct redact_output into = {.out = ret, .tally = &tally};
    (void)ctx;
    redact_text((struct str){text, n}, &into);
    return redact_sum(&tally) > 0;
}

static int relabel_profile(const void *p, size_t n, struct buf *out, struct profile_relabelled *ret,
                           struct err *err)
{
    struct bytes in = {p, n};
    struct profile_relabel options = {.is_replaced = is_secret_label,
                                      .rewrite = rewrite_text,
                                      .text = REDACTED,
                                      .source = read_input,
                                      .source_ctx = &in,
                                      .sink = keep_bytes,
                                      .sink_ctx = out};
    return profile_relabel(&options, ret, err);
}

/* ---- the secrets that the test adds -------------------------------------------------------------------- */

static void append_bytes(struct buf *b, unsigned number, const void *p, size_t n)
{
    wire_append_number(b, number << 3 | 2);
    wire_append_number(b, n);
    buf_add(b, p, n);
}

static size_t count_strings(const uint8_t *p, size_t n)
{
    struct wire w = wire_of(p, n);
    struct wire_field f;
    size_t count = 0;
    while (w.p < w.end && wire_read_field(&w, &f))
        count += f.number == 6;
    return count;
}

/* Copies the input. Adds filler strings, so that fields of the input are unlikely to refer to the strings
 * after them. Then adds a sample with one label, which redaction must remove, and a string that a rule of
 * redaction matches. */
static void plant_label(const uint8_t *p, size_t n, struct buf *b)
{
    uint64_t hash = UINT64_C(14695981039346656037), at = count_strings(p, n);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    buf_add(b, p, n);
    for (size_t i = 0, skip = 300 + hash % 1000; i < skip; i++, at++)
        append_bytes(b, 6, "-", 1);
    struct buf label = BUF_INIT(64), sample = BUF_INIT(128);
    wire_append_number(&label, 1 << 3);
    wire_append_number(&label, at);
    wire_append_number(&label, 2 << 3);
    wire_append_number(&label, at + 1);
    append_bytes(&sample, 3, label.data, label.len);
    append_bytes(b, 2, sample.data, sample.len);
    append_bytes(b, 6, "user", 4);
    append_bytes(b, 6, VALUE, strlen(VALUE));
    append_bytes(b, 6, "/x?token=" WORD "&y", strlen("/x?token=" WORD "&y"));
    buf_release(&label);
    buf_release(&sample);
}

/* ---- the checks of the output -------------------------------------------------------------------------- */

static void expect_removed(const struct buf *out)
{
    assert(!memmem(out->data, out->len, VALUE, strlen(VALUE)));
    assert(!memmem(out->data, out->len, WORD, strlen(WORD)));
}

/* Redaction adds the replacement text, to which removed labels refer, as the last string. */
static void expect_last_string(const struct buf *out)
{
    struct wire w = wire_of(out->data, out->len);
    struct wire_field f, last = {0};
    while (w.p < w.end && wire_read_field(&w, &f))
        if (f.number == 6)
            last = f;
    assert(last.n == strlen(REDACTED) && memcmp(last.p, REDACTED, last.n) == 0);
}

static void expect_profile(const struct buf *b)
{
    struct profile_summary sum;
    struct profile_scan *s = profile_scan_new(NULL);
    assert(s && profile_scan_feed(s, b->data, b->len, NULL) == 0 && profile_scan_finish(s, &sum, NULL) == 0);
    profile_scan_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct buf in = BUF_INIT(32u << 20), out = BUF_INIT(256u << 20), again = BUF_INIT(256u << 20);
    struct profile_relabelled result = {0}, second = {0};
    struct err err = ERR_INIT;
    if (n > 1u << 20)
        return 0;
    plant_label(p, n, &in);
    if (relabel_profile(in.data, in.len, &out, &result, &err) < 0) {
        fuzz_expect_err(&err);
    } else {
        assert(result.labels > 0 && result.strings > 0);
        expect_removed(&out);
        expect_last_string(&out);
        expect_profile(&out);
        assert(relabel_profile(out.data, out.len, &again, &second, &err) == 0);
        assert(second.labels == result.labels && second.strings == 0);
    }
    buf_release(&in);
    buf_release(&out);
    buf_release(&again);
    return 0;
}
