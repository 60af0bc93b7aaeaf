/*
 * What the fuzz targets share. Each target calls one entry point with what libFuzzer made up and asserts what
 * must hold of the outcome, not only that nothing crashed. A target takes ownership of nothing it is given.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/* Whatever the flags: here a failed assertion is the finding. */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* No control character, of ASCII or of C1; '\n' and '\t' only where lines are allowed. */
static inline bool fuzz_is_quiet(const char *s, bool lines)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)s[0], next = (unsigned char)s[1];
        if (lines && (c == '\n' || c == '\t'))
            continue;
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
            return false;
    }
    return true;
}

/* Valid UTF-8 as well; jansson is the judge. */
static inline bool fuzz_is_printable(const char *s)
{
    json_t *judged = json_string(s);
    bool valid = judged != NULL;
    json_decref(judged);
    return valid && fuzz_is_quiet(s, false);
}

/* An error as it may be shown to a person; `lines`: the hint may show lines to write. */
static inline void fuzz_expect_err_lines(const struct err *err, bool lines)
{
    assert(err->kind != ERR_NONE && err->msg[0]);
    assert(memchr(err->msg, '\0', sizeof err->msg) && memchr(err->hint, '\0', sizeof err->hint));
    assert(fuzz_is_quiet(err->msg, false) && fuzz_is_quiet(err->hint, lines));
}
static inline void fuzz_expect_err(const struct err *err)
{
    fuzz_expect_err_lines(err, false);
}

/* A relative path that stays below where it begins, told without path_check. */
static inline bool fuzz_stays_below(const char *path)
{
    if (!path[0] || path[0] == '/' || !fuzz_is_printable(path))
        return false;
    for (const char *p = path;; p++) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p += n;
        if (!*p)
            return true;
    }
}

#endif
