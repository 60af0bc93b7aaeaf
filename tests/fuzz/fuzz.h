/*
 * The functions that the fuzz targets share. Each target calls one entry point with the input of libFuzzer
 * and asserts the properties of the result, not only that nothing crashed. A target does not own its input.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/* Enable assert, regardless of the flags: a failed assertion is a failure of the target. */
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

/* Checks that the text has no control characters of ASCII or C1; `lines` permits '\n' and '\t'. */
static inline bool fuzz_has_no_controls(const char *s, bool lines)
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

/* Checks that the text is one line without control characters, and valid UTF-8 (by jansson). */
static inline bool fuzz_is_printable(const char *s)
{
    json_t *text = json_string(s);
    bool valid = text != NULL;
    json_decref(text);
    return valid && fuzz_has_no_controls(s, false);
}

/* Checks that a user may see the error; `lines`: the hint may have several lines. */
static inline void fuzz_expect_err_lines(const struct err *err, bool lines)
{
    assert(err->kind != ERR_NONE && err->msg[0]);
    assert(memchr(err->msg, '\0', sizeof err->msg) && memchr(err->hint, '\0', sizeof err->hint));
    assert(fuzz_has_no_controls(err->msg, false) && fuzz_has_no_controls(err->hint, lines));
}
static inline void fuzz_expect_err(const struct err *err)
{
    fuzz_expect_err_lines(err, false);
}

/* Checks, without path_check, that a relative path stays below its start. */
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
