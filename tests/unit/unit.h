/* Helpers of several tests: comparing an error, running a program. Include <cmocka.h> before this file. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <string.h>

#include "tests/unit/scratch.h"

#define SCRATCH(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

static inline void assert_ok(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->msg);
}

static inline void assert_refused(int rc, const struct err *err, enum err_kind kind, const char *msg)
{
    assert_int_equal(rc, -1);
    assert_string_equal(err->msg, msg);
    assert_int_equal(err->kind, kind);
}

static inline void assert_contains(const char *s, const char *part)
{
    if (!strstr(s, part))
        fail_msg("\"%s\" does not contain \"%s\"", s, part);
}

/* A new string, which the caller frees. */
__attribute__((format(printf, 1, 2))) static inline char *format_text(const char *fmt, ...)
{
    struct buf b = BUF_INIT(65536);
    char line[8192];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    buf_adds(&b, line);
    return buf_detach(&b);
}

/* Runs a program that must succeed; returns its output, which the caller releases. */
static inline struct buf run_program(const char *const argv[])
{
    struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1, .max_output = 1u << 20};
    struct proc_result r;
    struct err err = ERR_INIT;
    assert_ok(proc_run(argv, &limits, &r, &err), &err);
    if (r.exit_code != 0)
        fail_msg("%s: exit code %d: %s", argv[0], r.exit_code, r.error_output);
    return r.out;
}

#define RUN_PROGRAM(...)                                                                                     \
    do {                                                                                                     \
        struct buf out_ = run_program((const char *const[]){__VA_ARGS__, NULL});                             \
        buf_release(&out_);                                                                                  \
    } while (0)

#endif
