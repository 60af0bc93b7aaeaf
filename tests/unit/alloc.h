/* Allocations that fail on request. The linker redirects the allocations of profgrab's objects (--wrap in the
 * Makefile), and a hook redirects those of jansson. A test program that includes this file runs in one
 * thread. */
#ifndef TESTS_UNIT_ALLOC_H
#define TESTS_UNIT_ALLOC_H

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static struct {
    size_t nth;  /* this allocation fails, counted from 1; 0: none fails and none is counted */
    size_t seen; /* allocations since nth was set */
    bool failed;
    bool json_works; /* jansson's allocations neither fail nor count */
} alloc;

static bool alloc_fails(void)
{
    if (alloc.nth == 0 || ++alloc.seen != alloc.nth)
        return false;
    alloc.failed = true;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_asprintf(char **ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void *__wrap_malloc(size_t n)
{
    return alloc_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return alloc_fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return alloc_fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return alloc_fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return alloc_fails() ? NULL : __real_strndup(s, n);
}

/* asprintf(3) leaves the pointer undefined after a failure, so this macro sets an invalid pointer. */
#define ALLOC_ASPRINTF(ret, fmt)                                                                             \
    do {                                                                                                     \
        va_list ap;                                                                                          \
        va_start(ap, fmt);                                                                                   \
        int n = alloc_fails() ? -1 : vasprintf(ret, fmt, ap);                                                \
        va_end(ap);                                                                                          \
        if (n < 0)                                                                                           \
            *(ret) = (char *)(uintptr_t)8;                                                                   \
        return n;                                                                                            \
    } while (0)

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
    ALLOC_ASPRINTF(ret, fmt);
}

/* asprintf's name under _FORTIFY_SOURCE. */
int __wrap___asprintf_chk(char **ret, int flag, const char *fmt, ...)
{
    (void)flag;
    ALLOC_ASPRINTF(ret, fmt);
}

/* jansson's malloc, for json_set_alloc_funcs. */
static void *alloc_for_json(size_t n)
{
    return !alloc.json_works && alloc_fails() ? NULL : __real_malloc(n);
}

/* A failed test must not leave its settings to the next one. */
#define ALLOC_FAIL(...)                                                                                      \
    do {                                                                                                     \
        memset(&alloc, 0, sizeof alloc);                                                                     \
        fail_msg(__VA_ARGS__);                                                                               \
    } while (0)

/* Does the work once and frees everything, because alloc_walk calls it once for each allocation. Returns the
 * work's 0 or -1. */
typedef int alloc_work_fn(void *ctx, struct err *err);

/* Fails the first allocation, then the second, and so on until none fails. After each failure the error's
 * message must end in "out of memory"; at most `optional` of the failures may have no effect. Returns the
 * number of failures. */
static size_t alloc_walk(alloc_work_fn *work, void *ctx, size_t optional)
{
    for (size_t nth = 1;; nth++) {
        struct err err = ERR_INIT;
        alloc.nth = nth;
        alloc.seen = 0;
        alloc.failed = false;
        int rc = work(ctx, &err);
        alloc.nth = 0;
        if (!alloc.failed) {
            if (rc < 0)
                ALLOC_FAIL("without a failure: %s", err.msg);
            return nth - 1;
        }
        size_t n = strlen(err.msg), n_end = strlen("out of memory");
        if (rc == 0 && optional > 0)
            optional--;
        else if (rc == 0)
            ALLOC_FAIL("allocation %zu failed, but the function did not", nth);
        else if (n < n_end || strcmp(err.msg + n - n_end, "out of memory") != 0)
            ALLOC_FAIL("allocation %zu failed: \"%s\"", nth, err.msg);
        else
            assert_int_equal(err.kind, ERR_LOCAL_IO);
    }
}

/* Suspends the failures, so that the test itself can allocate. Returns a value for alloc_resume, which ends
 * the suspension. */
static size_t alloc_pause(void)
{
    size_t nth = alloc.nth;
    alloc.nth = 0;
    return nth;
}

static void alloc_resume(size_t nth)
{
    alloc.nth = nth;
}

/* A test fills output parameters with this pattern; a failing function must not change it. */
#define ALLOC_PATTERN 0x5a
static void alloc_fill_pattern(void *p, size_t n)
{
    memset(p, ALLOC_PATTERN, n);
}

static void alloc_assert_untouched(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)p)[i] != ALLOC_PATTERN)
            fail_msg("an output was changed at byte %zu", i);
}

#endif
