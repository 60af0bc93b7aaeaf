/* The header Range. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "httpd/range.h"
#include "base/banned.h"

static void ranges_of_a_body_of_ten_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum range_result result;
        uint64_t first, n;
    } rows[] = {
        {NULL, RANGE_NONE, 0, 0},
        {"bytes=0-0", RANGE_PART, 0, 1},
        {"bytes=2-5", RANGE_PART, 2, 4},
        {"BYTES=2-5", RANGE_PART, 2, 4},
        {"bytes=9-", RANGE_PART, 9, 1},
        {"bytes=0-", RANGE_PART, 0, 10},
        {"bytes=5-99", RANGE_PART, 5, 5},
        {"bytes=5-18446744073709551615", RANGE_PART, 5, 5},
        {"bytes=5-99999999999999999999999", RANGE_PART, 5, 5},
        {"bytes=-3", RANGE_PART, 7, 3},
        {"bytes=-10", RANGE_PART, 0, 10},
        {"bytes=-99", RANGE_PART, 0, 10},
        {"bytes=-0", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=10-", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=10-12", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=99999999999999999999999-", RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=5-4", RANGE_NONE, 0, 0},
        {"bytes=-", RANGE_NONE, 0, 0},
        {"bytes=", RANGE_NONE, 0, 0},
        {"bytes=1-2,4-5", RANGE_NONE, 0, 0},
        {"bytes=a-b", RANGE_NONE, 0, 0},
        {"bytes=1 -2", RANGE_NONE, 0, 0},
        {"lines=1-2", RANGE_NONE, 0, 0},
        {"", RANGE_NONE, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t first = 0, n = 0;
        assert_int_equal(range_parse(rows[i].header, 10, &first, &n), rows[i].result);
        assert_int_equal(first, rows[i].first);
        assert_int_equal(n, rows[i].n);
    }
}

static void an_empty_body_has_no_range(void **state)
{
    (void)state;
    uint64_t first, n;
    assert_int_equal(range_parse("bytes=0-", 0, &first, &n), RANGE_UNSATISFIABLE);
    assert_int_equal(range_parse("bytes=-1", 0, &first, &n), RANGE_UNSATISFIABLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_of_a_body_of_ten_bytes),
                                       cmocka_unit_test(an_empty_body_has_no_range)};
    return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
