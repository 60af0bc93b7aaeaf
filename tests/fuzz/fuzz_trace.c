/* Execution traces, whole and in pieces whose sizes depend on the bytes. */
#include "tests/fuzz/fuzz.h"

#include "proto/proto.h"
#include "base/banned.h"

static int scan_trace(const uint8_t *p, size_t n, bool whole, struct trace_summary *ret, struct err *err)
{
    struct err again = ERR_INIT;
    struct trace_scan *s = trace_scan_new(err);
    assert(s);
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n;) {
        size_t piece = whole ? n : 1u + p[at] % 32;
        if (piece > n - at)
            piece = n - at;
        rc = trace_scan_feed(s, p + at, piece, err);
        at += piece;
    }
    if (rc < 0) {
        /* A failure is sticky: later calls return the same message. */
        assert(trace_scan_feed(s, "x", 1, &again) == -1 && strcmp(err->msg, again.msg) == 0);
        assert(trace_scan_finish(s, ret, &again) == -1 && strcmp(err->msg, again.msg) == 0);
    } else {
        rc = trace_scan_finish(s, ret, err);
    }
    trace_scan_free(s);
    return rc;
}

/* An accepted trace begins with a header. Each counted batch needs five bytes, each event two. */
static void check_summary(const struct trace_summary *s, const uint8_t *p, size_t n)
{
    unsigned minor = 0;
    assert(trace_parse_header(p, n, &minor, NULL) == 0 && minor == s->minor);
    assert(n > TRACE_HEADER_SIZE && s->generations <= s->batches);
    assert(s->generations == 0 || s->events == 0);
    assert(s->generations == 0 ? 2 * s->events < n : 5 * s->batches < n);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct trace_summary whole = {0}, pieces = {0};
    struct err err = ERR_INIT, again = ERR_INIT;
    int rc = scan_trace(p, n, true, &whole, &err);
    assert(scan_trace(p, n, false, &pieces, &again) == rc && strcmp(err.msg, again.msg) == 0);
    assert(memcmp(&whole, &pieces, sizeof whole) == 0);
    if (rc < 0)
        fuzz_expect_err(&err);
    else
        check_summary(&whole, p, n);
    return 0;
}
