/* Ranges in names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/range.h"
#include "tests/unit/damage.h"

static void assert_expanded(const char *text, const char *expected)
{
    struct strlist names = {0};
    struct err err = ERR_INIT;
    struct buf joined = BUF_INIT(65536);
    if (range_expand(text, 1000, &names, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    for (size_t i = 0; i < names.n; i++)
        buf_addf(&joined, "%s%s", i ? " " : "", names.items[i]);
    assert_string_equal(buf_str(&joined), expected);
    buf_release(&joined);
    strlist_release(&names);
}

static void assert_range_refused(const char *text, const char *message)
{
    struct strlist names = {0};
    struct err err = ERR_INIT;
    assert_int_equal(range_expand(text, 1000, &names, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.msg, message);
    assert_int_equal(names.n, 0);
    assert_null(names.items);
}

static void valid_ranges_are_expanded(void **state)
{
    (void)state;
    assert_expanded("file-03", "file-03");
    assert_expanded("file-[8-11]", "file-8 file-9 file-10 file-11");
    assert_expanded("file-[08-11]", "file-08 file-09 file-10 file-11");
    assert_expanded("file-[008-010].x", "file-008.x file-009.x file-010.x");
    assert_expanded("[1,3,5-7]", "1 3 5 6 7");
    assert_expanded("a[0-1]b[01-02]", "a0b01 a0b02 a1b01 a1b02");
    assert_expanded("file-[0-1]*", "file-0* file-1*");
    assert_expanded("a[5]", "a5");
    assert_expanded("a[0]", "a0");
    assert_expanded("a[1-2][1-2]", "a11 a12 a21 a22");
    assert_expanded("", "");
}

static void addresses_are_not_ranges(void **state)
{
    (void)state;
    assert_expanded("[::1]", "[::1]");
    assert_expanded("ssh://ops@[fe80::1]:22", "ssh://ops@[fe80::1]:22");
    assert_expanded("ops@web-[1-2]", "ops@web-1 ops@web-2");
    assert_expanded("ssh://web-[1-2]:22", "ssh://web-1:22 ssh://web-2:22");
}

static void invalid_ranges_are_refused(void **state)
{
    (void)state;
    assert_range_refused("a[1", "bad range in \"a[1\": \"]\" is missing");
    assert_range_refused("a1]", "bad range in \"a1]\": \"]\" without \"[\"");
    assert_range_refused(
        "a[]", "bad range in \"a[]\": brackets contain numbers of at most 9 digits, such as [04-40] or "
               "[1,3,5-7]");
    assert_range_refused(
        "a[x]", "bad range in \"a[x]\": brackets contain numbers of at most 9 digits, such as [04-40] or "
                "[1,3,5-7]");
    assert_range_refused(
        "a[1,]", "bad range in \"a[1,]\": brackets contain numbers of at most 9 digits, such as [04-40] or "
                 "[1,3,5-7]");
    assert_range_refused("a[1234567890]",
                         "bad range in \"a[1234567890]\": brackets contain numbers of at most 9 digits, such "
                         "as [04-40] or [1,3,5-7]");
    assert_range_refused("a[1-]", "bad range in \"a[1-]\": a number is missing after \"-\"");
    assert_range_refused("a[1-2-3]", "bad range in \"a[1-2-3]\": numbers are separated by \",\" or \"-\"");
    assert_range_refused("a[6-4]", "bad range in \"a[6-4]\": the range counts down");
    assert_range_refused("a[04-140]",
                         "bad range in \"a[04-140]\": with leading zeros both ends need the same number of "
                         "digits");
    assert_range_refused(
        "a[1-02]", "bad range in \"a[1-02]\": with leading zeros both ends need the same number of digits");
    assert_range_refused("[1][1][1][1][1][1][1][1][1]",
                         "bad range in \"[1][1][1][1][1][1][1][1][1]\": more than 8 ranges");
    assert_range_refused("a[1-1001]", "\"a[1-1001]\" expands to more than 1000 names");
    assert_range_refused("[0-99][0-99]", "\"[0-99][0-99]\" expands to more than 1000 names");
    assert_range_refused("\033[1", "bad range in \"?[1\": \"]\" is missing");
}

static void a_name_above_the_limit_is_refused(void **state)
{
    (void)state;
    char text[1026];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_range_refused(text, "a name is longer than 1024 bytes");
}

/* Any cut or flipped range must neither crash nor yield more names than allowed. */
static void expand_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    char *text = damaged_text(s);
    struct strlist names = {0};
    if (range_expand(text, 100, &names, NULL) == 0)
        assert_in_range(names.n, 1, 100);
    else
        assert_int_equal(names.n, 0);
    strlist_release(&names);
    free(text);
}

static void damaged_ranges_expand_within_the_limit(void **state)
{
    (void)state;
    const char whole[] = "rack[01-03,7]-node[1-4]";
    damage_everywhere(whole, sizeof whole - 1, expand_damaged, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_ranges_are_expanded),
        cmocka_unit_test(addresses_are_not_ranges),
        cmocka_unit_test(invalid_ranges_are_refused),
        cmocka_unit_test(a_name_above_the_limit_is_refused),
        cmocka_unit_test(damaged_ranges_expand_within_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
