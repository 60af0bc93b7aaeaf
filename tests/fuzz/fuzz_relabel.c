/*
 * A valid profile, to which this file adds a label and a string that redaction must remove: the output has
 * neither, each removed label reads [redacted], and a second redaction finds the same labels and no string.
 * Any other input is refused with a message.
 */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>

#include "bundle/redact/redact.h"
#include "proto/proto.h"
#include "proto/protobuf.h"
#include "base/banned.h"

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

static int add_to_buf(void *ctx, const void *p, size_t n, struct err *err)
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
                                      .sink = add_to_buf,
                                      .sink_ctx = out};
    return profile_relabel(&options, ret, err);
}

/* ---- the secrets that the test adds -------------------------------------------------------------------- */

static void append_bytes(struct buf *b, unsigned number, const void *p, size_t n)
{
    protobuf_append_number(b, number << 3 | 2);
    protobuf_append_number(b, n);
    buf_add(b, p, n);
}

/* The secrets. They depend on the whole input, so that no input can contain them. */
struct secrets {
    char value[64]; /* of a label */
    char word[64];  /* of a parameter in a URL */
};

static void choose_secrets(const uint8_t *p, size_t n, struct secrets *ret)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    snprintf(ret->value, sizeof ret->value, "value-%016" PRIx64, hash);
    snprintf(ret->word, sizeof ret->word, "word0%016" PRIx64, hash);
}

static size_t count_fields(const uint8_t *p, size_t n, unsigned number)
{
    struct protobuf w = protobuf_of(p, n);
    struct protobuf_field f;
    size_t count = 0;
    while (w.p < w.end && protobuf_read_field(&w, &f))
        count += f.number == number;
    return count;
}

/* Copies a valid profile. Adds a sample with one label, which redaction must remove, and a string that a rule
 * of redaction matches. */
static void plant_label(const uint8_t *p, size_t n, const struct secrets *secrets, struct buf *b)
{
    size_t at = count_fields(p, n, 6);
    struct buf label = BUF_INIT(64), values = BUF_INIT(1 << 20), sample = BUF_INIT(2 << 20),
               url = BUF_INIT(128);
    buf_add(b, p, n);
    protobuf_append_number(&label, 1 << 3);
    protobuf_append_number(&label, at);
    protobuf_append_number(&label, 2 << 3);
    protobuf_append_number(&label, at + 1);
    for (size_t i = count_fields(p, n, 1); i > 0; i--)
        protobuf_append_number(&values, 1);
    append_bytes(&sample, 2, values.data, values.len);
    append_bytes(&sample, 3, label.data, label.len);
    append_bytes(b, 2, sample.data, sample.len);
    append_bytes(b, 6, "user", 4);
    append_bytes(b, 6, secrets->value, strlen(secrets->value));
    buf_addf(&url, "/x?token=%s&y", secrets->word);
    append_bytes(b, 6, url.data, url.len);
    buf_release(&label);
    buf_release(&values);
    buf_release(&sample);
    buf_release(&url);
}

/* ---- the checks of the output -------------------------------------------------------------------------- */

static void expect_removed(const struct buf *out, const struct secrets *secrets)
{
    assert(!memmem(out->data, out->len, secrets->value, strlen(secrets->value)));
    assert(!memmem(out->data, out->len, secrets->word, strlen(secrets->word)));
}

/* Redaction adds the replacement text, to which removed labels refer, as the last string. */
static void expect_last_string(const struct buf *out)
{
    struct protobuf w = protobuf_of(out->data, out->len);
    struct protobuf_field f, last = {0};
    while (w.p < w.end && protobuf_read_field(&w, &f))
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

static void expect_redacted(const struct buf *in, const struct secrets *secrets)
{
    struct buf out = BUF_INIT(256u << 20), again = BUF_INIT(256u << 20);
    struct profile_relabelled result = {0}, second = {0};
    struct err err = ERR_INIT;
    assert(relabel_profile(in->data, in->len, &out, &result, &err) == 0);
    assert(result.labels > 0 && result.strings > 0);
    expect_removed(&out, secrets);
    expect_last_string(&out);
    expect_profile(&out);
    assert(relabel_profile(out.data, out.len, &again, &second, &err) == 0);
    assert(second.labels == result.labels && second.strings == 0);
    buf_release(&out);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct buf alone = BUF_INIT(256u << 20), in = BUF_INIT(32u << 20);
    struct profile_relabelled result = {0};
    struct secrets secrets;
    struct err err = ERR_INIT;
    if (n > 1u << 20)
        return 0;
    if (relabel_profile(p, n, &alone, &result, &err) < 0) {
        fuzz_expect_err(&err);
    } else {
        choose_secrets(p, n, &secrets);
        plant_label(p, n, &secrets, &in);
        expect_redacted(&in, &secrets);
    }
    buf_release(&alone);
    buf_release(&in);
    return 0;
}
