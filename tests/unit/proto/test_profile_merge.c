/* Merging, scaling and comparing profiles, as google/pprof does. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "pprof/pprof.h"
#include "tests/unit/profile_make.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static uint32_t intern(struct profile *p, const char *s)
{
    struct err err = ERR_INIT;
    uint32_t ret = 0;
    assert_ok(profile_intern(p, s, strlen(s), &ret, &err), &err);
    return ret;
}

static void add_type(struct profile *p, const char *type, const char *unit)
{
    struct err err = ERR_INIT;
    struct profile_value_type t = {intern(p, type), intern(p, unit)};
    assert_ok(profile_add_sample_type(p, t, &err), &err);
}

/* Adds a location of that name and address in the mapping, and a sample of it. */
static void add_sample(struct profile *p, const char *name, uint64_t address, const int64_t *values)
{
    struct err err = ERR_INIT;
    uint32_t at = (uint32_t)p->n_locations;
    struct profile_function f = {.id = p->n_functions + 1, .name = intern(p, name)};
    struct profile_line line = {.function = (uint32_t)p->n_functions, .line = 3};
    struct profile_location l = {
        .id = at + 1, .address = address, .n_lines = 1, .mapping = p->n_mappings ? 0 : PROFILE_NONE};
    assert_ok(profile_add_function(p, &f, &err), &err);
    assert_ok(profile_add_location(p, &l, &line, &err), &err);
    assert_ok(profile_add_sample(p, &(struct profile_new_sample){&at, 1, values, NULL, 0}, &err), &err);
}

/* A profile of two sample types, cpu and samples. */
static struct profile *new_profile(void)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    add_type(p, "samples", "count");
    add_type(p, "cpu", "nanoseconds");
    p->period_type = (struct profile_value_type){intern(p, "cpu"), intern(p, "nanoseconds")};
    return p;
}

/* Merges two profiles; NULL in `b`: only one. */
static struct profile *merge_two(struct profile *a, struct profile *b)
{
    struct err err = ERR_INIT;
    struct profile *ret = NULL, *both[] = {a, b};
    assert_ok(profile_merge(both, b ? 2 : 1, &ret, &err), &err);
    assert_ok(profile_check(ret, &err), &err);
    return ret;
}

static void add_mapping(struct profile *p, uint64_t start)
{
    struct err err = ERR_INIT;
    struct profile_mapping m = {
        .id = 1, .start = start, .limit = start + 0x1800, .file = intern(p, "/bin/x")};
    assert_ok(profile_add_mapping(p, &m, &err), &err);
}

/* Equal locations of a relocated program become one. New locations are appended. */
static void equal_samples_of_two_profiles_are_added(void **state)
{
    (void)state;
    struct profile *a = new_profile(), *b = new_profile();
    add_mapping(a, 0x10000);
    add_mapping(b, 0x70000);
    add_sample(a, "main.f", 0x10010, (int64_t[]){1, 10});
    add_sample(b, "main.g", 0x70020, (int64_t[]){2, 20});
    add_sample(b, "main.f", 0x70010, (int64_t[]){3, 30});
    struct profile *p = merge_two(a, b);
    assert_int_equal(p->n_samples, 2);
    assert_memory_equal(p->values, ((int64_t[]){4, 40, 2, 20}), 4 * sizeof(int64_t));
    assert_int_equal(p->n_mappings, 1);
    assert_int_equal(p->locations[1].address, 0x10020);
    assert_int_equal(p->locations[1].id, 2);
    profile_free(p);
    profile_free(a);
    profile_free(b);
}

/* Adds samples with stacks of 1 to 3 frames, and a label on every third. After the last location the stacks
 * repeat. */
static void add_samples(struct profile *p, uint32_t n_locations, size_t n_samples)
{
    struct err err = ERR_INIT;
    struct profile_label label = {.key = intern(p, "key")};
    for (size_t i = 0; i < n_locations; i++) {
        struct profile_location l = {.id = i + 1, .address = 16 * i, .mapping = PROFILE_NONE};
        assert_ok(profile_add_location(p, &l, NULL, &err), &err);
    }
    for (size_t i = 0; i < n_samples; i++) {
        uint32_t at = (uint32_t)i % n_locations, stack[] = {at, n_locations - 1 - at, 0};
        label.str = at % 2 ? label.key : 0;
        assert_ok(profile_add_sample(p,
                                     &(struct profile_new_sample){stack, 1 + at % 3, (int64_t[]){1, 10},
                                                                  &label, at % 3 == 0},
                                     &err),
                  &err);
    }
}

/* The profiles have more locations than a number of two bytes can count. The merged profile exceeds that
 * number in the middle of a stack. */
static void many_locations_are_merged(void **state)
{
    (void)state;
    enum { N_LOCATIONS = 70001 };
    struct profile *a = new_profile(), *b = new_profile();
    add_samples(a, N_LOCATIONS, N_LOCATIONS);
    add_samples(b, N_LOCATIONS, 2 * (size_t)N_LOCATIONS);
    struct profile *m = merge_two(a, b);
    assert_int_equal(m->n_samples, N_LOCATIONS);
    assert_int_equal(m->n_locations, N_LOCATIONS);
    for (size_t i = 0; i < m->n_samples; i++) {
        assert_int_equal(m->values[2 * i], 3);
        assert_int_equal(m->values[2 * i + 1], 30);
        assert_int_equal(m->samples[i].depth, 1 + i % 3);
        assert_int_equal(m->samples[i].n_labels, i % 3 == 0);
        assert_int_equal(m->locations[profile_frame(m, &m->samples[i], 0)].address, 16 * i);
        if (i % 3)
            assert_int_equal(m->locations[profile_frame(m, &m->samples[i], 1)].address,
                             16 * (N_LOCATIONS - 1 - i));
    }
    profile_free(m);
    profile_free(a);
    profile_free(b);
}

/* The merge also removes everything to which only the removed samples refer. */
static void samples_that_become_zero_are_removed(void **state)
{
    (void)state;
    struct profile *a = new_profile(), *b = new_profile();
    add_sample(a, "main.f", 1, (int64_t[]){1, INT64_MAX});
    add_sample(a, "main.g", 2, (int64_t[]){5, 6});
    add_sample(a, "main.h", 3, (int64_t[]){0, 0});
    add_sample(b, "main.f", 1, (int64_t[]){-1, -INT64_MAX});
    struct profile *p = merge_two(a, b);
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->n_functions, 1);
    assert_true(str_is(profile_str(p, p->functions[0].name), "main.g"));
    assert_int_equal(p->functions[0].id, 1);
    profile_free(p);
    profile_free(a);
    profile_free(b);
}

static void headers_of_two_profiles_are_merged(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *a = new_profile(), *b = new_profile();
    a->time_ns = 50;
    a->duration_ns = 7;
    a->period = 1;
    b->time_ns = 40;
    b->duration_ns = 8;
    b->period = 3;
    b->default_sample_type = intern(b, "cpu");
    b->doc_url = intern(b, "http://b");
    assert_ok(profile_add_comment(a, intern(a, "one"), &err), &err);
    assert_ok(profile_add_comment(b, intern(b, "two"), &err), &err);
    assert_ok(profile_add_comment(b, intern(b, "one"), &err), &err);
    struct profile *p = merge_two(a, b);
    assert_true(p->time_ns == 40 && p->duration_ns == 15 && p->period == 3);
    assert_true(str_is(profile_str(p, p->default_sample_type), "cpu"));
    assert_true(str_is(profile_str(p, p->doc_url), "http://b"));
    assert_int_equal(p->n_comments, 2);
    assert_true(str_is(profile_str(p, p->comments[1]), "two"));
    profile_free(p);
    profile_free(a);
    profile_free(b);
}

/* A profile merged with itself has twice the values. A merged profile does not change if it is merged
 * again. */
static void generated_profiles_are_merged(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 200; seed++) {
        struct err err = ERR_INIT;
        struct profile *a = random_profile(seed), *once = merge_two(a, NULL), *twice = merge_two(a, a);
        struct buf x = BUF_INIT(1 << 20), y = BUF_INIT(1 << 20);
        struct profile *again = merge_two(once, NULL);
        assert_ok(profile_write(once, add_bytes, &x, &err), &err);
        assert_ok(profile_write(again, add_bytes, &y, &err), &err);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
        assert_int_equal(once->n_samples, twice->n_samples);
        for (size_t i = 0; i < once->n_samples * once->n_sample_types; i++)
            assert_int_equal(2 * (uint64_t)once->values[i], twice->values[i]);
        buf_release(&x);
        buf_release(&y);
        profile_free(again);
        profile_free(twice);
        profile_free(once);
        profile_free(a);
    }
}

static void incompatible_profiles_are_refused(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *a = new_profile(), *b = new_profile(), *ret = NULL, *both[] = {a, b};
    assert_refused(profile_merge(both, 0, &ret, &err), &err, ERR_FAILED, "no profiles to merge");
    b->period_type.type = intern(b, "s\x1bpace");
    assert_refused(profile_merge(both, 2, &ret, &err), &err, ERR_FAILED,
                   "incompatible period types &{cpu nanoseconds 0 0} and &{s?pace nanoseconds 0 0}");
    b->period_type.type = intern(b, "cpu");
    b->sample_types[0].unit = intern(b, "bytes");
    assert_refused(profile_normalize(a, b, &err), &err, ERR_FAILED, "incompatible sample types");
    assert_null(ret);
    profile_free(a);
    profile_free(b);
}

static void types_that_not_all_profiles_have_are_removed(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *a = new_profile(), *b = profile_new(&err), *both[] = {a, b};
    assert_non_null(b);
    add_type(b, "cpu", "nanoseconds");
    add_type(b, "wall", "nanoseconds");
    add_type(b, "samples", "count");
    b->default_sample_type = intern(b, "wall");
    add_sample(b, "f", 1, (int64_t[]){1, 2, 3});
    add_sample(b, "g", 2, (int64_t[]){4, 5, 6});
    assert_ok(profile_reduce_to_common_types(both, 2, &err), &err);
    assert_int_equal(b->n_sample_types, 2);
    assert_memory_equal(b->values, ((int64_t[]){3, 1, 6, 4}), 4 * sizeof(int64_t));
    assert_true(str_is(profile_str(b, b->default_sample_type), "samples"));
    /* A profile without changes keeps its default. */
    assert_int_equal(a->default_sample_type, 0);
    a->sample_types[0].type = a->sample_types[1].type = intern(a, "other");
    assert_refused(profile_reduce_to_common_types(both, 2, &err), &err, ERR_FAILED,
                   "\"other\" sample type is not found in profile");
    a->sample_types[0].type = intern(a, "one");
    assert_refused(profile_reduce_to_common_types(both, 2, &err), &err, ERR_FAILED,
                   "profiles have empty common sample type list");
    profile_free(a);
    profile_free(b);
}

/* A sample is removed if all its multiplied values become 0. Values with the ratio 1 do not count. */
static void values_are_scaled(void **state)
{
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "f", 1, (int64_t[]){3, 5});
    add_sample(p, "g", 2, (int64_t[]){3, 0});
    add_sample(p, "h", 3, (int64_t[]){0, INT64_MAX});
    profile_scale(p, (double[]){1, 1});
    assert_int_equal(p->n_samples, 3);
    profile_scale(p, (double[]){1, -0.5});
    assert_int_equal(p->n_samples, 2);
    assert_memory_equal(p->values, ((int64_t[]){3, -3, 0, -((int64_t)1 << 62)}), 4 * sizeof(int64_t));
    profile_scale(p, (double[]){1e300, 1});
    assert_int_equal(p->n_samples, 1);
    assert_int_equal(p->values[0], INT64_MIN);
    profile_free(p);
}

static void values_are_normalized_to_a_base(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = new_profile(), *base = new_profile();
    add_sample(p, "f", 1, (int64_t[]){10, 0});
    add_sample(p, "g", 2, (int64_t[]){30, 0});
    add_sample(base, "f", 1, (int64_t[]){100, 7});
    assert_ok(profile_normalize(p, base, &err), &err);
    assert_memory_equal(p->values, ((int64_t[]){25, 0, 75, 0}), 4 * sizeof(int64_t));
    profile_free(p);
    profile_free(base);
}

static void a_label_replaces_those_of_its_key(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = new_profile();
    uint32_t k = intern(p, "k");
    const struct profile_label labels[] = {{.key = k, .str = intern(p, "old")},
                                           {.key = k, .is_number = true, .num = 5},
                                           {.key = k, .str = intern(p, "older")},
                                           {.key = intern(p, "l"), .str = k}};
    add_sample(p, "f", 1, (int64_t[]){1, 1});
    assert_ok(profile_add_sample(
                  p, &(struct profile_new_sample){(uint32_t[]){0}, 1, (int64_t[]){1, 1}, labels, 4}, &err),
              &err);
    assert_ok(profile_set_label(p, "k", "new", &err), &err);
    assert_ok(profile_check(p, &err), &err);
    assert_int_equal(p->samples[0].n_labels, 1);
    assert_int_equal(p->samples[1].n_labels, 3);
    const struct profile_label *l = p->labels + p->samples[1].label_at;
    assert_true(l[0].num == 5 && l[1].str == k && str_is(profile_str(p, l[2].str), "new"));
    profile_free(p);
}

/* Combined profiles get the finest unit of each type. A single profile is unchanged. */
static void units_are_converted_to_the_finest(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *a = new_profile(), *b = new_profile(), *ret = NULL;
    a->sample_types[1].unit = intern(a, "milliseconds");
    a->period_type.unit = intern(a, "milliseconds");
    a->period = 10;
    add_sample(a, "f", 1, (int64_t[]){1, 2});
    add_sample(b, "f", 1, (int64_t[]){1, 3000001});
    assert_ok(report_combine((struct profile *[]){a, b}, 2, &ret, &err), &err);
    assert_int_equal(ret->n_samples, 1);
    assert_memory_equal(ret->values, ((int64_t[]){2, 5000001}), 2 * sizeof(int64_t));
    assert_true(str_is(profile_str(ret, ret->sample_types[1].unit), "nanoseconds"));
    assert_int_equal(ret->period, 10000000);
    struct profile *same = NULL;
    assert_ok(report_combine(&ret, 1, &same, &err), &err);
    assert_ptr_equal(ret, same);
    b = new_profile();
    b->sample_types[1].unit = intern(b, "bytes");
    assert_refused(report_combine((struct profile *[]){ret, b}, 2, &same, &err), &err, ERR_FAILED,
                   "sample types: incompatible types: {cpu nanoseconds 0 0} {cpu bytes 0 0}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_samples_of_two_profiles_are_added),
        cmocka_unit_test(samples_that_become_zero_are_removed),
        cmocka_unit_test(headers_of_two_profiles_are_merged),
        cmocka_unit_test(generated_profiles_are_merged),
        cmocka_unit_test(incompatible_profiles_are_refused),
        cmocka_unit_test(types_that_not_all_profiles_have_are_removed),
        cmocka_unit_test(values_are_scaled),
        cmocka_unit_test(values_are_normalized_to_a_base),
        cmocka_unit_test(a_label_replaces_those_of_its_key),
        cmocka_unit_test(units_are_converted_to_the_finest),
        cmocka_unit_test(many_locations_are_merged),
    };
    return cmocka_run_group_tests_name("profile_merge", tests, NULL, NULL);
}
