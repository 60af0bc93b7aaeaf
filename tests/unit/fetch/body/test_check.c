/* Checks of bodies: good bodies, each kind of bad body with its exact message, cuts and flips. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "fetch/body/check.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

/* One sample type, `cpu` in `ns`; two samples of 5 and 37. */
static const char profile[] = "\x0a\x04\x08\x01\x10\x02"
                              "\x12\x03\x12\x01\x05"
                              "\x12\x03\x12\x01\x25"
                              "\x32\x00\x32\x03"
                              "cpu\x32\x02ns\x48\x7b";
#define PROFILE_SIZE (sizeof profile - 1)
/* One generation, with a batch for its clock and one for its strings. */
static const char trace[] = "go 1.22 trace\0\0\0"
                            "\x01\x01\x07\x64\x02\x08\x05"
                            "\x01\x01\x07\x64\x01\x04";

static void gzip_bytes(struct buf *gz, const void *p, size_t n)
{
    unsigned char out[4096];
    z_stream z = {
        .next_in = (unsigned char *)p, .avail_in = (uInt)n, .next_out = out, .avail_out = sizeof out};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_add(gz, out, sizeof out - z.avail_out);
    deflateEnd(&z);
}

static int check_body(enum body_format format, const void *p, size_t n, size_t piece,
                      struct check_result *ret, struct err *err)
{
    const char *bytes = p;
    struct check *c = check_new(format, err);
    assert_non_null(c);
    assert_int_equal(check_feed(c, bytes, 0, err), 0);
    for (size_t i = 0; i < n; i += piece)
        assert_int_equal(check_feed(c, bytes + i, n - i < piece ? n - i : piece, err), 0);
    int rc = check_finish(c, ret, err);
    check_free(c);
    return rc;
}

static const size_t pieces[] = {1, 3, 10, 100000};
#define PIECES (sizeof pieces / sizeof *pieces)

static void assert_good(enum body_format format, const void *p, size_t n)
{
    for (size_t i = 0; i < PIECES; i++) {
        struct check_result result;
        struct err err = ERR_INIT;
        if (check_body(format, p, n, pieces[i], &result, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(result.has_profile, format == BODY_PPROF);
        assert_int_equal(result.trace_minor, format == BODY_TRACE ? 22 : 0);
    }
}

static void assert_bad(enum body_format format, const void *p, size_t n, const char *msg)
{
    for (size_t i = 0; i < PIECES; i++) {
        struct check_result result;
        struct err err = ERR_INIT;
        assert_int_equal(check_body(format, p, n, pieces[i], &result, &err), -1);
        assert_string_equal(err.msg, msg);
        assert_int_equal(err.kind, ERR_FAILED);
    }
}

static void assert_bad_text(enum body_format format, const char *text, const char *msg)
{
    assert_bad(format, text, strlen(text), msg);
}

static void an_empty_body_is_bad(void **state)
{
    (void)state;
    static const enum body_format formats[] = {BODY_PPROF, BODY_TRACE, BODY_TEXT, BODY_RAW, BODY_ANY};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        assert_bad(formats[i], "", 0, "the body is empty");
    assert_good(BODY_RAW, "\0", 1);
    check_free(NULL);
}

static void assert_summary(const void *p, size_t n)
{
    struct check_result result;
    assert_int_equal(check_body(BODY_PPROF, p, n, 7, &result, NULL), 0);
    assert_true(result.has_profile);
    assert_int_equal(result.profile.samples, 2);
    assert_int_equal(result.profile.types[0].total, 42);
    assert_string_equal(result.profile.types[0].type, "cpu");
    assert_int_equal(result.profile.time_ns, 123);
    assert_string_equal(result.beginning, "");
}

static void a_profile_is_good_with_and_without_gzip(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    gzip_bytes(&gz, profile, PROFILE_SIZE);
    assert_good(BODY_PPROF, gz.data, gz.len);
    assert_summary(gz.data, gz.len);
    assert_good(BODY_PPROF, profile, PROFILE_SIZE);
    assert_summary(profile, PROFILE_SIZE);
    buf_release(&gz);
}

static void a_damaged_profile_is_bad(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    gzip_bytes(&gz, profile, PROFILE_SIZE);
    assert_bad(BODY_PPROF, gz.data, 20, "cut off inside gzip data after 20 bytes");
    gz.data[gz.len - 5] ^= 1;
    assert_bad(BODY_PPROF, gz.data, gz.len - 1, "at byte 42: the gzip data is broken: incorrect data check");
    assert_bad(BODY_PPROF, "\x1f", 1, "cut off inside gzip data after 1 bytes");
    assert_bad(BODY_PPROF, "\x0a", 1, "this is not a profile: cut off inside the profile after 1 bytes");
    assert_bad(BODY_PPROF, profile, PROFILE_SIZE - 1, "cut off inside the profile after 28 bytes");
    assert_bad(BODY_PPROF, profile, 11, "it has no strings");
    buf_clear(&gz);
    gzip_bytes(&gz, profile, 11);
    assert_bad(BODY_PPROF, gz.data, gz.len, "it has no strings");
    assert_bad(BODY_PPROF, trace, sizeof trace - 1, "this is an execution trace, not a profile");
    buf_release(&gz);
}

/* The body is larger than its stored beginning. The bytes after the damage do not change the message. */
static void a_long_damaged_profile_has_the_same_message(void **state)
{
    (void)state;
    struct buf body = BUF_INIT(1 << 20), gz = BUF_INIT(1 << 20);
    buf_add(&body, profile, PROFILE_SIZE);
    for (int i = 0; i < 30000; i++)
        buf_addc(&body, '\x01');
    assert_bad(BODY_PPROF, body.data, body.len, "at byte 29: the profile has a field with a bad number");
    gzip_bytes(&gz, body.data, body.len);
    assert_bad(BODY_PPROF, gz.data, gz.len, "at byte 29: the profile has a field with a bad number");
    assert_bad(BODY_PPROF, gz.data, gz.len - 9, "at byte 29: the profile has a field with a bad number");
    buf_release(&body);
    buf_release(&gz);
}

static void bytes_after_a_profile_are_bad_but_keep_its_summary(void **state)
{
    (void)state;
    struct buf gz = BUF_INIT(4096);
    struct check_result result;
    struct err err = ERR_INIT;
    gzip_bytes(&gz, profile, PROFILE_SIZE);
    buf_adds(&gz, "error: broken pipe\n");
    assert_int_equal(check_body(BODY_PPROF, gz.data, gz.len, 9, &result, &err), -1);
    assert_non_null(strstr(err.msg, "extra bytes after the end of the gzip data"));
    assert_true(result.has_profile);
    assert_int_equal(result.profile.types[0].total, 42);
    buf_release(&gz);
}

static void an_html_page_is_no_profile_trace_or_text(void **state)
{
    (void)state;
    static const char page[] = "\xef\xbb\xbf\n <!DOCTYPE HTML PUBLIC>\n<html><body>log in</body></html>\n";
    struct buf gz = BUF_INIT(4096);
    struct check_result result;
    assert_bad_text(BODY_PPROF, page, "this is HTML, not a profile");
    assert_bad_text(BODY_TRACE, page, "this is HTML, not a trace");
    assert_bad_text(BODY_TEXT, page, "this is HTML, not plain text");
    assert_bad_text(BODY_PPROF, "<HTML>", "this is HTML, not a profile");
    assert_bad_text(BODY_PPROF, "\n<html>\n", "this is HTML, not a profile");
    gzip_bytes(&gz, page, sizeof page - 1);
    assert_bad(BODY_PPROF, gz.data, gz.len, "this is HTML, not a profile");
    assert_bad_text(BODY_PPROF, "heap profile: 1: 2 [3: 4]\n",
                    "this is text, not a profile: heap profile: 1: 2 [3: 4]");
    assert_bad_text(BODY_TRACE, "no\n\ttrace", "this is text, not a trace: no trace");
    assert_int_equal(check_body(BODY_PPROF, "Unknown profile\n", 16, 5, &result, NULL), -1);
    assert_string_equal(result.beginning, "Unknown profile");
    assert_false(result.has_profile);
    buf_release(&gz);
}

static void assert_gzip_bad(const void *p, size_t n, const char *msg)
{
    struct buf gz = BUF_INIT(1 << 20);
    gzip_bytes(&gz, p, n);
    assert_bad(BODY_PPROF, gz.data, gz.len, msg);
    buf_release(&gz);
}

/* The message names what the body looks like. If that is unknown, the message gives the reason why the body
 * is not a profile. */
static void other_data_is_named_in_the_message(void **state)
{
    (void)state;
    static const char noise[] = "\x71\x01\x80\xff\x00\x13\x9c";
    struct check_result result;
    assert_bad(BODY_PPROF, noise, sizeof noise - 1,
               "this is not a profile: at byte 0: field 14 of the profile has wire type 1");
    assert_gzip_bad(noise, sizeof noise - 1,
                    "this is not a profile: at byte 0: field 14 of the profile has wire type 1");
    /* Unknown fields may be of any type: the field after them ends in the middle. */
    assert_bad(BODY_PPROF, "\xfa\x01\x7f\x80", 4,
               "this is not a profile: cut off inside the profile after 4 bytes");
    assert_bad(BODY_PPROF, "\x0a\x04\x08\x01\x10\x02", 6, "this is not a profile: it has no strings");
    assert_bad(BODY_PPROF, "\x0a\x03\x08\x01", 4,
               "this is not a profile: cut off inside a sample type after 4 bytes");
    assert_bad(BODY_PPROF,
               "\x0a\x03"
               "abc",
               5, "this is not a profile: at byte 2: a field of 8 bytes where a sample type has 2 left");
    assert_bad(BODY_PPROF, "\x1f\x8b garbage that says it is gzip", 33,
               "this is not a profile: at byte 4: the gzip data is broken: unknown compression method");
    assert_bad_text(BODY_PPROF, "{\"error\": \"no such route\"}",
                    "this is JSON, not a profile: {\"error\": \"no such route\"}");
    assert_bad_text(BODY_PPROF, " [1, 2]", "this is JSON, not a profile: [1, 2]");
    assert_bad_text(BODY_PPROF, "[error] no", "this is text, not a profile: [error] no");
    assert_bad_text(BODY_PPROF, "\nGOROUTINE\n", "this is text, not a profile: GOROUTINE");
    assert_gzip_bad("busy\n", 5, "this is gzip of text, not a profile: busy");
    assert_gzip_bad("{}", 2, "this is gzip of JSON, not a profile: {}");
    assert_gzip_bad("", 0, "this is gzip of nothing, not a profile");
    assert_gzip_bad(trace, sizeof trace - 1, "this is gzip of an execution trace, not a profile");
    struct buf once = BUF_INIT(4096);
    gzip_bytes(&once, profile, PROFILE_SIZE);
    assert_gzip_bad(once.data, once.len, "this is gzip of gzip data, not a profile");
    buf_release(&once);
    assert_bad(BODY_PPROF,
               "\x7f"
               "ELF\2\1\1\0",
               8, "this is an ELF file, not a profile");
    assert_bad(BODY_PPROF, "PK\3\4\0\0", 6, "this is a zip archive, not a profile");
    assert_bad(BODY_TEXT, "\x1f\x8b\x08\0\0\0\0\0\0\0", 10, "this is gzip data, not plain text");
    /* A damaged profile is still recognized as a profile. */
    assert_int_equal(check_body(BODY_PPROF, profile, PROFILE_SIZE - 1, 5, &result, NULL), -1);
    assert_false(result.has_other_format);
    assert_int_equal(check_body(BODY_PPROF, noise, sizeof noise - 1, 5, &result, NULL), -1);
    assert_true(result.has_other_format);
}

/* BODY_ANY is the format of paths that serve pages. */
static void a_raw_path_refuses_a_page(void **state)
{
    (void)state;
    static const char page[] = "<!DOCTYPE html>\n<title>Node Exporter</title>\n";
    struct check_result result;
    assert_bad_text(BODY_RAW, page, "this is an HTML page titled \"Node Exporter\", not what was asked for");
    assert_int_equal(check_body(BODY_RAW, page, sizeof page - 1, 5, &result, NULL), -1);
    assert_true(result.has_other_format);
    assert_good(BODY_ANY, page, sizeof page - 1);
    assert_bad_text(BODY_RAW, "<a href=x>", "this is HTML, not what was asked for");
    assert_bad_text(BODY_RAW, "<!-- x -->", "this is HTML, not what was asked for");
    assert_good(BODY_RAW, "<abc>", 5);
    assert_good(BODY_RAW, "<?xml ?>", 8);
    assert_good(BODY_RAW, "{}", 2);
}

/* Remote text in messages is printable and cut. */
static void the_beginning_of_a_body_is_printable_and_cut(void **state)
{
    (void)state;
    struct check_result result;
    char text[2000];
    memset(text, 'x', sizeof text);
    assert_int_equal(check_body(BODY_TRACE, text, sizeof text, 100, &result, NULL), -1);
    assert_in_range(strlen(result.beginning), 190, 199);
    assert_string_equal(result.beginning + strlen(result.beginning) - 4, "x...");
    static const char hidden[] = "a\xe2\x80\xae"
                                 "b\xc2\x9b"
                                 "c\xff\n";
    assert_int_equal(check_body(BODY_TEXT, hidden, sizeof hidden - 1, 1, &result, NULL), 0);
    assert_string_equal(result.beginning, "a?b?c?");
    assert_int_equal(check_body(BODY_RAW, "\x1b[2J", 4, 1, &result, NULL), 0);
    assert_string_equal(result.beginning, "");
}

static void cut_traces_are_bad(void **state)
{
    (void)state;
    assert_good(BODY_TRACE, trace, sizeof trace - 1);
    assert_bad(BODY_TRACE, trace, sizeof trace - 2, "cut off inside a batch after 28 bytes");
    assert_bad(BODY_TRACE, trace, 23, "cut off after 23 bytes: the trace lacks its strings");
    assert_bad(BODY_TRACE, trace, 16, "the trace has nothing after its header");
    assert_bad(BODY_TRACE, trace, 15, "cut off inside the header of a trace after 15 bytes");
    assert_bad(BODY_TRACE, trace, 10, "cut off inside the header of a trace after 10 bytes");
    assert_bad(BODY_TRACE, trace, 2, "cut off inside the header of a trace after 2 bytes");
    assert_bad(BODY_TRACE, "go 1.22 tracks\0\0\0", 17,
               "this is no execution trace: it begins with \"go 1.22 tracks??\"");
    assert_bad(BODY_TRACE, "\1\2\3", 3,
               "this is not a trace: cut off inside the header of a trace after 3 bytes");
    assert_bad(BODY_TRACE, "\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, "this is gzip data, not a trace");
    struct check_result result;
    assert_int_equal(check_body(BODY_TRACE, trace, 16, 1, &result, NULL), -1);
    assert_int_equal(result.trace_minor, 22);
    assert_int_equal(check_body(BODY_TRACE, "go 1.99 trace\0\0\0x", 17, 1, &result, NULL), 0);
    assert_int_equal(result.trace_minor, 99);
}

static void cut_text_and_text_with_nul_are_bad(void **state)
{
    (void)state;
    static const char good[] = "goroutine 1 [running]:\nmain.main()\n";
    assert_good(BODY_TEXT, good, sizeof good - 1);
    assert_good(BODY_TEXT, "\n", 1);
    assert_bad(BODY_TEXT, good, sizeof good - 2, "the text is cut off in the middle of a line");
    assert_bad(BODY_TEXT, "a\nb\0c\0\n", 7, "this is no text: byte 3 is a NUL");
    assert_bad(BODY_TEXT, "ab\0", 3, "this is no text: byte 2 is a NUL");
    /* A retry would get the NUL again, so `resume` does not offer a retry. A cut text may be complete the
     * next time. */
    struct check_result result;
    assert_int_equal(check_body(BODY_TEXT, "a\nb\0c\0\n", 7, 1, &result, NULL), -1);
    assert_true(result.has_other_format);
    assert_int_equal(check_body(BODY_TEXT, good, sizeof good - 2, 1, &result, NULL), -1);
    assert_false(result.has_other_format);
}

/* net/http/pprof's stack dumps end at 64 MiB without a mark. */
static void a_dump_cut_by_the_server_is_bad(void **state)
{
    (void)state;
    static const struct {
        size_t more;     /* bytes after the first 64 MiB */
        char last;       /* the last byte */
        const char *msg; /* NULL: good */
    } cases[] = {
        {0, 'x', "the text is cut off in the middle of a line: cut by the server at 64 MiB"},
        {0, '\n', "the text is cut off: cut by the server at 64 MiB"},
        {1, 'x', "the text is cut off in the middle of a line"},
        {1, '\n', NULL},
    };
    size_t size = 67108864;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size + 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct check_result result;
        struct err err = ERR_INIT;
        size_t n = size + cases[i].more;
        text[n - 1] = cases[i].last;
        assert_int_equal(check_body(BODY_TEXT, text, n, 1 << 20, &result, &err), cases[i].msg ? -1 : 0);
        if (cases[i].msg)
            assert_string_equal(err.msg, cases[i].msg);
        text[n - 1] = 'x';
    }
    free(text);
}

static void check_damaged(void *ctx, const struct damaged *s)
{
    enum body_format format = *(const enum body_format *)ctx;
    struct check_result result;
    struct err err = ERR_INIT;
    int rc = check_body(format, s->p, s->n, 4, &result, &err);
    assert_int_equal(err.kind, rc ? ERR_FAILED : ERR_NONE);
    assert_true(rc == 0 || err.msg[0]);
    if (format == BODY_PPROF && rc == 0)
        assert_true(result.has_profile);
}

/* No cut of a gzip file is good; a flip is good only if it does not change the profile. */
static void check_damaged_gzip(void *ctx, const struct damaged *s)
{
    struct check_result result;
    check_damaged(ctx, s);
    int rc = check_body(BODY_PPROF, s->p, s->n, 4, &result, NULL);
    assert_true(rc == -1 || !s->cut);
    if (rc == 0)
        assert_int_equal(result.profile.types[0].total, 42);
}

/* A good text ends with a newline. */
static void check_damaged_text(void *ctx, const struct damaged *s)
{
    struct check_result result;
    check_damaged(ctx, s);
    if (check_body(BODY_TEXT, s->p, s->n, 4, &result, NULL) == 0)
        assert_int_equal(s->p[s->n - 1], '\n');
}

static void damaged_bodies_pass_or_fail_with_a_message(void **state)
{
    (void)state;
    static const char text[] = "goroutine 1 [running]:\nmain.main()\n\t/x/main.go:7 +0x1d\n";
    enum body_format pprof = BODY_PPROF, traces = BODY_TRACE, texts = BODY_TEXT, raw = BODY_RAW;
    struct buf gz = BUF_INIT(4096);
    gzip_bytes(&gz, profile, PROFILE_SIZE);
    damage_everywhere(gz.data, gz.len, check_damaged_gzip, &pprof);
    damage_everywhere(profile, PROFILE_SIZE, check_damaged, &pprof);
    damage_everywhere(trace, sizeof trace - 1, check_damaged, &traces);
    damage_everywhere(text, sizeof text - 1, check_damaged_text, &texts);
    damage_everywhere(text, sizeof text - 1, check_damaged, &raw);
    buf_release(&gz);
}

/* Checks a profile that is followed by this number of gzip members with 3 MiB of unknown fields each. */
static int check_inflating(size_t members, struct err *err)
{
    struct buf member = BUF_INIT(65536), first = BUF_INIT(4096), unknown = BUF_INIT((size_t)4 << 20);
    struct check_result result;
    struct check *c = check_new(BODY_PPROF, err);
    assert_non_null(c);
    while (unknown.len < (size_t)3 << 20)
        buf_add(&unknown, "\x98\x06\x01", 3);
    gzip_bytes(&member, unknown.data, unknown.len);
    gzip_bytes(&first, profile, PROFILE_SIZE);
    assert_int_equal(check_feed(c, first.data, first.len, err), 0);
    for (size_t i = 0; i < members; i++)
        assert_int_equal(check_feed(c, member.data, member.len, err), 0);
    int rc = check_finish(c, &result, err);
    check_free(c);
    buf_release(&member);
    buf_release(&first);
    buf_release(&unknown);
    return rc;
}

static void a_body_that_inflates_too_much_is_bad(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(check_inflating(30, &err), 0);
    assert_int_equal(check_inflating(60, &err), -1);
    assert_string_equal(err.msg,
                        "it inflates to more than 128 MiB plus 64 times its size, as no real profile does");
}

/* ---- limits of processor time ----------------------------------------------------------------------------
 */

/* The processor time of this thread, as the check sees it: each call adds `step`, if it is not 0. */
static int64_t fake_step_ns, fake_now_ns;

int64_t __real_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void);
int64_t __wrap_clock_thread_cpu_ns(void)
{
    return fake_step_ns ? fake_now_ns += fake_step_ns : __real_clock_thread_cpu_ns();
}

/* Checks the body byte by byte within the limit. */
static int check_within(struct check_limit *limit, enum body_format format, const void *p, size_t n,
                        struct check_result *ret, struct err *err)
{
    struct check *c = check_new(format, err);
    assert_non_null(c);
    check_set_limit(c, limit);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(check_feed(c, (const char *)p + i, 1, err), 0);
    int rc = check_finish(c, ret, err);
    check_free(c);
    return rc;
}

/* For each byte the check counts the time twice (before and after the scan). */
static void a_body_has_a_limit_of_processor_time(void **state)
{
    struct check_limit limit;
    struct check_result result;
    struct err err = ERR_INIT;
    (void)state;
    check_limit_init(&limit);
    fake_step_ns = (INT64_C(1980) * 1000000) / (2 * PROFILE_SIZE);
    assert_ok(check_within(&limit, BODY_PPROF, profile, PROFILE_SIZE, &result, &err), &err);
    assert_true(result.has_profile);
    fake_step_ns = (INT64_C(2020) * 1000000) / (2 * PROFILE_SIZE);
    assert_int_equal(check_within(&limit, BODY_PPROF, profile, PROFILE_SIZE, &result, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_string_equal(err.msg, "checking its body takes more than 2.0 s of processor time, more than real "
                                 "profiles need: the rest is not checked");
    assert_non_null(strstr(err.hint, "`profgrab pprof FILE`"));
    assert_false(result.has_profile || result.has_other_format);
    check_limit_release(&limit);
    fake_step_ns = 0;
}

static void a_trace_has_a_limit_of_processor_time(void **state)
{
    struct check_limit limit;
    struct check_result result;
    struct err err = ERR_INIT;
    (void)state;
    check_limit_init(&limit);
    fake_step_ns = INT64_C(1000000000);
    assert_int_equal(check_within(&limit, BODY_TRACE, "go 1.22 trace\0\0\0", 16, &result, &err), -1);
    assert_string_equal(err.msg, "checking its body takes more than 2.0 s of processor time, more than real "
                                 "profiles need: the rest is not checked");
    check_limit_release(&limit);
    fake_step_ns = 0;
}

/* Text needs no limit, because a check of it takes little time for each byte. */
static void all_bodies_of_a_process_share_a_limit(void **state)
{
    struct check_limit limit;
    struct check_result result;
    struct err err = ERR_INIT;
    (void)state;
    check_limit_init(&limit);
    fake_step_ns = (INT64_C(1900) * 1000000) / (2 * PROFILE_SIZE);
    for (int i = 0; i < 5; i++)
        assert_ok(check_within(&limit, BODY_PPROF, profile, PROFILE_SIZE, &result, &err), &err);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(check_within(&limit, BODY_PPROF, profile, PROFILE_SIZE, &result, &err), -1);
        assert_string_equal(err.msg,
                            "checking all bodies of this process takes more than 10.0 s of processor "
                            "time, more than real profiles need: the rest is not checked");
    }
    assert_ok(check_within(&limit, BODY_TEXT, "text\n", 5, &result, &err), &err);
    check_limit_release(&limit);
    fake_step_ns = 0;
}

/* Both limits grow with the received bytes; the one for all bodies up to 60 s. */
static void limits_of_processor_time_grow_with_the_bytes(void **state)
{
    struct check_limit limit;
    struct err err = ERR_INIT;
    (void)state;
    check_limit_init(&limit);
    fake_step_ns = 1;
    struct check_time body = {.limit = &limit};
    check_time_begin(&body, 100000000);
    fake_now_ns += INT64_C(19000000000);
    assert_ok(check_time_count(&body, &err), &err);
    fake_now_ns += INT64_C(1500000000);
    assert_int_equal(check_time_count(&body, &err), -1);
    assert_non_null(strstr(err.msg, "all bodies of this process takes more than 20.0 s"));
    check_time_begin(&body, UINT64_C(1000000000000000));
    assert_ok(check_time_count(&body, &err), &err);
    fake_now_ns += INT64_C(40000000000);
    assert_int_equal(check_time_count(&body, &err), -1);
    assert_non_null(strstr(err.msg, "all bodies of this process takes more than 60.0 s"));
    check_limit_release(&limit);
    fake_step_ns = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_body_is_bad),
        cmocka_unit_test(a_profile_is_good_with_and_without_gzip),
        cmocka_unit_test(a_damaged_profile_is_bad),
        cmocka_unit_test(a_long_damaged_profile_has_the_same_message),
        cmocka_unit_test(bytes_after_a_profile_are_bad_but_keep_its_summary),
        cmocka_unit_test(an_html_page_is_no_profile_trace_or_text),
        cmocka_unit_test(other_data_is_named_in_the_message),
        cmocka_unit_test(a_raw_path_refuses_a_page),
        cmocka_unit_test(the_beginning_of_a_body_is_printable_and_cut),
        cmocka_unit_test(cut_traces_are_bad),
        cmocka_unit_test(cut_text_and_text_with_nul_are_bad),
        cmocka_unit_test(a_dump_cut_by_the_server_is_bad),
        cmocka_unit_test(damaged_bodies_pass_or_fail_with_a_message),
        cmocka_unit_test(a_body_that_inflates_too_much_is_bad),
        cmocka_unit_test(a_body_has_a_limit_of_processor_time),
        cmocka_unit_test(a_trace_has_a_limit_of_processor_time),
        cmocka_unit_test(all_bodies_of_a_process_share_a_limit),
        cmocka_unit_test(limits_of_processor_time_grow_with_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
