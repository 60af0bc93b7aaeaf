/* Tests that values and percentages are printed as google/pprof prints them, and how pprof/out.h counts
 * columns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "proto/measure.h"
#include "pprof/out.h"

static void assert_label(int64_t value, const char *from_unit, const char *to_unit, const char *expected)
{
    char text[MEASURE_TEXT];
    measure_label(text, value, str_of(from_unit), str_of(to_unit));
    assert_string_equal(text, expected);
}

static void values_are_scaled_to_units(void **state)
{
    (void)state;
    assert_label(0, "bytes", "auto", "0");
    assert_label(1, "bytes", "auto", "1B");
    assert_label(1536, "bytes", "auto", "1.50kB");
    assert_label(-1536, "bytes", "minimum", "-1.50kB");
    assert_label(1 << 20, "kb", "auto", "1GB");
    assert_label(1536, "Bytes", "mb", "0");
    assert_label(15360, "Bytes", "mb", "0.01MB");
    assert_label(5, "MBs", "kilobytes", "5120kB");
    assert_label(1500, "ms", "auto", "1.50s");
    assert_label(7200, "seconds", "auto", "2hrs");
    assert_label(1, "nanoseconds", "auto", "1ns");
    assert_label(3, "us", "ns", "3000ns");
    assert_label(2, "GCU", "m*GCU", "2GCU");
    assert_label(3, "count", "count", "3");
    assert_label(3, "count", "auto", "3");
    assert_label(3, "widgets", "minimum", "3");
    assert_label(3, "widgets", "widgets", "3widgets");
    assert_label(5, "bytes", "seconds", "5B"); /* bytes are not a time, so the value keeps its own unit */
    assert_label(INT64_MIN, "count", "count", "-9223372036854775808");
}

static void unknown_units_are_cut(void **state)
{
    char unit[300], text[MEASURE_TEXT];
    (void)state;
    memset(unit, 'u', sizeof unit);
    measure_label(text, 1, STR("x"), (struct str){unit, sizeof unit});
    assert_int_equal(strlen(text), 1 + 64);
}

static void assert_percentage(int64_t value, int64_t total, const char *expected)
{
    char text[MEASURE_TEXT];
    measure_percentage(text, value, total);
    assert_string_equal(text, expected);
}

static void percentages_are_printed_like_go_tool_pprof(void **state)
{
    (void)state;
    assert_percentage(0, 0, "    0%");
    assert_percentage(1, 0, "    0%");
    assert_percentage(1, 1, "  100%");
    assert_percentage(9995, 10000, "  100%");
    assert_percentage(9994, 10000, "99.94%");
    assert_percentage(2, 1, "200.00%");
    assert_percentage(1, 100, " 1.00%");
    assert_percentage(1, 101, " 0.99%");
    assert_percentage(-1, 3, "33.33%");
    assert_percentage(1, 1000, "  0.1%");
    assert_percentage(1, 100000000, "1e-06%");
}

/* The next two functions assert that a value is rounded as by printf. */
static void assert_label_like_printf(int64_t value)
{
    char text[MEASURE_TEXT], expected[MEASURE_TEXT];
    measure_label(text, value, STR("bytes"), STR("kb"));
    int n = snprintf(expected, sizeof expected, "%.2f", (double)value / 1024);
    if (strcmp(expected + n - 3, ".00") == 0)
        expected[n -= 3] = '\0';
    if (strcmp(expected, "0") == 0 || strcmp(expected, "-0") == 0)
        snprintf(expected, sizeof expected, "0");
    else
        snprintf(expected + n, sizeof expected - (size_t)n, "kB");
    assert_string_equal(text, expected);
}

static void assert_percentage_like_printf(int64_t value, int64_t total)
{
    char text[MEASURE_TEXT], expected[MEASURE_TEXT];
    double ratio = fabs((double)value / (double)total) * 100;
    if (ratio >= 99.95 && ratio <= 100.05)
        return;
    measure_percentage(text, value, total);
    snprintf(expected, sizeof expected, ratio >= 1 ? "%5.2f%%" : "%5.2g%%", ratio);
    assert_string_equal(text, expected);
}

static void numbers_equal_those_of_printf(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (int64_t v = -5000; v < 200000; v++) {
        assert_label_like_printf(v);
        assert_percentage_like_printf(v, 100000);
        assert_percentage_like_printf(v, 3 << 20);
    }
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int64_t value = (int64_t)random >> (i % 64);
        assert_label_like_printf(value);
        assert_percentage_like_printf(value, (int64_t)(random >> (11 + i % 50)) | 1);
    }
}

static void integer_overflow_wraps_and_division_truncates(void **state)
{
    (void)state;
    assert_true(measure_abs(INT64_MIN) == INT64_MIN);
    assert_true(measure_sum(INT64_MAX, 1) == INT64_MIN);
    assert_true(measure_divide(INT64_MIN, -1) == INT64_MIN);
    assert_true(measure_divide(7, 0) == 7);
    assert_true(measure_divide(-7, 2) == -3);
    assert_true(profile_double_to_int(1e300) == INT64_MIN);
    assert_true(profile_double_to_int(-2.9) == -2);
}

static void each_character_and_each_invalid_byte_is_one_column(void **state)
{
    (void)state;
    assert_int_equal(out_columns(STR("abc")), 3);
    assert_int_equal(out_columns(STR("\xce\xbcs")), 2);
    assert_int_equal(out_columns(STR("\xe2\x80\xa6")), 1);
    assert_int_equal(out_columns(STR("\xf0\x9f\x98\x80")), 1);
    assert_int_equal(out_columns(STR("\xff\xce")), 2);
    assert_int_equal(out_columns(STR("\xed\xa0\x80")), 3); /* a surrogate */
    assert_int_equal(out_columns(STR("\xe2\x80")), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_scaled_to_units),
        cmocka_unit_test(unknown_units_are_cut),
        cmocka_unit_test(percentages_are_printed_like_go_tool_pprof),
        cmocka_unit_test(integer_overflow_wraps_and_division_truncates),
        cmocka_unit_test(each_character_and_each_invalid_byte_is_one_column),
        cmocka_unit_test(numbers_equal_those_of_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
