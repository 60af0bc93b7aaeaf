/* The table of kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "proto/proto.h"
#include "base/banned.h"

/* Every row is found by each of its names, and no other row has them. */
static void each_kind_is_found_by_its_names(void **state)
{
    (void)state;
    for (size_t i = 0; kind_at(i); i++) {
        const struct kind *k = kind_at(i);
        assert_ptr_equal(kind_find(k->name), k);
        if (k->alias)
            assert_ptr_equal(kind_find(k->alias), k);
        assert_ptr_equal(kind_of_endpoint(k->endpoint + (k->endpoint[0] == '/')), k);
        assert_true(k->max_mb > 0 && k->help && k->file_name);
    }
    assert_null(kind_find(""));
    assert_null(kind_of_endpoint(""));
}

/* Asserts the kind of profile with this sample type; NULL: none. */
static void expect_kind(const char *sample_type, const char *kind)
{
    const char *found = kind_of_sample_type(sample_type);
    if (!kind)
        assert_null(found);
    else
        assert_string_equal(found ? found : "", kind);
}

static void a_profile_is_named_by_its_sample_types(void **state)
{
    (void)state;
    expect_kind("cpu", "cpu");
    expect_kind("inuse_space", "heap");
    expect_kind("alloc_space", "heap");
    expect_kind("goroutine", "goroutines");
    expect_kind("threadcreate", "threadcreate");
    expect_kind("contentions", "contention");
    expect_kind("samples", NULL);
    expect_kind("", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_is_found_by_its_names),
                                       cmocka_unit_test(a_profile_is_named_by_its_sample_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
