#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gateway/ssh/cpu_budget.h"
#include "base/banned.h"

#define MS INT64_C(1000000)

static void a_session_without_data_has_two_seconds(void **state)
{
    (void)state;
    struct cpu_budget b = {0};
    assert_false(cpu_budget_is_exceeded(&b, 700 * MS));
    assert_false(cpu_budget_is_exceeded(&b, 2600 * MS));
    assert_true(cpu_budget_is_exceeded(&b, 60000 * MS));
}

static void data_begins_the_budget_anew(void **state)
{
    (void)state;
    struct cpu_budget b = {0};
    assert_false(cpu_budget_is_exceeded(&b, 0));
    b.n_moved += 1;
    assert_false(cpu_budget_is_exceeded(&b, 60000 * MS));
    assert_false(cpu_budget_is_exceeded(&b, 61900 * MS));
    assert_true(cpu_budget_is_exceeded(&b, 120000 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_without_data_has_two_seconds),
        cmocka_unit_test(data_begins_the_budget_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
