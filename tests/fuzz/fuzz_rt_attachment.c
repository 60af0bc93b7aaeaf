/* An attachment in Request Tracker's answer: parsing it whole and in pieces gives the same bytes. */
#include "tests/fuzz/fuzz.h"

#include "handoff/rt_attachment.h"
#include "base/banned.h"

static int append_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static int read_content(const uint8_t *p, size_t n, bool whole, struct buf *out)
{
    struct err err = ERR_INIT;
    struct rt_attachment_decoder c = {.receive = append_piece, .ctx = out};
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n;) {
        size_t piece = whole ? n : 1u + p[at] % 8;
        if (piece > n - at)
            piece = n - at;
        rc = rt_attachment_add(&c, p + at, piece, &err);
        at += piece;
    }
    if (rc == 0)
        rc = rt_attachment_end(&c, &err);
    if (rc < 0)
        fuzz_expect_err(&err);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct buf whole = BUF_INIT(1u << 20), pieces = BUF_INIT(1u << 20);
    int rc = read_content(p, n, true, &whole);
    assert(read_content(p, n, false, &pieces) == rc);
    assert(whole.len == pieces.len && (whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0));
    assert(whole.len <= n);
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
