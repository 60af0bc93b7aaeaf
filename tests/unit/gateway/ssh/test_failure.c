/* The table of SSH failures: each row is complete, and details fill its gaps in order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <string.h>

#include "gateway/ssh/failure.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void each_row_makes_an_error(void **state)
{
    (void)state;
    for (enum failure f = FAILURE_KEY_CHANGED; f <= FAILURE_CONFIGURATION; f++) {
        struct err err = ERR_INIT;
        assert_int_equal(failure_set(f, FAILURE_DETAILS("one", "two", "three", "four"), &err), -1);
        assert_int_equal(err.kind, failure_kind(f));
        assert_int_not_equal(err.kind, ERR_NONE);
        assert_int_equal(err.unreachable, failure_is_unreachable(f));
        assert_true(strlen(err.msg) >= 3);
        assert_null(strstr(err.msg, "{}"));
        assert_null(strstr(err.hint, "{}"));
        assert_int_equal(failure_hint(f) != NULL, err.hint[0] != '\0');
        assert_int_equal(failure_set(f, FAILURE_DETAILS(NULL), NULL), -1);
    }
}

static void details_fill_the_gaps_in_order(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char offered[40];
    failure_set(FAILURE_KEY_CHANGED,
                FAILURE_DETAILS("a port 22", failure_offered_key(offered, sizeof offered, "k"),
                                ", but f:1 has l", "line 1 of f"),
                &err);
    assert_string_equal(err.msg, "a port 22: HOST KEY HAS CHANGED: the server offered k, but f:1 has l");
    assert_string_equal(
        err.hint,
        "another machine may intercept the connection; only if you know why it changed, remove line 1 of f");
    failure_set(FAILURE_KEY_CHANGED, FAILURE_DETAILS("a", failure_offered_key(offered, sizeof offered, "")),
                &err);
    assert_string_equal(err.msg, "a: HOST KEY HAS CHANGED");
}

static void long_details_are_cut(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char name[2000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    failure_set(FAILURE_KEY_CHANGED, FAILURE_DETAILS(name, name, name, name), &err);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
}

/* A file outside the table may only add a hint of the table. */
static void hints_are_in_the_table(void **state)
{
    (void)state;
    glob_t files = {0};
    assert_int_equal(glob("gateway/ssh/*.c", 0, NULL, &files), 0);
    assert_int_equal(glob("gateway/openssh/*.c", GLOB_APPEND, NULL, &files), 0);
    assert_int_equal(glob("gateway/*.c", GLOB_APPEND, NULL, &files), 0);
    size_t searched = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i];
        struct buf text = BUF_INIT(1u << 20);
        struct err err = ERR_INIT;
        /* local.c listens on this workstation, so its hints are not about SSH. */
        if (strcmp(path, "gateway/ssh/failure.c") == 0 || strcmp(path, "gateway/local.c") == 0)
            continue;
        assert_ok(file_read(path, &text, &err), &err);
        for (const char *p = buf_str(&text); (p = strstr(p, "err_hint(")); p++)
            if (strncmp(p, "err_hint(err, \"%s\", failure_hint(", 33) != 0)
                fail_msg("%s sets a hint of its own: %.60s", path, p);
        buf_release(&text);
        searched++;
    }
    assert_true(searched > 40);
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_makes_an_error),
        cmocka_unit_test(details_fill_the_gaps_in_order),
        cmocka_unit_test(long_details_are_cut),
        cmocka_unit_test(hints_are_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
