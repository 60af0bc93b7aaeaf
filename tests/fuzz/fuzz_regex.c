/*
 * A pattern, a line's end, and a text. What is a pattern must be one for PCRE2 as well, and say the same of
 * the text twice; what is none is refused in Go's words.
 */
#include "tests/fuzz/fuzz.h"

#include "pprof/regex.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    const uint8_t *end = n ? memchr(p, '\n', n) : NULL;
    size_t length = end ? (size_t)(end - p) : n;
    struct str pattern = {(const char *)p, length};
    struct str text = {(const char *)p + length, n - length};
    struct err err = ERR_INIT;
    struct regex_budget budget = {100000000};
    struct regex *r = NULL;
    /* Steps are limited, but a limit's worth of them takes long under the sanitizers. */
    if (length > 200 || text.n > 200)
        return 0;
    if (regex_new(pattern, &budget, &r, &err) < 0) {
        /* A pattern in place of the words would be one that PCRE2 alone refused. */
        assert(err.kind == ERR_USAGE && !r);
        assert(strncmp(err.msg, "error parsing regexp: ", 22) == 0 && err.msg[22] != '`');
        return 0;
    }
    bool matches = regex_matches(r, text);
    assert(regex_matches(r, text) == matches);
    if (matches)
        assert(regex_check(r, &err) == 0);
    regex_free(r);
    return 0;
}
