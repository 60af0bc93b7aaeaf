/* Writing gzip: the same bytes in one member or several, with a second thread or without. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <cmocka.h>

#include "proto/gzip.h"
#include "tests/unit/profile_make.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* Makes bytes that gzip can compress a little: neither all equal nor all different. */
static unsigned char *sample_bytes(size_t n)
{
    uint64_t seed = 77;
    unsigned char *p = malloc(n + sizeof seed);
    assert_non_null(p);
    for (size_t i = 0; i < n; i += sizeof seed) {
        uint64_t v = random_next(&seed) & UINT64_C(0x0f0f00ff00000f0f);
        memcpy(p + i, &v, sizeof v);
    }
    return p;
}

/* Writes n bytes in pieces of that size. */
static void write_pieces(const unsigned char *p, size_t n, size_t piece, struct buf *to)
{
    struct err err = ERR_INIT;
    struct gzip_writer *w = gzip_writer_new(add_bytes, to, &err);
    assert_non_null(w);
    for (size_t at = 0; at < n; at += piece)
        assert_ok(gzip_writer_add(w, p + at, n - at < piece ? n - at : piece, &err), &err);
    assert_ok(gzip_writer_end(w, &err), &err);
    gzip_writer_free(w);
}

/* Inflates all; returns the number of members. */
static size_t inflate_all(const struct buf *from, unsigned char *to, size_t n)
{
    struct err err = ERR_INIT;
    struct gzip *g = gzip_new(&err);
    size_t members = 0, at = 0, made = 0;
    assert_non_null(g);
    while (at < from->len) {
        struct gzip_member m = {.p = from->data + at, .n = from->len - at, .to = to + made, .room = n - made};
        assert_int_equal(gzip_inflate(g, &m), GZIP_DONE);
        at += m.n_read;
        made += m.n_written;
        members++;
    }
    assert_int_equal(made, n);
    gzip_free(g);
    return members;
}

static void assert_gzip_round_trip(size_t n, size_t piece, size_t members)
{
    struct buf packed = BUF_INIT(2 * n + 1000);
    unsigned char *plain = sample_bytes(n), *again = malloc(n + 1);
    assert_non_null(again);
    write_pieces(plain, n, piece, &packed);
    assert_int_equal(inflate_all(&packed, again, n), members);
    assert_memory_equal(again, plain, n);
    free(plain);
    free(again);
    buf_release(&packed);
}

static void short_data_is_one_member(void **state)
{
    (void)state;
    assert_gzip_round_trip(0, 1, 1);
    assert_gzip_round_trip(1, 1, 1);
    assert_gzip_round_trip(100000, 7, 1);
    assert_gzip_round_trip(GZIP_MEMBER_BYTES, 65536, 1);
}

/* The data is longer than a member. Pieces end where a member ends, or elsewhere, or are longer than a
 * member. */
static void long_data_is_several_members(void **state)
{
    (void)state;
    assert_gzip_round_trip(GZIP_MEMBER_BYTES + 1, GZIP_MEMBER_BYTES, 2);
    assert_gzip_round_trip(3 * GZIP_MEMBER_BYTES, 65536, 3);
    assert_gzip_round_trip(5 * GZIP_MEMBER_BYTES + 12345, 99991, 6);
    assert_gzip_round_trip(7 * GZIP_MEMBER_BYTES + 1, 3 * GZIP_MEMBER_BYTES, 8);
}

static void one_processor_compresses_without_threads(void **state)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    bool has_second = thread_has_second_processor();
    long_data_is_several_members(state);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_false(has_second);
}

/* Accepts *ctx pieces, then fails. */
static int take_some(void *ctx, const void *p, size_t n, struct err *err)
{
    size_t *left = ctx;
    (void)p;
    (void)n;
    return (*left)-- ? 0 : err_set(err, ERR_LOCAL_IO, "the disk is full");
}

static void an_error_of_the_sink_ends_the_compression(void **state)
{
    (void)state;
    unsigned char *plain = sample_bytes(GZIP_MEMBER_BYTES);
    for (size_t taken = 0; taken < 6; taken++) {
        struct err err = ERR_INIT;
        size_t left = taken;
        struct gzip_writer *w = gzip_writer_new(take_some, &left, &err);
        int rc = w ? 0 : -1;
        for (int i = 0; rc == 0 && i < 6; i++)
            rc = gzip_writer_add(w, plain, GZIP_MEMBER_BYTES, &err);
        if (rc == 0)
            rc = gzip_writer_end(w, &err);
        assert_refused(rc, &err, ERR_LOCAL_IO, "the disk is full");
        gzip_writer_free(w);
    }
    free(plain);
}

/* The caller frees the writer in the middle of the data. */
static void a_cancelled_stream_ends(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct buf packed = BUF_INIT(8 * GZIP_MEMBER_BYTES);
    unsigned char *plain = sample_bytes(GZIP_MEMBER_BYTES);
    struct gzip_writer *w = gzip_writer_new(add_bytes, &packed, &err);
    for (int i = 0; i < 3; i++)
        assert_ok(gzip_writer_add(w, plain, GZIP_MEMBER_BYTES, &err), &err);
    gzip_writer_free(w);
    gzip_writer_free(NULL);
    free(plain);
    buf_release(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_data_is_one_member),
        cmocka_unit_test(long_data_is_several_members),
        cmocka_unit_test(one_processor_compresses_without_threads),
        cmocka_unit_test(an_error_of_the_sink_ends_the_compression),
        cmocka_unit_test(a_cancelled_stream_ends),
    };
    return cmocka_run_group_tests_name("gzip", tests, NULL, NULL);
}
