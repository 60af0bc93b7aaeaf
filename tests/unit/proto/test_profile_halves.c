/* A profile large enough for two threads with a half each: the result equals that of one thread, also in
 * error messages. On one processor, one thread reads both halves. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/profile_make.h"
#include "base/banned.h"

/* A large profile has the same block of samples many times. */
enum { N_BLOCKS = 240, BLOCK_SAMPLES = 1000, MANY_LOCATIONS = 70000, MAX_DEPTH = 12 };

/* A sample that differs from the others. */
struct odd_sample {
    size_t at; /* index of the block of samples after it; 0: none */
    const char *bytes;
    size_t n;
};

/* Returns the ID of a location. With `gaps` it takes up to five bytes. */
static uint64_t id_of(bool gaps, uint64_t location)
{
    return gaps && location % 3 == 0 ? location << 17 | 1 : gaps ? location * 2 : location;
}

static void add_sample(struct buf *b, uint64_t *seed, size_t n_locations, bool gaps)
{
    struct buf sample = BUF_INIT(1000), ids = BUF_INIT(200);
    size_t depth = random_below(seed, MAX_DEPTH);
    for (size_t i = 0; i < depth; i++)
        protobuf_append_number(&ids, id_of(gaps, 1 + random_below(seed, n_locations)));
    encode_bytes(&sample, 1, buf_str(&ids), ids.len);
    if (depth % 4 == 1)
        encode_number(&sample, 1, id_of(gaps, 1));
    encode_number(&sample, 2, random_below(seed, 1000));
    if (random_below(seed, 16) == 0)
        ENCODE(&sample, 3, 1, 1, 3, 1 + random_below(seed, 1000));
    encode_bytes(b, 2, sample.data, sample.len);
    buf_release(&ids);
    buf_release(&sample);
}

static struct buf large_profile(size_t n_locations, bool gaps, bool strings_first,
                                const struct odd_sample odd[2])
{
    static const char *const strings[] = {"", "a key", NULL};
    struct buf b = BUF_INIT((size_t)64 << 20), block = BUF_INIT((size_t)1 << 20);
    uint64_t seed = 7;
    ENCODE(&b, 1, 1, 1);
    if (strings_first)
        encode_strings(&b, strings);
    for (size_t i = 0; i < BLOCK_SAMPLES; i++)
        add_sample(&block, &seed, n_locations, gaps);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        for (size_t k = 0; i > 0 && k < 2; k++)
            if (odd[k].at == i)
                encode_bytes(&b, 2, odd[k].bytes, odd[k].n);
        buf_add(&b, block.data, block.len);
    }
    buf_release(&block);
    for (size_t i = 1; i <= n_locations; i++)
        ENCODE(&b, 4, 1, id_of(gaps, i), 3, i);
    if (!strings_first)
        encode_strings(&b, strings);
    return b;
}

/* Parses a profile and returns the bytes written again, or the error's message. */
static struct buf parse_outcome(const struct buf *b)
{
    struct err err = ERR_INIT;
    struct profile *p = NULL;
    struct buf ret = BUF_INIT((size_t)64 << 20);
    if (profile_parse(b->data, b->len, b->len, &p, &err) < 0) {
        buf_adds(&ret, err.msg);
        return ret;
    }
    assert_int_equal(profile_check(p, &err), 0);
    assert_int_equal(profile_write(p, add_bytes, &ret, &err), 0);
    profile_free(p);
    return ret;
}

/* Parses a profile with all processors, and asserts that one processor gives the same outcome. Returns the
 * outcome. */
static struct buf assert_same_outcome(const struct buf *b)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    struct buf with_all = parse_outcome(b);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    struct buf with_one = parse_outcome(b);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(with_all.len, with_one.len);
    assert_memory_equal(with_all.data, with_one.data, with_all.len);
    buf_release(&with_one);
    return with_all;
}

static void two_halves_equal_the_whole(void **state)
{
    (void)state;
    const struct odd_sample none[2] = {{0}};
    for (int gaps = 0; gaps < 2; gaps++) {
        struct buf b = large_profile(gaps ? MANY_LOCATIONS : 100, gaps, !gaps, none);
        struct buf written = assert_same_outcome(&b);
        assert_true(written.len > b.len / 2);
        buf_release(&written);
        buf_release(&b);
    }
}

#define EMPTY "", 0
#define TWO_VALUES "\x10\x01\x10\x01", 4
#define STRAY "\x08\x7f\x10\x01", 4
#define BROKEN "\x0a\x02\x01\x80\x10\x01", 6

/* Malformed bytes take precedence over a wrong number of values, and a wrong number over a missing location.
 * Of two wrong numbers the first is reported. Malformed bytes near the beginning make the file look like
 * another format. */
static void invalid_profiles_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct odd_sample odd[2];
        const char *message;
    } rows[] = {
        {{{1, EMPTY}, {200, TWO_VALUES}}, "malformed profile: mismatch: sample has 0 values vs. 1 types"},
        {{{200, TWO_VALUES}}, "malformed profile: mismatch: sample has 2 values vs. 1 types"},
        {{{1, STRAY}}, "malformed profile: sample has nil location"},
        {{{N_BLOCKS - 1, STRAY}}, "malformed profile: sample has nil location"},
        {{{1, STRAY}, {200, EMPTY}}, "malformed profile: mismatch: sample has 0 values vs. 1 types"},
        {{{1, EMPTY}, {200, BROKEN}}, "parsing profile: malformed profile format"},
        {{{N_BLOCKS / 2 - 1, BROKEN}, {200, STRAY}}, "parsing profile: malformed profile format"},
        {{{1, BROKEN}, {N_BLOCKS - 1, EMPTY}}, "parsing profile: unrecognized profile format"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b = large_profile(100, false, false, rows[i].odd), outcome = assert_same_outcome(&b);
        assert_string_equal(buf_str(&outcome), rows[i].message);
        buf_release(&outcome);
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_halves_equal_the_whole),
                                       cmocka_unit_test(invalid_profiles_are_refused)};
    return cmocka_run_group_tests_name("profile_halves", tests, NULL, NULL);
}
