/* Compares gunzip, whole and in pieces, with one call of zlib for a single member. */
#include "tests/fuzz/fuzz.h"

#include <zlib.h>

#include "proto/proto.h"
#include "base/banned.h"

enum { OUT_MAX = 1 << 18 };

static int append_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static int inflate_input(const uint8_t *p, size_t n, bool whole, struct buf *out)
{
    struct err err = ERR_INIT, again = ERR_INIT;
    struct gunzip *z = gunzip_new(append_piece, out, OUT_MAX, &err);
    assert(z);
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n;) {
        size_t piece = whole ? n : 1u + p[at] % 32;
        if (piece > n - at)
            piece = n - at;
        rc = gunzip_feed(z, p + at, piece, &err);
        at += piece;
    }
    if (rc < 0) {
        /* A failure is sticky: later calls return the same message. */
        assert(gunzip_feed(z, "x", 1, &again) == -1 && strcmp(err.msg, again.msg) == 0);
        assert(gunzip_finish(z, &again) == -1 && strcmp(err.msg, again.msg) == 0);
    } else {
        rc = gunzip_finish(z, &err);
    }
    if (rc < 0)
        fuzz_expect_err(&err);
    assert(!out->failed && out->len <= OUT_MAX);
    gunzip_free(z);
    return rc;
}

/* Returns false only if the bytes are exactly one member that zlib inflates to something other than `out`. */
static bool zlib_agrees(const uint8_t *p, size_t n, const struct buf *out)
{
    static unsigned char room[OUT_MAX];
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)p, .avail_in = (uInt)n};
    z.next_out = room;
    z.avail_out = sizeof room;
    assert(inflateInit2(&z, 15 + 16) == Z_OK);
    bool single = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0;
    size_t made = sizeof room - z.avail_out;
    inflateEnd(&z);
    return !single || (made == out->len && (made == 0 || memcmp(room, out->data, made) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct buf whole = BUF_INIT(OUT_MAX), pieces = BUF_INIT(OUT_MAX);
    int rc = inflate_input(p, n, true, &whole);
    assert(inflate_input(p, n, false, &pieces) == rc);
    if (rc == 0) {
        assert(whole.len == pieces.len && memcmp(buf_str(&whole), buf_str(&pieces), whole.len) == 0);
        assert(zlib_agrees(p, n, &whole));
    }
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
