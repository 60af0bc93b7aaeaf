/* The exit code, last line and hint of a run depend only on the states of its items. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "cli/capture/ending.h"
#include "cli/term/exit.h"
#include "base/banned.h"

static void add_item(struct capture_outcome *outcome, enum fetch_status status, bool has_file, bool permanent)
{
    struct fetch_item item = {.status = status, .permanent = permanent};
    if (has_file)
        item.file[0] = 'x';
    counts_add_item(&outcome->counts, &item);
    outcome->counts.complete += status == FETCH_OK;
    if (has_file)
        outcome->end = CAPTURE_PACKED;
}

static void add_failure(struct capture_outcome *outcome, enum err_kind kind)
{
    struct err err = ERR_INIT;
    err_set(&err, kind, "no");
    counts_add_failure(&outcome->counts, &err);
}

/* Each letter is an item or a failure: w complete, d damaged, D damaged permanently, m missing, n not
 * available, l left out, h a failed host or service, u an unknown kind. */
static struct capture_outcome outcome_of(const char *states)
{
    struct capture_outcome outcome = {.end = CAPTURE_NOTHING};
    for (; *states; states++)
        switch (*states) {
        case 'w':
            add_item(&outcome, FETCH_OK, true, false);
            break;
        case 'd':
        case 'D':
            add_item(&outcome, FETCH_DAMAGED, true, *states == 'D');
            break;
        case 'm':
        case 'n':
            add_item(&outcome, FETCH_FAILED, false, *states == 'n');
            break;
        case 'l':
            add_item(&outcome, FETCH_LEFT_OUT, false, false);
            break;
        default:
            add_failure(&outcome, *states == 'u' ? ERR_USAGE : ERR_TIMEOUT);
        }
    return outcome;
}

#define ALL_MISSING " fetches the missing items"

static void every_outcome_has_an_exit_code(void **state)
{
    (void)state;
    static const struct {
        const char *states;
        int code;
        const char *line, *hint; /* NULL unless there is a bundle that is not complete */
    } rows[] = {
        {"w", EXIT_OK, NULL, NULL},
        {"www", EXIT_OK, NULL, NULL},
        {"", EXIT_FAILED, NULL, NULL},
        {"m", EXIT_FAILED, NULL, NULL},
        {"n", EXIT_FAILED, NULL, NULL},
        {"hhh", EXIT_FAILED, NULL, NULL},
        {"u", EXIT_USAGE, NULL, NULL},
        {"um", EXIT_USAGE, NULL, NULL},
        {"d", EXIT_FAILED, "no item is intact: 1 damaged, see above; the bundle contains only damaged bodies",
         "`R`" ALL_MISSING},
        {"D", EXIT_FAILED, "no item is intact: 1 damaged, see above; the bundle contains only damaged bodies",
         ""},
        {"Dn", EXIT_FAILED,
         "no item is intact: 1 missing, 1 damaged, see above; the bundle contains only damaged bodies", ""},
        {"du", EXIT_FAILED,
         "no item is intact: 1 missing, 1 damaged, see above; the bundle contains only damaged bodies",
         "`R` can fetch 1 of these 2"},
        {"wm", EXIT_PARTIAL, "not complete: 1 missing, see above; 1 item collected", "`R`" ALL_MISSING},
        {"wwd", EXIT_PARTIAL, "not complete: 1 damaged, see above; 2 items collected", "`R`" ALL_MISSING},
        {"wn", EXIT_PARTIAL, "not complete: 1 missing, see above; 1 item collected", ""},
        {"wlh", EXIT_PARTIAL, "not complete: 2 missing, see above; 1 item collected", "`R`" ALL_MISSING},
        {"wu", EXIT_PARTIAL, "not complete: 1 missing, see above; 1 item collected", ""},
        {"wmnDd", EXIT_PARTIAL, "not complete: 2 missing, 2 damaged, see above; 1 item collected",
         "`R` can fetch 2 of these 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct capture_outcome outcome = outcome_of(rows[i].states);
        struct err explained = ERR_INIT;
        if (ending_code(&outcome, 0) != rows[i].code)
            fail_msg("%s: %d", rows[i].states, ending_code(&outcome, 0));
        bool complete = strspn(rows[i].states, "w") == strlen(rows[i].states);
        assert_int_equal(capture_is_complete(&outcome), complete && outcome.end == CAPTURE_PACKED);
        if (!rows[i].line)
            continue;
        ending_explain(&outcome.counts, "R", &explained);
        assert_string_equal(explained.msg, rows[i].line);
        assert_string_equal(explained.hint, rows[i].hint);
    }
}

/* A signal determines the code even if all items arrived. The run is then not complete. */
static void a_signal_determines_the_exit_code(void **state)
{
    (void)state;
    static const char *const states[] = {"", "w", "wm", "d", "u"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct capture_outcome outcome = outcome_of(states[i]);
        outcome.cancelled = true;
        assert_int_equal(ending_code(&outcome, SIGTERM), EXIT_SIGNAL + SIGTERM);
        assert_false(capture_is_complete(&outcome));
    }
}

/* A signal during the packing changes the exit code. */
static void a_signal_after_packing_does_not_change_the_exit_code(void **state)
{
    (void)state;
    struct capture_outcome outcome = outcome_of("w");
    assert_int_equal(ending_code(&outcome, SIGTERM), EXIT_OK);
    outcome.end = CAPTURE_NOT_PACKED;
    assert_int_equal(ending_code(&outcome, SIGTERM), EXIT_SIGNAL + SIGTERM);
    assert_int_equal(ending_code(&outcome, 0), EXIT_FAILED);
    /* The code reports the failed write, not a wrong request of another service. */
    outcome.counts.wrong_requests = 1;
    assert_int_equal(ending_code(&outcome, 0), EXIT_FAILED);
}

static void items_of_earlier_runs_count_only_in_a_new_bundle(void **state)
{
    (void)state;
    struct capture_outcome outcome = outcome_of("d");
    outcome.counts.complete = 3;
    assert_int_equal(ending_code(&outcome, 0), EXIT_PARTIAL);
    /* No new bundle, because no item arrived. */
    outcome = outcome_of("m");
    outcome.counts.complete = 3;
    assert_int_equal(ending_code(&outcome, 0), EXIT_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_outcome_has_an_exit_code),
                                       cmocka_unit_test(a_signal_determines_the_exit_code),
                                       cmocka_unit_test(a_signal_after_packing_does_not_change_the_exit_code),
                                       cmocka_unit_test(items_of_earlier_runs_count_only_in_a_new_bundle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
