/* The writer of gzip members: it stores incompressible pieces and deflates the others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "base/base.h"
#include "bundle/gzfile.h"
#include "bundle/gzpack.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

enum { ROOM = 4 << 20, PIECE = 32768 };

static int add_to_buf(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

/* Incompressible bytes, always the same. */
static void fill_dense(unsigned char *p, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)((seed = hash_index_mix(seed, i)) >> 33);
}

static void fill_text(unsigned char *p, size_t n)
{
    static const char words[] = "goroutine 17 [select, 3 minutes]:\nnet/http.(*conn).serve(0xc000128000)\n";
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)words[i % (sizeof words - 1)];
}

static void pack_bytes(const unsigned char *p, size_t n, size_t piece, struct buf *ret)
{
    struct err err = ERR_INIT;
    struct gzpack *g = NULL;
    *ret = (struct buf)BUF_INIT(2 * ROOM);
    assert_ok(gzpack_new(add_to_buf, ret, &g, &err), &err);
    for (size_t at = 0; at < n; at += piece)
        assert_ok(gzpack_add(g, p + at, n - at < piece ? n - at : piece, &err), &err);
    assert_ok(gzpack_finish(g, &err), &err);
    gzpack_free(g);
}

/* Asserts that `packed` is one gzip member that ends at its last byte and inflates to these bytes. zlib
 * compares CRC and length. */
static void assert_inflates_to(const struct buf *packed, const unsigned char *p, size_t n)
{
    unsigned char *out = malloc(n + 1);
    z_stream z = {.next_in = (unsigned char *)packed->data,
                  .avail_in = (unsigned)packed->len,
                  .next_out = out,
                  .avail_out = (unsigned)n + 1};
    assert_non_null(out);
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, n);
    assert_memory_equal(out, p, n);
    inflateEnd(&z);
    free(out);
}

/* Lengths around each limit, added in pieces of several sizes. */
static void data_of_any_length_is_restored(void **state)
{
    static const size_t lengths[] = {0,     1,     8191,   8192,   8193,   65535,
                                     65536, 65537, 131072, 131080, 200001, 1000003};
    static const size_t pieces[] = {700, 8192, PIECE, ROOM};
    unsigned char *p = malloc(ROOM);
    struct buf packed;
    (void)state;
    assert_non_null(p);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
            fill_dense(p, lengths[i], i + 1);
            pack_bytes(p, lengths[i], pieces[k], &packed);
            assert_inflates_to(&packed, p, lengths[i]);
            buf_release(&packed);
            fill_text(p, lengths[i]);
            pack_bytes(p, lengths[i], pieces[k], &packed);
            assert_inflates_to(&packed, p, lengths[i]);
            buf_release(&packed);
        }
    free(p);
}

/* Text between incompressible pieces: matches reach back across stored blocks only to deflated bytes. */
static void text_between_incompressible_pieces_is_compressed(void **state)
{
    unsigned char *p = malloc(ROOM);
    struct buf packed;
    (void)state;
    assert_non_null(p);
    for (size_t at = 0, i = 0; at < ROOM; i++) {
        size_t n = ROOM - at < PIECE ? ROOM - at : PIECE;
        if (i % 3 == 1)
            fill_dense(p + at, n, i);
        else
            fill_text(p + at, n);
        at += n;
    }
    pack_bytes(p, ROOM, PIECE, &packed);
    assert_inflates_to(&packed, p, ROOM);
    assert_true(packed.len < ROOM / 3 + ROOM / 20);
    buf_release(&packed);
    free(p);
}

/* Random sizes and orders of text and incompressible pieces, which fill the buffers at every position. */
static void pieces_in_any_order_are_restored(void **state)
{
    unsigned char *p = malloc(ROOM);
    (void)state;
    assert_non_null(p);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct err err = ERR_INIT;
        struct gzpack *g = NULL;
        struct buf packed = BUF_INIT(2 * ROOM);
        size_t at = 0;
        assert_ok(gzpack_new(add_to_buf, &packed, &g, &err), &err);
        for (uint64_t i = 0; at < ROOM - 4 * PIECE; i++) {
            uint64_t random = hash_index_mix(seed, i);
            size_t n = random % 3 == 0 ? random >> 32 & 1023 : (random >> 32) % (4 * PIECE);
            if (random & 16)
                fill_dense(p + at, n, i);
            else
                fill_text(p + at, n);
            assert_ok(gzpack_add(g, p + at, n, &err), &err);
            at += n;
        }
        assert_ok(gzpack_finish(g, &err), &err);
        gzpack_free(g);
        assert_inflates_to(&packed, p, at);
        buf_release(&packed);
    }
    free(p);
}

/* A header as before the stored piece takes few bytes, because it matches the earlier header. */
static void a_stored_piece_hides_no_earlier_header(void **state)
{
    enum { HEADER = 512, BODY = 10000, FILES = 50 };
    unsigned char *p = malloc(ROOM), header[HEADER];
    struct err err = ERR_INIT;
    struct gzpack *g = NULL;
    struct buf packed = BUF_INIT(ROOM);
    (void)state;
    assert_non_null(p);
    fill_dense(header, HEADER, 1);
    assert_ok(gzpack_new(add_to_buf, &packed, &g, &err), &err);
    for (size_t i = 0; i < FILES; i++) {
        memcpy(p + i * (HEADER + BODY), header, HEADER);
        fill_dense(p + i * (HEADER + BODY) + HEADER, BODY, i + 2);
        assert_ok(gzpack_add(g, p + i * (HEADER + BODY), HEADER, &err), &err);
        assert_ok(gzpack_add(g, p + i * (HEADER + BODY) + HEADER, BODY, &err), &err);
    }
    assert_ok(gzpack_finish(g, &err), &err);
    gzpack_free(g);
    assert_inflates_to(&packed, p, FILES * (HEADER + BODY));
    assert_true(packed.len < FILES * (BODY + 20) + HEADER + 64);
    buf_release(&packed);
    free(p);
}

/* Highly compressible data still inflates to no more than a reader allows. */
static void highly_compressible_data_stays_below_the_limit(void **state)
{
    enum { MIB = 1 << 20, PIECES = 400 };
    static unsigned char zeros[MIB];
    struct err err = ERR_INIT;
    struct gzpack *g = NULL;
    struct buf packed = BUF_INIT(64 * MIB);
    z_stream z = {.next_in = NULL};
    (void)state;
    assert_ok(gzpack_new(add_to_buf, &packed, &g, &err), &err);
    for (unsigned i = 0; i < PIECES; i++)
        assert_ok(gzpack_add(g, zeros, sizeof zeros, &err), &err);
    assert_ok(gzpack_finish(g, &err), &err);
    gzpack_free(g);
    assert_true((uint64_t)PIECES * MIB <= gzfile_max_inflated(packed.len));
    assert_true(packed.len < 8 * MIB);
    z.next_in = (unsigned char *)packed.data;
    z.avail_in = (unsigned)packed.len;
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    do {
        z.next_out = zeros;
        z.avail_out = sizeof zeros;
    } while (inflate(&z, Z_NO_FLUSH) == Z_OK);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, (uint64_t)PIECES * MIB);
    inflateEnd(&z);
    buf_release(&packed);
}

/* Incompressible bytes are stored unchanged, with five bytes for each piece. */
static void incompressible_data_is_stored(void **state)
{
    unsigned char *p = malloc(ROOM);
    struct buf packed;
    (void)state;
    assert_non_null(p);
    fill_dense(p, ROOM, 7);
    pack_bytes(p, ROOM, PIECE, &packed);
    assert_true(packed.len < ROOM + ROOM / PIECE * 5 + 64);
    assert_memory_equal(packed.data + 10 + 5, p, PIECE);
    buf_release(&packed);
    free(p);
}

/* Base64 text, and bytes that are all below 200, are deflated. */
static void compressible_data_is_deflated(void **state)
{
    unsigned char *p = malloc(ROOM);
    struct buf packed;
    (void)state;
    assert_non_null(p);
    fill_dense(p, ROOM, 11);
    for (size_t i = 0; i < ROOM; i++)
        p[i] = (unsigned char)"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[p[i] % 64];
    pack_bytes(p, ROOM, PIECE, &packed);
    assert_true(packed.len < ROOM / 100 * 80);
    assert_inflates_to(&packed, p, ROOM);
    buf_release(&packed);
    fill_dense(p, ROOM, 13);
    for (size_t i = 0; i < ROOM; i++)
        p[i] = (unsigned char)(p[i] % 200);
    pack_bytes(p, ROOM, PIECE, &packed);
    assert_true(packed.len < ROOM / 100 * 97);
    buf_release(&packed);
    free(p);
}

static void equal_data_makes_equal_output(void **state)
{
    unsigned char *p = malloc(ROOM);
    struct buf one, other;
    (void)state;
    assert_non_null(p);
    fill_dense(p, ROOM / 2, 3);
    fill_text(p + ROOM / 2, ROOM / 2);
    pack_bytes(p, ROOM, PIECE, &one);
    pack_bytes(p, ROOM, PIECE, &other);
    assert_int_equal(one.len, other.len);
    assert_memory_equal(one.data, other.data, one.len);
    buf_release(&one);
    buf_release(&other);
    free(p);
}

static int accept_until_full(void *ctx, const void *p, size_t n, struct err *err)
{
    size_t *left = ctx;
    (void)p;
    if (n > *left)
        return err_set(err, ERR_LOCAL_IO, "no room");
    *left -= n;
    return 0;
}

/* The sink fails in every type of block. */
static void a_failing_sink_is_an_error(void **state)
{
    unsigned char *p = malloc(ROOM);
    (void)state;
    assert_non_null(p);
    fill_dense(p, ROOM / 2, 5);
    fill_text(p + ROOM / 2, ROOM / 2);
    for (size_t room = 0; room < ROOM / 2; room += 100000) {
        struct err err = ERR_INIT;
        struct gzpack *g = NULL;
        size_t left = room;
        assert_ok(gzpack_new(accept_until_full, &left, &g, &err), &err);
        int rc = 0;
        for (size_t at = 0; rc == 0 && at < ROOM; at += PIECE)
            rc = gzpack_add(g, p + at, PIECE, &err);
        if (rc == 0)
            rc = gzpack_finish(g, &err);
        assert_refused(rc, &err, ERR_LOCAL_IO, "no room");
        gzpack_free(g);
    }
    gzpack_free(NULL);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_of_any_length_is_restored),
        cmocka_unit_test(text_between_incompressible_pieces_is_compressed),
        cmocka_unit_test(pieces_in_any_order_are_restored),
        cmocka_unit_test(a_stored_piece_hides_no_earlier_header),
        cmocka_unit_test(incompressible_data_is_stored),
        cmocka_unit_test(compressible_data_is_deflated),
        cmocka_unit_test(equal_data_makes_equal_output),
        cmocka_unit_test(a_failing_sink_is_an_error),
        cmocka_unit_test(highly_compressible_data_stays_below_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
