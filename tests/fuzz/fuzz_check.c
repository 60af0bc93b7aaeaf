/*
 * Bodies of every format; the first byte chooses the format. The check gets the body whole, and in pieces
 * whose sizes depend on the bytes: both results must be equal.
 */
#include "tests/fuzz/fuzz.h"

#include "fetch/body/check.h"
#include "base/banned.h"

static int run_check(enum body_format format, const uint8_t *p, size_t n, bool whole,
                     struct check_result *ret)
{
    struct err err = ERR_INIT;
    struct check *c = check_new(format, &err);
    assert(c);
    for (size_t at = 0; at < n;) {
        size_t piece = whole ? n : 1u + p[at] % 32;
        if (piece > n - at)
            piece = n - at;
        assert(check_feed(c, p + at, piece, &err) == 0);
        at += piece;
    }
    int rc = check_finish(c, ret, &err);
    if (rc < 0) {
        fuzz_expect_err(&err);
        assert(err.kind == ERR_FAILED);
    }
    check_free(c);
    return rc;
}

static void expect_valid_summary(const struct profile_summary *s)
{
    assert(s->n_types <= PROFILE_MAX_SAMPLE_TYPES);
    assert(memchr(s->build_id, '\0', sizeof s->build_id) && fuzz_is_printable(s->build_id));
    for (size_t i = 0; i < s->n_types; i++)
        assert(fuzz_is_printable(s->types[i].type) && fuzz_is_printable(s->types[i].unit));
}

static void expect_equal(const struct check_result *a, const struct check_result *b)
{
    const struct profile_summary *x = &a->profile, *y = &b->profile;
    assert(a->has_profile == b->has_profile && a->trace_minor == b->trace_minor);
    assert(strcmp(a->beginning, b->beginning) == 0);
    assert(x->samples == y->samples && x->locations == y->locations && x->functions == y->functions);
    assert(x->mappings == y->mappings && x->n_types == y->n_types && x->time_ns == y->time_ns);
    assert(x->duration_ns == y->duration_ns && x->period == y->period);
    assert(strcmp(x->build_id, y->build_id) == 0);
    for (size_t i = 0; i < x->n_types; i++)
        assert(x->types[i].total == y->types[i].total && strcmp(x->types[i].type, y->types[i].type) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const enum body_format formats[] = {BODY_PPROF, BODY_TRACE, BODY_TEXT, BODY_RAW};
    if (n == 0)
        return 0;
    enum body_format format = formats[p[0] % 4];
    struct check_result whole, pieces;
    int rc = run_check(format, p + 1, n - 1, true, &whole);
    assert(run_check(format, p + 1, n - 1, false, &pieces) == rc);
    assert(rc < 0 || format != BODY_PPROF || whole.has_profile);
    assert(rc < 0 || n > 1);
    assert(memchr(whole.beginning, '\0', sizeof whole.beginning) && fuzz_is_printable(whole.beginning));
    if (whole.has_profile)
        expect_valid_summary(&whole.profile);
    if (rc == 0)
        expect_equal(&whole, &pieces);
    return 0;
}
