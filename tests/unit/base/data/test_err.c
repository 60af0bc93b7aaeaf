#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/base.h"

static void context_precedes_the_message_and_the_hint_is_separate(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(err_set(&err, ERR_NOT_FOUND, "HTTP %d: %s", 404, "Unknown profile"), -1);
    err_hint(&err, "look %s", "there");
    err_wrap(&err, "heap");
    err_wrap(&err, "file-%02d: %s", 3, "gitaly");
    assert_string_equal(err.msg, "file-03: gitaly: heap: HTTP 404: Unknown profile");
    assert_string_equal(err.hint, "look there");
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    err_set(&err, ERR_FAILED, "another");
    assert_string_equal(err.hint, "");
    errno = ENOSPC;
    err_sys(&err, "cannot write %s", "x");
    assert_string_equal(err.msg, "cannot write x: No space left on device");
    assert_int_equal(err_set(NULL, ERR_FAILED, "nobody listens"), -1);
    assert_int_equal(err_wrap(NULL, "nor here"), -1);
}

/* A server's message that fills the whole error does not push out the context. */
static void a_long_message_keeps_its_context(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char words[2000];
    memset(words, 'y', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    err_set(&err, ERR_FAILED, "%s", words);
    err_wrap(&err, "file-03: gitaly: heap");
    assert_int_equal(strncmp(err.msg, "file-03: gitaly: heap: yyyy", 27), 0);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    /* A long context is cut as well, but not completely. */
    err_wrap(&err, "%s", words);
    assert_int_equal(strspn(err.msg, "y"), 160);
    assert_non_null(strstr(err.msg, ": file-03: gitaly: heap: "));
}

static void the_cause_is_replaced_between_context_and_appended_text(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    err_set(&err, ERR_CANCELLED, "%s", "stopped");
    assert_int_equal(err_append(&err, " before %s", "it began"), -1);
    err_wrap(&err, "stopped");
    err_wrap(&err, "heap");
    assert_string_equal(err.msg, "heap: stopped: stopped before it began");
    err_hint(&err, "wait");
    assert_int_equal(err_replace_cause(&err, ERR_TIMEOUT, "%d s were over", 3), -1);
    assert_string_equal(err.msg, "heap: stopped: 3 s were over before it began");
    assert_string_equal(err.hint, "");
    assert_int_equal(err.kind, ERR_TIMEOUT);
    err_append(&err, "; again");
    err_replace_cause(&err, ERR_FAILED, "it failed");
    assert_string_equal(err.msg, "heap: stopped: it failed before it began; again");
    assert_int_equal(err_append(NULL, "x"), -1);
    assert_int_equal(err_replace_cause(NULL, ERR_FAILED, "x"), -1);
}

/* A cause that err_wrap has cut is replaced as well. */
static void a_cut_cause_is_replaced(void **state)
{
    (void)state;
    char words[2000];
    memset(words, 'y', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    for (size_t n = 0; n < 9; n++) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_FAILED, "%s", words);
        for (size_t i = 0; i < n; i++)
            err_wrap(&err, "%.100s", words);
        err_append(&err, "more");
        err_replace_cause(&err, ERR_FAILED, "cause");
        if (n < 5)
            assert_string_equal(err.msg + n * 102, "cause");
        else
            assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    }
}

static void out_of_memory_is_marked(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    assert_int_equal(err_nomem(&err), -1);
    assert_int_equal(err.kind, ERR_LOCAL_IO);
    err_wrap(&err, "FILE.pub");
    assert_true(err.out_of_memory);
    err_set(&err, ERR_LOCAL_IO, "cannot read FILE.pub");
    assert_false(err.out_of_memory);
    assert_int_equal(err_nomem(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_precedes_the_message_and_the_hint_is_separate),
        cmocka_unit_test(a_long_message_keeps_its_context),
        cmocka_unit_test(the_cause_is_replaced_between_context_and_appended_text),
        cmocka_unit_test(a_cut_cause_is_replaced),
        cmocka_unit_test(out_of_memory_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
