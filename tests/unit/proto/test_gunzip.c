/* gunzip against zlib's own deflate: members, padding, limits, and every cut and flip of a good file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "proto/proto.h"

#include "base/banned.h"

#define LIMIT (UINT64_C(1) << 30)

static int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    struct buf *out = ctx;
    buf_add(out, p, n);
    return buf_check(out, "the output", err);
}

/* Appends p as one gzip member. */
static void deflate_member(struct buf *gz, const void *p, size_t n)
{
    unsigned char out[4096];
    z_stream z = {.next_in = (unsigned char *)p, .avail_in = (uInt)n};
    int rc = Z_OK;
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    while (rc == Z_OK) {
        z.next_out = out;
        z.avail_out = sizeof out;
        rc = deflate(&z, Z_FINISH);
        buf_add(gz, out, sizeof out - z.avail_out);
    }
    assert_int_equal(rc, Z_STREAM_END);
    deflateEnd(&z);
}

static void sample_text(struct buf *text, size_t n)
{
    for (size_t i = 0; text->len < n; i++)
        buf_addf(text, "%zu frames of sample %zx\n", i, i * 2654435761u);
}

/* Inflates the n bytes, which arrive in pieces of that size. */
static int gunzip_all(const void *p, size_t n, size_t piece, struct buf *out, struct err *err)
{
    const char *bytes = p;
    int rc = 0;
    struct gunzip *z = gunzip_new(add_bytes, out, LIMIT, err);
    assert_non_null(z);
    for (size_t i = 0; i < n && !rc; i += piece)
        rc = gunzip_feed(z, bytes + i, n - i < piece ? n - i : piece, err);
    if (!rc)
        rc = gunzip_finish(z, err);
    gunzip_free(z);
    return rc;
}

static void assert_bad(const struct buf *gz, const char *msg)
{
    static const size_t pieces[] = {1, 7, SIZE_MAX};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf out = BUF_INIT(1 << 20);
        struct err err = ERR_INIT;
        assert_int_equal(gunzip_all(gz->data, gz->len, pieces[i], &out, &err), -1);
        assert_string_equal(err.msg, msg);
        assert_int_equal(err.kind, ERR_FAILED);
        buf_release(&out);
    }
}

static void assert_good(const struct buf *gz, const struct buf *text)
{
    static const size_t pieces[] = {1, 2, 13, 4096, SIZE_MAX};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf out = BUF_INIT(1 << 24);
        struct err err = ERR_INIT;
        assert_int_equal(gunzip_all(gz->data, gz->len, pieces[i], &out, &err), 0);
        assert_int_equal(out.len, text->len);
        if (out.len)
            assert_memory_equal(out.data, text->data, out.len);
        buf_release(&out);
    }
}

static void several_members_are_inflated(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(1 << 20), twice = BUF_INIT(1 << 20), gz = BUF_INIT(1 << 20);
    sample_text(&text, 200000);
    deflate_member(&gz, text.data, text.len);
    assert_good(&gz, &text);
    deflate_member(&gz, "", 0);
    assert_good(&gz, &text);
    deflate_member(&gz, text.data, text.len);
    buf_add(&twice, text.data, text.len);
    buf_add(&twice, text.data, text.len);
    assert_good(&gz, &twice);
    for (size_t i = 0; i < 1025; i++)
        buf_addc(&gz, '\0');
    assert_good(&gz, &twice);
    buf_release(&text);
    buf_release(&twice);
    buf_release(&gz);
}

static void bytes_after_the_end_are_refused(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    deflate_member(&gz, "abc", 3);
    assert_int_equal(gz.len, 23);
    buf_adds(&gz, "x");
    assert_bad(&gz, "at byte 23: extra bytes after the end of the gzip data");
    gz.data[23] = '\0';
    buf_adds(&gz, "\x1f");
    assert_bad(&gz, "at byte 24: extra bytes after the end of the gzip data");
    gz.data[23] = 0x1f;
    gz.data[24] = 'x';
    assert_bad(&gz, "at byte 25: the gzip data is broken: incorrect header check");
    gz.len = 24;
    assert_bad(&gz, "cut off inside gzip data after 24 bytes");
    buf_release(&gz);
}

static void other_data_is_refused(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    assert_bad(&gz, "the body is empty: no gzip data");
    buf_adds(&gz, "<html>");
    assert_bad(&gz, "at byte 2: the gzip data is broken: incorrect header check");
    buf_release(&gz);
}

static void checksum_and_length_are_checked(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    deflate_member(&gz, "abc", 3);
    gz.data[22] ^= 1;
    assert_bad(&gz, "at byte 23: the gzip data is broken: incorrect length check");
    gz.data[22] ^= 1;
    gz.data[15] ^= 1;
    assert_bad(&gz, "at byte 19: the gzip data is broken: incorrect data check");
    buf_release(&gz);
}

static void gzip_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(1 << 20), gz = BUF_INIT(1 << 20);
    sample_text(&text, 3000);
    deflate_member(&gz, text.data, text.len);
    size_t whole = gz.len;
    for (size_t n = 1; n < whole; n++) {
        char msg[80];
        snprintf(msg, sizeof msg, "cut off inside gzip data after %zu bytes", n);
        gz.len = n;
        assert_bad(&gz, msg);
    }
    buf_release(&text);
    buf_release(&gz);
}

/* The flipped bit may be one that gzip does not check (in the time, the system, or the padding of the last
 * deflated byte). The text is then the same. */
static void flipped_gzip_is_refused_or_unchanged(void **state)
{
    (void)state;
    struct buf text = BUF_INIT(1 << 20), gz = BUF_INIT(1 << 20);
    sample_text(&text, 3000);
    deflate_member(&gz, text.data, text.len);
    size_t accepted = 0;
    for (size_t bit = 0; bit < gz.len * 8; bit++) {
        struct buf out = BUF_INIT(1 << 24);
        struct err err = ERR_INIT;
        gz.data[bit / 8] ^= (char)(1 << bit % 8);
        if (gunzip_all(gz.data, gz.len, 100, &out, &err) == 0) {
            accepted++;
            assert_int_equal(out.len, text.len);
            assert_memory_equal(out.data, text.data, out.len);
        } else {
            assert_true(err.msg[0]);
        }
        gz.data[bit / 8] ^= (char)(1 << bit % 8);
        buf_release(&out);
    }
    assert_in_range(accepted, 48, 64); /* time, extra flags and system are 48 */
    buf_release(&text);
    buf_release(&gz);
}

static int count_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)p;
    (void)err;
    *(uint64_t *)ctx += n;
    return 0;
}

static int gunzip_limited(const struct buf *gz, uint64_t limit, uint64_t *ret_n, struct err *err)
{
    struct gunzip *z = gunzip_new(count_bytes, ret_n, limit, err);
    assert_non_null(z);
    int rc = gunzip_feed(z, gz->data, gz->len, err);
    if (!rc)
        rc = gunzip_finish(z, err);
    gunzip_free(z);
    return rc;
}

static void data_that_inflates_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    uint64_t n = 0;
    size_t size = 10000000;
    char *zeros = calloc(1, size);
    assert_non_null(zeros);
    deflate_member(&gz, zeros, size / 2);
    deflate_member(&gz, zeros, size / 2);
    free(zeros);
    assert_int_equal(gunzip_limited(&gz, size, &n, &err), 0);
    assert_int_equal(n, size);
    n = 0;
    assert_int_equal(gunzip_limited(&gz, size - 1, &n, &err), -1);
    assert_string_equal(err.msg, "inflates to more than 9999999 bytes");
    assert_true(n <= size - 1);
    buf_release(&gz);
}

static int refuse_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)p;
    (void)n;
    ++*(int *)ctx;
    return err_set(err, ERR_CANCELLED, "enough");
}

static void an_error_of_the_sink_ends_the_inflation(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    struct err err = ERR_INIT;
    int calls = 0;
    deflate_member(&gz, "abc", 3);
    struct gunzip *z = gunzip_new(refuse_bytes, &calls, LIMIT, &err);
    assert_non_null(z);
    assert_int_equal(gunzip_feed(z, gz.data, gz.len, &err), -1);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(err.kind, ERR_CANCELLED);
    err = (struct err)ERR_INIT;
    assert_int_equal(gunzip_finish(z, &err), -1);
    assert_string_equal(err.msg, "enough");
    assert_int_equal(calls, 1);
    gunzip_free(z);
    gunzip_free(NULL);
    buf_release(&gz);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_members_are_inflated),
        cmocka_unit_test(bytes_after_the_end_are_refused),
        cmocka_unit_test(other_data_is_refused),
        cmocka_unit_test(checksum_and_length_are_checked),
        cmocka_unit_test(gzip_cut_at_any_byte_is_refused),
        cmocka_unit_test(flipped_gzip_is_refused_or_unchanged),
        cmocka_unit_test(data_that_inflates_beyond_the_limit_is_refused),
        cmocka_unit_test(an_error_of_the_sink_ends_the_inflation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
