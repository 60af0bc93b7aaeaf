/* The limit of the CPU time of a session: its fixed part, and what data add to it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gateway/ssh/cpu_budget.h"
#include "base/banned.h"

#define MS INT64_C(1000000) /* nanoseconds */

static void a_session_without_data_has_three_seconds(void **state)
{
    (void)state;
    struct cpu_budget b = {0};
    assert_false(cpu_budget_is_exceeded(&b, 700 * MS));
    assert_false(cpu_budget_is_exceeded(&b, 3600 * MS));
    assert_true(cpu_budget_is_exceeded(&b, 60000 * MS));
}

static void data_adds_to_the_budget(void **state)
{
    (void)state;
    struct cpu_budget b = {0};
    assert_false(cpu_budget_is_exceeded(&b, 0));
    cpu_budget_add(&b, 10 << 20);
    assert_false(cpu_budget_is_exceeded(&b, 8000 * MS));
    assert_true(cpu_budget_is_exceeded(&b, 60000 * MS));
}

static void each_piece_adds_to_the_budget(void **state)
{
    (void)state;
    struct cpu_budget b = {0};
    assert_false(cpu_budget_is_exceeded(&b, 0));
    for (int i = 0; i < 100000; i++)
        cpu_budget_add(&b, 1);
    assert_false(cpu_budget_is_exceeded(&b, 4900 * MS));
    assert_true(cpu_budget_is_exceeded(&b, 60000 * MS));
}

static void failed_calls_do_not_add_to_the_budget(void **state)
{
    (void)state;
    struct cpu_budget b = {0};
    assert_false(cpu_budget_is_exceeded(&b, 0));
    for (int i = 0; i < 1000000; i++) {
        cpu_budget_add(&b, 0);
        cpu_budget_add(&b, -37);
    }
    assert_true(cpu_budget_is_exceeded(&b, 10000 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_without_data_has_three_seconds),
        cmocka_unit_test(data_adds_to_the_budget),
        cmocka_unit_test(each_piece_adds_to_the_budget),
        cmocka_unit_test(failed_calls_do_not_add_to_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
