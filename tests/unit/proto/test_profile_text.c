/* The text formats of Go's runtime and of its predecessors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "proto/proto.h"
#include "tests/unit/profile_make.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static struct profile *parse_text(const char *text)
{
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    assert_ok(profile_parse(text, strlen(text), 1 << 20, &p, &err), &err);
    assert_ok(profile_check(p, &err), &err);
    return p;
}

static void assert_string_is(const struct profile *p, uint32_t string, const char *text)
{
    struct str s = profile_str(p, string);
    if (!str_is(s, text))
        fail_msg("\"%.*s\" instead of \"%s\"", (int)s.n, s.p, text);
}

static void assert_text_refused(const char *text, enum err_kind kind, const char *msg)
{
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    assert_refused(profile_parse(text, strlen(text), 1 << 20, &p, &err), &err, kind, msg);
}

static const char goroutines[] = "goroutine profile: total 7\n"
                                 "5 @ 0x46e6c1 0x40a0c5 0x4dcd45\n"
                                 "# labels: {\"a\":\"b\"}\n"
                                 "#\t0x46e6c0\tmain.f+0x1\t/src/f.go:3\n"
                                 "\n"
                                 "2 @ 0x40a0c5\r\n";

static void a_legacy_count_profile_is_read(void **state)
{
    (void)state;
    struct profile *p = parse_text(goroutines);
    assert_string_is(p, p->sample_types[0].type, "goroutine");
    assert_string_is(p, p->period_type.unit, "count");
    assert_true(p->n_samples == 2 && p->n_locations == 3 && p->period == 1);
    assert_true(p->values[0] == 5 && p->values[1] == 2);
    assert_int_equal(p->samples[0].depth, 3);
    assert_int_equal(p->locations[0].address, 0x46e6c0);
    assert_int_equal(profile_frame(p, &p->samples[1], 0), profile_frame(p, p->samples, 1));
    /* Go's text has no mappings, so the parser makes one. */
    assert_int_equal(p->n_mappings, 1);
    assert_int_equal(p->mappings[0].limit, UINT64_MAX);
    struct str drop = profile_str(p, p->drop_frames);
    assert_true(str_begins(drop, "ProfileData::Add|"));
    profile_free(p);
    p = parse_text("threadcreate profile: total 0\n");
    assert_int_equal(p->n_samples, 0);
    profile_free(p);
}

/* An allocation of 1024 bytes is sampled with probability 1 - exp(-1/4) at a rate of 4096. */
static const char heap[] = "heap profile: 3: 3072 [5: 5120] @ heap/8192\n"
                           "3: 3072 [5: 5120] @ 0x401001 0x402001\n"
                           "0: 0 [0: 0] @ 0x401001\n"
                           "\n"
                           "# runtime.MemStats\n"
                           "# Alloc = 5\n";

static void a_legacy_heap_profile_is_read(void **state)
{
    (void)state;
    struct profile *p = parse_text(heap);
    assert_int_equal(p->n_sample_types, 4);
    assert_string_is(p, p->sample_types[0].type, "alloc_objects");
    assert_string_is(p, p->sample_types[3].type, "inuse_space");
    assert_int_equal(p->period, 4096);
    assert_memory_equal(p->values, ((int64_t[]){22, 23146, 13, 13887}), 4 * sizeof(int64_t));
    assert_true(p->labels[0].is_number && p->labels[0].num == 1024 && p->labels[0].unit == 0);
    assert_string_is(p, p->labels[0].key, "bytes");
    /* A size of 0 does not remove a sample. */
    assert_true(p->samples[1].n_labels == 1 && p->labels[1].num == 0);
    assert_string_is(p, p->keep_frames, "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*");
    profile_free(p);

    p = parse_text("heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 [1: 2] @ 0x10\n");
    assert_int_equal(p->n_sample_types, 2);
    assert_memory_equal(p->values, ((int64_t[]){1, 2}), 2 * sizeof(int64_t));
    profile_free(p);
    p = parse_text("heap profile: 1: 2 [1: 2] @ growthz\n-1: -2 [0: 0] @ 0x10\n");
    assert_memory_equal(p->values, ((int64_t[]){-1, -2}), 2 * sizeof(int64_t));
    profile_free(p);
}

static const char mutex[] = "--- mutex:\n"
                            "cycles/second=2000000000\n"
                            "sampling period=10\n"
                            "3000 2 @ 0x401001 0x402001\n";

static void a_legacy_contention_profile_is_read(void **state)
{
    (void)state;
    struct profile *p = parse_text(mutex);
    assert_string_is(p, p->sample_types[1].type, "delay");
    assert_int_equal(p->period, 10);
    assert_memory_equal(p->values, ((int64_t[]){20, 15000}), 2 * sizeof(int64_t));
    profile_free(p);
    p = parse_text("--- contentionz 1 ---\nms since reset = 5\n12 @ 0x9\n");
    assert_int_equal(p->duration_ns, 5000000);
    assert_memory_equal(p->values, ((int64_t[]){2, 1}), 2 * sizeof(int64_t));
    profile_free(p);
}

static const char threads[] = "--- threadz 1 ---\n"
                              "\n"
                              "--- Thread 7f0 (name: main/14748) stack: ---\n"
                              "  PC: 0x1000 0x2001: f\n"
                              "  0x3001: g\n"
                              "--- Thread 7f1 (name: b/c/14749) stack: ---\n"
                              "  [same as previous thread]\n"
                              "--- Memory map: ---\n"
                              "  00002000-00004000: /bin/x (@1000) abc\n"
                              "  build=/lib\n"
                              "  00000000-00002000 r-xp 00000000 08:01 123 $build/libc.so\n"
                              "  00005000-00006000 rw-p 00000000 08:01 123 /bin/x\n";

static void legacy_thread_stacks_are_read(void **state)
{
    (void)state;
    struct profile *p = parse_text(threads);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->values[0], 2);
    assert_int_equal(p->n_locations, 3);
    assert_int_equal(p->locations[0].address, 0x1000);
    assert_int_equal(p->locations[1].address, 0x2000);
    /* The program is first, non-executable mappings are left out, and $build is replaced. */
    assert_int_equal(p->n_mappings, 2);
    assert_string_is(p, p->mappings[0].file, "/bin/x");
    assert_string_is(p, p->mappings[0].build_id, "abc");
    assert_int_equal(p->mappings[0].offset, 0x1000);
    assert_string_is(p, p->mappings[1].file, "/lib/libc.so");
    assert_int_equal(p->locations[0].mapping, 1);
    assert_int_equal(p->locations[2].mapping, 0);
    profile_free(p);
}

/* Returns the number of the mapping of an address. Compares the address with each mapping, as google/pprof
 * does. May extend a mapping or add one. */
static uint64_t expected_mapping(struct profile_mapping *maps, size_t *n, uint64_t address)
{
    for (size_t i = 0; i < *n; i++)
        if (maps[i].start <= address && address < maps[i].limit)
            return i + 1;
    for (size_t i = 0; i < *n; i++)
        if (maps[i].offset && maps[i].start - maps[i].offset <= address && address < maps[i].start) {
            maps[i].start -= maps[i].offset;
            maps[i].offset = 0;
            return i + 1;
        }
    maps[*n] = (struct profile_mapping){.limit = UINT64_MAX};
    return ++*n;
}

/* Mappings that overlap, have holes between them, and may be extended. */
static void overlapping_mappings_are_read(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 500; round++) {
        struct profile_mapping maps[21] = {0};
        struct buf text = BUF_INIT(10000);
        size_t n = 20;
        buf_adds(&text, "heap profile: 1: 1 [1: 1] @ heap/1\n");
        for (unsigned i = 0; i < 20; i++)
            buf_addf(&text, "1: 1 [1: 1] @ 0x%zx\n", random_below(&seed, 0x200) + 2);
        buf_adds(&text, "--- Memory map: ---\n");
        for (unsigned i = 0; i < n; i++) {
            maps[i].start = random_below(&seed, 0x200);
            maps[i].limit = maps[i].start + random_below(&seed, 0x20);
            maps[i].offset = random_below(&seed, 2) * random_below(&seed, 0x40);
            /* The mappings have different names, so that adjacent mappings are not merged. */
            buf_addf(&text, "%03x-%03x r-xp %03x 0:0 0 [%u]\n", (unsigned)maps[i].start,
                     (unsigned)maps[i].limit, (unsigned)maps[i].offset, i);
        }
        struct profile *p = parse_text(buf_str(&text));
        for (size_t i = 0; i < p->n_locations; i++)
            assert_int_equal(p->locations[i].mapping + 1,
                             expected_mapping(maps, &n, p->locations[i].address));
        assert_int_equal(p->n_mappings, n);
        for (size_t i = 0; i < n; i++)
            assert_true(p->mappings[i].start == maps[i].start && p->mappings[i].offset == maps[i].offset);
        profile_free(p);
        buf_release(&text);
    }
}

static void invalid_texts_are_refused(void **state)
{
    (void)state;
    static const char unrecognized[] = "parsing profile: unrecognized profile format";
    assert_text_refused("anything\n", ERR_UNRECOGNIZED, unrecognized);
    assert_text_refused("heap profile: 1: 2 [1: 2] @ heap/x\nno\n", ERR_FAILED,
                        "parsing profile: unexpected number of sample values: got 0, want 6");
    assert_text_refused("heap profile: 1: 2 [1: 2] @ heap/1\n0: 1 [0: 0] @ 0x1\n", ERR_FAILED,
                        "parsing profile: inuse count was 0 but inuse bytes was 1");
    assert_text_refused("heap profile: 1: 2 [1: 2] @ heap_v9/1\n", ERR_UNRECOGNIZED, unrecognized);
    assert_text_refused("x profile: total 1\n1 @\n", ERR_FAILED, "parsing profile: malformed profile format");
    assert_text_refused("x profile: total 1\n1 @ 0x12345678901234567\n", ERR_FAILED,
                        "parsing profile: malformed profile format");
    assert_text_refused("--- mutex:\nformat=java\n", ERR_UNRECOGNIZED, unrecognized);
    assert_text_refused(
        "--- mutex:\n1 2 @ 0x12345678901234567\n", ERR_FAILED,
        "parsing profile: malformed sample: 1 2 @ 0x12345678901234567: failed to parse as hex 64-bit "
        "number: 0x12345678901234567");
}

/* Lines on which backtracking would take exponential time: none of them matches. */
static void lines_that_backtrack_take_linear_time(void **state)
{
    (void)state;
    static const char *const heads[] = {"--- mutex:\n", "x profile: total 1\n--- Memory map: ---\n",
                                        "heap profile: 1: 2 [1: 2] @ heap/1\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct buf b = BUF_INIT(1 << 20);
        struct err err = ERR_INIT;
        struct profile *p = NULL;
        buf_adds(&b, heads[i]);
        for (size_t k = 0; k < 65000; k++)
            buf_addc(&b, '1');
        if (profile_parse(b.data, b.len, 1 << 20, &p, &err) == 0)
            profile_free(p);
        for (size_t k = 0; k < 600; k++)
            buf_addc(&b, '1');
        assert_text_refused(buf_str(&b), ERR_FAILED, "parsing profile: bufio.Scanner: token too long");
        buf_release(&b);
    }
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    size_t *n_accepted = ctx;
    if (profile_parse(s->p, s->n, 1 << 20, &p, &err) < 0) {
        assert_true((err.kind == ERR_FAILED || err.kind == ERR_UNRECOGNIZED) && *err.msg);
        return;
    }
    ++*n_accepted;
    assert_int_equal(profile_check(p, &err), 0);
    profile_free(p);
}

static void damaged_texts_are_safe(void **state)
{
    (void)state;
    static const char *const texts[] = {goroutines, heap, mutex, threads};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t n_accepted = 0;
        damage_everywhere(texts[i], strlen(texts[i]), read_damaged, &n_accepted);
        assert_true(n_accepted > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_legacy_count_profile_is_read),
        cmocka_unit_test(a_legacy_heap_profile_is_read),
        cmocka_unit_test(a_legacy_contention_profile_is_read),
        cmocka_unit_test(legacy_thread_stacks_are_read),
        cmocka_unit_test(overlapping_mappings_are_read),
        cmocka_unit_test(invalid_texts_are_refused),
        cmocka_unit_test(lines_that_backtrack_take_linear_time),
        cmocka_unit_test(damaged_texts_are_safe),
    };
    return cmocka_run_group_tests_name("profile_text", tests, NULL, NULL);
}
