/*
 * A pattern, a line's end, and a text. PCRE2 must accept an accepted pattern, and matching the text twice
 * gives the same result. The message for a refused pattern is Go's.
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
    struct regex *r = NULL;
    /* Short inputs only: the allowed steps take long under the sanitizers. */
    if (length > 200 || text.n > 200)
        return 0;
    struct regex_budget *budget = regex_budget_new(100000000);
    if (regex_new(pattern, budget, &r, &err) < 0) {
        /* A message without Go's text would mean that only PCRE2 refused the pattern. */
        assert(err.kind == ERR_USAGE && !r);
        assert(strncmp(err.msg, "error parsing regexp: ", 22) == 0 && err.msg[22] != '`');
        regex_budget_free(budget);
        return 0;
    }
    bool matches = regex_matches(r, text);
    assert(regex_matches(r, text) == matches);
    if (matches)
        assert(regex_check(r, &err) == 0);
    regex_free(r);
    regex_budget_free(budget);
    return 0;
}
