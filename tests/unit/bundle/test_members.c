/* Many members of a bundle in any order: their content, and the number of passes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "bundle/bundle.h"
#include "bundle/reader.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tarball.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define MB ((size_t)1 << 20)
#define MAX_MEMBERS 1000

static size_t n_passes;

int __real_reader_open(const char *path, struct age_identities *by, struct reader **ret, struct err *err);
int __wrap_reader_open(const char *path, struct age_identities *by, struct reader **ret, struct err *err);
int __wrap_reader_open(const char *path, struct age_identities *by, struct reader **ret, struct err *err)
{
    n_passes++;
    return __real_reader_open(path, by, ret, err);
}

/* Returns the name of a member; valid until the next call. */
static const char *name_of(size_t number)
{
    static char name[32];
    snprintf(name, sizeof name, "h/s/%zu", number);
    return name;
}

/* Makes a bundle of `n` members of `size` bytes. Each contains its number as text, then zeros. Returns the
 * bundle's path. */
static char *make_bundle(const char *dir, size_t n, size_t size)
{
    char *path = file_join(dir, "b.tar.gz"), *bytes = calloc(size + 1, 1), name[40];
    assert_non_null(path);
    assert_non_null(bytes);
    struct archive *a = tarball_new(path);
    tarball_put(a, &(struct tarball_member){.path = "b/manifest.json"}, "{}", 2);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "b/%s", name_of(i));
        snprintf(bytes, size, "%zu", i);
        tarball_put(a, &(struct tarball_member){.path = name}, bytes, size);
    }
    tarball_end(a);
    free(bytes);
    n_passes = 0;
    return path;
}

/* Opens the bundle to read the members with these numbers. */
static struct bundle_members *open_members(const char *path, const size_t *numbers, size_t n)
{
    struct bundle_members_options wanted = {.path = path, .max_bytes = 100 * MB};
    struct bundle_members *m = NULL;
    struct err err = ERR_INIT;
    for (size_t i = 0; i < n; i++)
        assert_ok(strlist_add(&wanted.members, name_of(numbers[i]), &err), &err);
    assert_ok(bundle_members_new(&wanted, &m, &err), &err);
    strlist_release(&wanted.members);
    return m;
}

static void assert_member(struct bundle_members *m, size_t number, size_t size)
{
    struct buf bytes = BUF_INIT(100 * MB);
    struct err err = ERR_INIT;
    char text[32];
    assert_ok(bundle_members_read(m, name_of(number), &bytes, &err), &err);
    snprintf(text, sizeof text, "%zu", number);
    assert_string_equal(buf_str(&bytes), text);
    assert_int_equal(bytes.len, size);
    assert_int_equal(bytes.max, 100 * MB);
    buf_release(&bytes);
}

static void assert_read_fails(struct bundle_members *m, const char *name, const char *message)
{
    struct buf bytes = BUF_INIT(100 * MB);
    struct err err = ERR_INIT;
    assert_int_equal(bundle_members_read(m, name, &bytes, &err), -1);
    assert_contains(err.msg, message);
    buf_release(&bytes);
}

/* Reads the members with these numbers; returns the number of passes. */
static size_t count_passes(const char *path, const size_t *numbers, size_t n, size_t size)
{
    struct bundle_members *m = open_members(path, numbers, n);
    n_passes = 0;
    for (size_t i = 0; i < n; i++)
        assert_member(m, numbers[i], size);
    bundle_members_free(m);
    return n_passes;
}

static void small_members_take_one_pass_in_any_order(void **state)
{
    size_t numbers[MAX_MEMBERS];
    char *path = make_bundle(*state, MAX_MEMBERS, 100);
    for (size_t i = 0; i < MAX_MEMBERS; i++)
        numbers[i] = i;
    assert_int_equal(count_passes(path, numbers, MAX_MEMBERS, 100), 1);
    for (size_t i = 0; i < MAX_MEMBERS; i++)
        numbers[i] = MAX_MEMBERS - 1 - i;
    assert_int_equal(count_passes(path, numbers, MAX_MEMBERS, 100), 1);
    for (size_t i = 0; i < MAX_MEMBERS; i++)
        numbers[i] = i * 7 % MAX_MEMBERS;
    assert_int_equal(count_passes(path, numbers, MAX_MEMBERS, 100), 1);
    /* Some of them, and some more than once. */
    for (size_t i = 0; i < MAX_MEMBERS; i++)
        numbers[i] = i * i % 17;
    assert_int_equal(count_passes(path, numbers, MAX_MEMBERS, 100), 1);
    free(path);
}

static void large_members_take_one_pass_in_the_archives_order(void **state)
{
    size_t numbers[100];
    char *path = make_bundle(*state, 100, MB);
    for (size_t i = 0; i < 100; i++)
        numbers[i] = i;
    assert_int_equal(count_passes(path, numbers, 100, MB), 1);
    free(path);
}

/* Each pass fills the cache, which has room for BUNDLE_CACHE_MAX bytes. */
static void large_members_take_few_passes_in_any_order(void **state)
{
    size_t numbers[100], max_passes = 100 * MB / BUNDLE_CACHE_MAX + 2;
    char *path = make_bundle(*state, 100, MB);
    for (size_t i = 0; i < 100; i++)
        numbers[i] = 99 - i;
    size_t n = count_passes(path, numbers, 100, MB);
    assert_in_range(n, 2, max_passes);
    for (size_t step = 3; step < 100; step += 24) {
        for (size_t i = 0; i < 100; i++)
            numbers[i] = i * step % 100;
        n = count_passes(path, numbers, 100, MB);
        assert_in_range(n, 1, max_passes);
    }
    for (size_t i = 0; i < 100; i++)
        numbers[i] = i * i % 41;
    n = count_passes(path, numbers, 100, MB);
    assert_in_range(n, 1, 2 * max_passes);
    free(path);
}

static void members_larger_than_the_cache_take_further_passes(void **state)
{
    char *path = make_bundle(*state, 3, BUNDLE_CACHE_MAX + 1);
    assert_in_range(count_passes(path, (size_t[]){2, 1, 0, 1}, 4, BUNDLE_CACHE_MAX + 1), 2, 4);
    assert_int_equal(count_passes(path, (size_t[]){0, 1, 2}, 3, BUNDLE_CACHE_MAX + 1), 1);
    free(path);
}

static void missing_members_take_one_pass(void **state)
{
    size_t numbers[MAX_MEMBERS];
    char *path = make_bundle(*state, 10, 100);
    for (size_t i = 0; i < MAX_MEMBERS; i++)
        numbers[i] = i % 2 ? i : 3;
    struct bundle_members *m = open_members(path, numbers, MAX_MEMBERS);
    for (size_t i = 0; i < MAX_MEMBERS; i++)
        if (numbers[i] < 10)
            assert_member(m, numbers[i], 100);
        else
            assert_read_fails(m, name_of(numbers[i]), "the bundle has no file h/s/");
    assert_int_equal(n_passes, 1);
    bundle_members_free(m);
    free(path);
}

static void members_out_of_order_take_a_pass_each(void **state)
{
    char *path = make_bundle(*state, 10, 100);
    struct bundle_members *m = open_members(path, (size_t[]){9, 1, 2, 9, 3}, 5);
    assert_member(m, 2, 100);
    assert_member(m, 9, 100);
    assert_int_equal(n_passes, 1);
    /* The pass is already beyond member 1, and member 5 was never requested: each takes a pass. */
    assert_member(m, 1, 100);
    assert_member(m, 5, 100);
    assert_int_equal(n_passes, 3);
    bundle_members_close_archive(m);
    assert_member(m, 3, 100);
    assert_member(m, 3, 100);
    bundle_members_free(m);
    free(path);
}

static void a_member_above_the_limit_is_refused(void **state)
{
    struct bundle_members_options wanted = {.max_bytes = 99};
    struct bundle_members *m = NULL;
    struct err err = ERR_INIT;
    char *path = make_bundle(*state, 3, 100);
    wanted.path = path;
    assert_ok(strlist_add(&wanted.members, "h/s/1", &err), &err);
    assert_ok(bundle_members_new(&wanted, &m, &err), &err);
    assert_read_fails(m, "h/s/1", "h/s/1 is larger than 99 bytes");
    bundle_members_free(m);
    strlist_release(&wanted.members);
    free(path);
}

/* The members after the damage fail without further passes. */
static void members_before_the_damage_are_read(void **state)
{
    size_t numbers[100], partly_read = 0; /* cuts that leave some members readable */
    char *path = make_bundle(*state, 100, 1000);
    struct buf whole = scratch_read(path);
    for (size_t i = 0; i < 100; i++)
        numbers[i] = 99 - i;
    for (size_t cut = 1; cut < whole.len; cut += whole.len / 20) {
        size_t n_read = 0;
        free(scratch_file(*state, "b.tar.gz", whole.data, cut));
        struct bundle_members *m = open_members(path, numbers, 100);
        n_passes = 0;
        for (size_t i = 0; i < 100; i++) {
            struct buf bytes = BUF_INIT(100 * MB);
            struct err err = ERR_INIT;
            int rc = bundle_members_read(m, name_of(numbers[i]), &bytes, &err);
            assert_true(rc == 0 || strstr(err.msg, "b.tar.gz"));
            /* The order is backwards: all members after the first readable one are readable. */
            assert_true(rc == 0 || n_read == 0);
            n_read += rc == 0;
            buf_release(&bytes);
        }
        assert_true(n_passes == 1 || n_read == 0);
        partly_read += n_read > 0 && n_read < 100;
        bundle_members_free(m);
    }
    assert_true(partly_read > 5);
    buf_release(&whole);
    free(path);
}

static void a_missing_bundle_is_an_error_for_each_member(void **state)
{
    char *path = file_join(*state, "none.tar.gz");
    struct bundle_members *m = open_members(path, (size_t[]){1, 2}, 2);
    assert_read_fails(m, "h/s/1", "none.tar.gz");
    assert_read_fails(m, "h/s/2", "none.tar.gz");
    bundle_members_free(m);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(small_members_take_one_pass_in_any_order),
        SCRATCH(large_members_take_one_pass_in_the_archives_order),
        SCRATCH(large_members_take_few_passes_in_any_order),
        SCRATCH(members_larger_than_the_cache_take_further_passes),
        SCRATCH(missing_members_take_one_pass),
        SCRATCH(members_out_of_order_take_a_pass_each),
        SCRATCH(a_member_above_the_limit_is_refused),
        SCRATCH(members_before_the_damage_are_read),
        SCRATCH(a_missing_bundle_is_an_error_for_each_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
