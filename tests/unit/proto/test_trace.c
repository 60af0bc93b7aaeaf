/* The check whether a trace is complete: hand-made traces of both formats, every error with its message, and
 * real traces that are cut at every byte and have each bit flipped. The real traces are of a program that
 * does almost nothing between trace.Start and trace.Stop, built with -trimpath: tests/data/trace/go-VERSION.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/proto.h"
#include "tests/unit/scratch.h"
#include "tests/unit/damage.h"

#include "base/banned.h"

#define HEADER(minor) "go 1." minor " trace\0\0\0"

static int scan_in_pieces(const void *p, size_t n, size_t piece, struct trace_summary *ret, struct err *err)
{
    const char *bytes = p;
    int rc = 0;
    struct trace_scan *s = trace_scan_new(err);
    assert_non_null(s);
    for (size_t i = 0; i < n && !rc; i += piece)
        rc = trace_scan_feed(s, bytes + i, n - i < piece ? n - i : piece, err);
    if (!rc)
        rc = trace_scan_finish(s, ret, err);
    trace_scan_free(s);
    return rc;
}

/* Scans the whole trace. Asserts that pieces of 1 and 7 bytes give the same result. */
static int scan_all_ways(const void *p, size_t n, struct trace_summary *ret, struct err *err)
{
    static const size_t pieces[] = {1, 7};
    *ret = (struct trace_summary){0};
    int rc = scan_in_pieces(p, n, SIZE_MAX, ret, err);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct trace_summary sum = {0};
        struct err again = ERR_INIT;
        assert_int_equal(scan_in_pieces(p, n, pieces[i], &sum, &again), rc);
        assert_string_equal(again.msg, err->msg);
        assert_memory_equal(&sum, ret, sizeof sum);
    }
    return rc;
}

static struct trace_summary scan_whole(const struct buf *b)
{
    struct trace_summary sum;
    struct err err = ERR_INIT;
    if (scan_all_ways(b->data, b->len, &sum, &err))
        fail_msg("%s", err.msg);
    return sum;
}

static void assert_refused_with(const struct buf *b, const char *msg)
{
    struct trace_summary sum;
    struct err err = ERR_INIT;
    assert_int_equal(scan_all_ways(b->data, b->len, &sum, &err), -1);
    assert_string_equal(err.msg, msg);
    assert_int_equal(err.kind, ERR_FAILED);
}

/* Scans the bytes of the string literal and expects the error `msg`; NULL: the trace is complete. */
#define TRACE(literal, msg) assert_trace(literal, sizeof(literal) - 1, msg)

static void assert_trace(const char *p, size_t n, const char *msg)
{
    struct buf b = BUF_INIT(1 << 20);
    buf_add(&b, p, n);
    if (msg)
        assert_refused_with(&b, msg);
    else
        scan_whole(&b);
    buf_release(&b);
}

/* ---- the header -------------------------------------------------------------------------------------- */

static void the_header_of_a_trace_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        unsigned minor;
    } good[] = {{"go 1.5 trace\0\0\0\0", 5}, {"go 1.22 trace\0\0\0", 22}, {"go 1.126 trace\0\0", 126}};
    static const char *const bad[] = {
        "go 1.22 trace\0\0x", "go 1. trace\0\0\0\0\0", "go 2.22 trace\0\0\0",  "go 1.22 trac\0\0\0\0",
        "go 1.2222 trace\0",  "<!DOCTYPE html>\n",     "go 1.22\0trace\0\0\0", "go 1.22 tracer\0\0",
    };
    struct err err = ERR_INIT;
    unsigned minor = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(trace_parse_header(good[i].header, 16, &minor, &err), 0);
        assert_int_equal(minor, good[i].minor);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(trace_parse_header(bad[i], 16, &minor, &err), -1);
        assert_int_equal(minor, 126);
    }
    trace_parse_header(bad[5], 16, &minor, &err);
    assert_string_equal(err.msg, "this is no execution trace: it begins with \"<!DOCTYPE html>\"");
    for (size_t n = 0; n < 16; n++) {
        char msg[80];
        snprintf(msg, sizeof msg, "cut off inside the header of a trace after %zu bytes", n);
        assert_int_equal(trace_parse_header(good[1].header, n, &minor, &err), -1);
        assert_string_equal(err.msg, msg);
    }
}

/* ---- batches ----------------------------------------------------------------------------------------- */

/* Batches of generation `g` at time 300. EVENTS is of no thread, the others are of thread 7. CLOCK and SYNC
 * both have the clock's frequency: SYNC is the form of Go 1.25 and later. */
#define CLOCK(g) "\x01" g "\x07\xac\x02\x02\x08\x05"
#define SYNC(g) "\x01" g "\x07\xac\x02\x03\x32\x08\x05"
#define STRINGS(g) "\x01" g "\x07\xac\x02\x84\x80\x00\x04\x05\x01\x00"
#define EVENTS(g) "\x01" g "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xac\x02\x02\x0d\x01"
#define EXPERIMENT(g) "\x31\x01" g "\x07\xac\x02\x02\x04\x04"
#define END "\x34"

static void batches_of_each_version_are_read(void **state)
{
    (void)state;
    TRACE(HEADER("22") EVENTS("\1") CLOCK("\1") STRINGS("\1"), NULL);
    TRACE(HEADER("22") STRINGS("\1") CLOCK("\1") EVENTS("\1"), NULL);
    TRACE(HEADER("23") CLOCK("\5") STRINGS("\5") EXPERIMENT("\5") CLOCK("\6") STRINGS("\6"), NULL);
    TRACE(HEADER("25") SYNC("\1") STRINGS("\1") SYNC("\2") STRINGS("\2"), NULL);
    TRACE(HEADER("26") SYNC("\1") EVENTS("\1") STRINGS("\1") END SYNC("\2") STRINGS("\2") END, NULL);
    /* A generation may have any number if the end of the previous one is marked. */
    TRACE(HEADER("26") SYNC("\1") STRINGS("\1") END SYNC("\7") STRINGS("\7") END, NULL);
    /* An empty batch. */
    TRACE(HEADER("22") CLOCK("\1") "\x01\x01\x07\x01\x00" STRINGS("\1"), NULL);
}

static void batches_and_generations_are_counted(void **state)
{
    (void)state;
    static const char trace[] =
        HEADER("23") CLOCK("\1") STRINGS("\1") EXPERIMENT("\1") CLOCK("\2") STRINGS("\2");
    struct buf b = BUF_INIT(1 << 10);
    buf_add(&b, trace, sizeof trace - 1);
    struct trace_summary sum = scan_whole(&b);
    assert_int_equal(sum.minor, 23);
    assert_int_equal(sum.batches, 5);
    assert_int_equal(sum.generations, 2);
    assert_int_equal(sum.events, 0);
    buf_release(&b);
}

static void invalid_batches_are_refused(void **state)
{
    (void)state;
    TRACE(HEADER("22") CLOCK("\1") STRINGS("\1") "x",
          "at byte 36: expected the start of a batch, found the type 120");
    TRACE(HEADER("25") SYNC("\1") STRINGS("\1") END,
          "at byte 37: expected the start of a batch, found the type 52");
    TRACE(HEADER("22") CLOCK("\0"),
          "at byte 16: a batch of generation 0, the previous batch has generation 0");
    TRACE(HEADER("22") CLOCK("\3") STRINGS("\3") CLOCK("\5"),
          "at byte 36: a batch of generation 5, the previous batch has generation 3");
    TRACE(HEADER("22") CLOCK("\3") STRINGS("\3") CLOCK("\2"),
          "at byte 36: a batch of generation 2, the previous batch has generation 3");
    TRACE(HEADER("26") SYNC("\1") STRINGS("\1") SYNC("\2"),
          "at byte 37: a batch of generation 2, the previous batch has generation 1");
    TRACE(HEADER("22") "\x01\x01\x07\x01\x81\x80\x04",
          "at byte 16: a batch has 65537 bytes, which is too many");
    TRACE(HEADER("22") "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
          "at byte 16: a number of more than 64 bits");
    TRACE(HEADER("22") "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81",
          "at byte 16: a number of more than 64 bits");
}

static void incomplete_generations_are_refused(void **state)
{
    (void)state;
    TRACE(HEADER("22") EVENTS("\1") STRINGS("\1") CLOCK("\2"),
          "at byte 45: the generation that ends here lacks its clock's frequency");
    TRACE(HEADER("22") CLOCK("\1") CLOCK("\2"),
          "at byte 24: the generation that ends here lacks its strings");
    /* The clock event is that of another version. */
    TRACE(HEADER("25") CLOCK("\1") STRINGS("\1"),
          "cut off after 36 bytes: the trace lacks its clock's frequency");
    TRACE(HEADER("23") SYNC("\1") STRINGS("\1"),
          "cut off after 37 bytes: the trace lacks its clock's frequency");
    TRACE(HEADER("26") SYNC("\1") END, "at byte 25: the generation that ends here lacks its strings");
    TRACE(HEADER("26") END, "at byte 16: the generation that ends here lacks its clock's frequency");
    /* The content of an experiment is not checked. */
    TRACE(HEADER("23") CLOCK("\1") EXPERIMENT("\1"), "cut off after 33 bytes: the trace lacks its strings");
}

static void cut_batches_are_refused(void **state)
{
    (void)state;
    TRACE(HEADER("22") EVENTS("\1"), "cut off after 33 bytes: the trace lacks its clock's frequency");
    TRACE(HEADER("25") SYNC("\1"), "cut off after 25 bytes: the trace lacks its strings");
    TRACE(HEADER("26") SYNC("\1") STRINGS("\1"),
          "cut off after 37 bytes: the trace lacks the end of its last generation");
    TRACE(HEADER("22") "\x01", "cut off inside a batch after 17 bytes");
    TRACE(HEADER("23") "\x31", "cut off inside a batch after 17 bytes");
    TRACE(HEADER("22") "\x01\x01\x07\xac", "cut off inside a batch after 20 bytes");
    TRACE(HEADER("22") "\x01\x01\x07\x01\x01", "cut off inside a batch after 21 bytes");
    TRACE(HEADER("22") "\x01\x01\x07\x01\x02\x08", "cut off inside a batch after 22 bytes");
    TRACE("go 1.26 tr", "cut off inside the header of a trace after 10 bytes");
    TRACE("", "cut off inside the header of a trace after 0 bytes");
    TRACE(HEADER("22"), "the trace has nothing after its header");
    TRACE(HEADER("19"), "the trace has nothing after its header");
}

static void a_batch_of_the_maximum_size_is_read(void **state)
{
    (void)state;
    static const char begin[] = HEADER("22") CLOCK("\1") "\x01\x01\x07\x01\x80\x80\x04";
    struct buf b = BUF_INIT(1 << 20);
    buf_add(&b, begin, sizeof begin - 1);
    for (int i = 0; i < 65536; i++)
        buf_addc(&b, '\4');
    scan_whole(&b);
    b.len--;
    assert_refused_with(&b, "cut off inside a batch after 65566 bytes");
    buf_release(&b);
}

/* ---- events ------------------------------------------------------------------------------------------ */

/* Events: the beginning of a batch of processor 0, the clock's frequency, the string "ab", the start of a
 * processor, a stack of one frame, a message of the program. */
#define BEGIN "\x41\x00\x64"
#define HERTZ "\x02\x90\x4e"
#define STRING                                                                                               \
    "\x25\x01\x02"                                                                                           \
    "ab"
#define START "\x45\x01\x09"
#define STACK "\xc3\x06\x01\x01\x80\x00\x01\x02"
#define LOG "\xf0\x04\x01\x01\x01\x00\x03(((" /* its text follows */

static void events_of_older_versions_are_read(void **state)
{
    (void)state;
    TRACE(HEADER("11") BEGIN START HERTZ, NULL);
    TRACE(HEADER("19") BEGIN STRING START LOG "\xf0\x04\x01\x01\x01\x00\x00" HERTZ BEGIN, NULL);
    TRACE(HEADER("21") BEGIN "\xf1\x05\x01\x01\x01\x01\x01" HERTZ, NULL);
    TRACE(HEADER("19") BEGIN HERTZ "\xc3\x07\x01\x01\x80\x00\x01\x01\x02" /* four numbers for the frame */,
          NULL);
    TRACE(HEADER("19") BEGIN HERTZ "\xc3\x02\x01\x00" /* no frame */, NULL);
}

static void events_are_counted(void **state)
{
    (void)state;
    static const char trace[] = HEADER("19") BEGIN START STRING LOG BEGIN HERTZ;
    struct buf b = BUF_INIT(1 << 10);
    buf_add(&b, trace, sizeof trace - 1);
    struct trace_summary sum = scan_whole(&b);
    assert_int_equal(sum.minor, 19);
    assert_int_equal(sum.batches, 2);
    assert_int_equal(sum.events, 6);
    assert_int_equal(sum.generations, 0);
    buf_release(&b);
}

static void invalid_events_are_refused(void **state)
{
    (void)state;
    TRACE(HEADER("19") BEGIN "\x80", "at byte 19: an event of the unknown type 0");
    TRACE(HEADER("19") BEGIN "\x32", "at byte 19: an event of the unknown type 50");
    TRACE(HEADER("11") BEGIN "\xf1", "at byte 19: an event of the unknown type 49");
    TRACE(HEADER("19") BEGIN "\x05\x01", "at byte 19: an event of type 5 with 1 arguments");
    TRACE(HEADER("19") "\x81\x00\x01\x02", "at byte 16: an event of type 1 with 3 arguments");
    TRACE(HEADER("19") BEGIN "\xc5\x00", "at byte 19: an event of type 5 with 0 arguments");
    TRACE(HEADER("19") BEGIN "\xc3\x05\x01\x01\x01\x01\x01",
          "at byte 19: an event of type 3 with 5 arguments");
    TRACE(HEADER("19") BEGIN "\xcd\x04\x01\x01\x01\x81\x01",
          "at byte 19: an event's last argument continues after its end");
    TRACE(HEADER("19") BEGIN "\xcd\x81\x80\x04", "at byte 19: an event has 65537 bytes, which is too many");
    TRACE(HEADER("19") BEGIN "\x25\x00", "at byte 19: a string with the number 0");
    TRACE(HEADER("19") BEGIN "\x25\x01\x00",
          "at byte 19: a string has 0 bytes, which are too few or too many");
    TRACE(HEADER("19") BEGIN "\x25\x01\xc1\x84\x3d",
          "at byte 19: a string has 1000001 bytes, which are too few or too many");
    TRACE(HEADER("19") BEGIN "\x45\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
          "at byte 19: a number of more than 64 bits");
}

static void cut_events_are_refused(void **state)
{
    (void)state;
    TRACE(HEADER("19") BEGIN START, "cut off after 22 bytes: the trace lacks its clock's frequency");
    TRACE(HEADER("19") BEGIN HERTZ "\x45", "cut off inside an event after 23 bytes");
    TRACE(HEADER("19") BEGIN HERTZ "\x45\x80", "cut off inside an event after 24 bytes");
    TRACE(HEADER("19") BEGIN HERTZ "\xc3", "cut off inside an event after 23 bytes");
    TRACE(HEADER("19") BEGIN HERTZ "\xc3\x06\x01", "cut off inside an event after 25 bytes");
    TRACE(HEADER("19") BEGIN HERTZ "\x25", "cut off inside a string after 23 bytes");
    TRACE(HEADER("19") BEGIN HERTZ "\x25\x01", "cut off inside a string after 24 bytes");
    TRACE(HEADER("19") BEGIN HERTZ "\x25\x01\x02x", "cut off inside a string after 26 bytes");
}

/* ---- other versions ---------------------------------------------------------------------------------- */

static void unknown_versions_are_accepted_unread(void **state)
{
    (void)state;
    TRACE(HEADER("27") "\xff\xfe anything", NULL);
    TRACE(HEADER("20") "x", NULL);
    TRACE("go 1.5 trace\0\0\0\0x", NULL);
    TRACE(HEADER("27"), "the trace has nothing after its header");
    TRACE(HEADER("2x") "x", "this is no execution trace: it begins with \"go 1.2x trace???\"");
}

static void an_error_is_returned_by_each_later_call(void **state)
{
    (void)state;
    struct trace_summary sum = {.minor = 77};
    struct err err = ERR_INIT;
    struct trace_scan *s = trace_scan_new(&err);
    assert_non_null(s);
    assert_int_equal(trace_scan_feed(s, HEADER("22") "x", 17, &err), -1);
    err = (struct err)ERR_INIT;
    assert_int_equal(trace_scan_feed(s, CLOCK("\1"), 8, &err), -1);
    assert_string_equal(err.msg, "at byte 16: expected the start of a batch, found the type 120");
    err = (struct err)ERR_INIT;
    assert_int_equal(trace_scan_finish(s, &sum, &err), -1);
    assert_string_equal(err.msg, "at byte 16: expected the start of a batch, found the type 120");
    assert_int_equal(sum.minor, 77);
    trace_scan_free(s);
    trace_scan_free(NULL);
}

/* ---- real traces ------------------------------------------------------------------------------------- */

/* `accepted_cuts`: how many of the cuts the scan accepts. Up to Go 1.21, it cannot detect a cut between two
 * events after the clock's frequency. */
static const struct real {
    const char *name;
    struct trace_summary sum;
    size_t accepted_cuts;
} reals[] = {
    {"go-1.19", {.minor = 19, .batches = 2, .events = 81}, 48},
    {"go-1.21", {.minor = 21, .batches = 2, .events = 83}, 48},
    {"go-1.22", {.minor = 22, .batches = 5, .generations = 1}, 0},
    {"go-1.25", {.minor = 25, .batches = 5, .generations = 1}, 0},
    {"go-1.26", {.minor = 26, .batches = 5, .generations = 1}, 0},
};
#define N_REALS (sizeof reals / sizeof *reals)

static struct buf real_trace(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "tests/data/trace/%s", name);
    return scratch_read(path);
}

static void real_traces_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_REALS; i++) {
        struct buf b = real_trace(reals[i].name);
        struct trace_summary sum = scan_whole(&b);
        assert_memory_equal(&sum, &reals[i].sum, sizeof sum);
        buf_release(&b);
    }
}

/* Damaged traces that the scan accepted. */
struct tally {
    size_t cuts, flips;
};

static void scan_damaged(void *ctx, const struct damaged *s)
{
    struct tally *tally = ctx;
    struct trace_summary sum;
    struct err err = ERR_INIT;
    if (scan_all_ways(s->p, s->n, &sum, &err)) {
        assert_int_equal(err.kind, ERR_FAILED);
        assert_true(err.msg[0]);
        return;
    }
    tally->cuts += s->cut;
    tally->flips += !s->cut;
}

/* Most flips hit the inside of a batch or an argument, which is not checked. */
static void damaged_real_traces_are_safe(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_REALS; i++) {
        struct tally tally = {0};
        struct buf b = real_trace(reals[i].name);
        damage_everywhere(b.data, b.len, scan_damaged, &tally);
        assert_int_equal(tally.cuts, reals[i].accepted_cuts);
        assert_true(tally.flips < b.len * 8 - 500);
        buf_release(&b);
    }
}

/* A trace that is cut between two generations is the same as a shorter trace. */
static void a_trace_cut_between_generations_is_shorter(void **state)
{
    (void)state;
    struct buf b = real_trace("go-1.26-three-generations");
    size_t passed = 0;
    struct trace_summary sum = scan_whole(&b);
    assert_int_equal(sum.batches, 20);
    assert_int_equal(sum.generations, 3);
    for (size_t n = 0; n < b.len; n++) {
        struct err err = ERR_INIT;
        if (scan_all_ways(b.data, n, &sum, &err) == 0)
            assert_int_equal(sum.generations, ++passed);
    }
    assert_int_equal(passed, 2);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_of_a_trace_is_read),
        cmocka_unit_test(batches_of_each_version_are_read),
        cmocka_unit_test(batches_and_generations_are_counted),
        cmocka_unit_test(invalid_batches_are_refused),
        cmocka_unit_test(incomplete_generations_are_refused),
        cmocka_unit_test(cut_batches_are_refused),
        cmocka_unit_test(a_batch_of_the_maximum_size_is_read),
        cmocka_unit_test(events_of_older_versions_are_read),
        cmocka_unit_test(events_are_counted),
        cmocka_unit_test(invalid_events_are_refused),
        cmocka_unit_test(cut_events_are_refused),
        cmocka_unit_test(unknown_versions_are_accepted_unread),
        cmocka_unit_test(an_error_is_returned_by_each_later_call),
        cmocka_unit_test(real_traces_are_read),
        cmocka_unit_test(damaged_real_traces_are_safe),
        cmocka_unit_test(a_trace_cut_between_generations_is_shorter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
