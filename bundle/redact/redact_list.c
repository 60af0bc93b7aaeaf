/* Checks whether a list or an object with a plural name, such as `"tokens": ["x"]`, contains text. */
#include <string.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* Returns whether an unquoted element of a list or an object is text (redact_is_text), such as a1 in `[a1 b]`
 * or `map[x:a1]`. Skips keys, and the name of a Go type before a bracket. */
static bool contains_words(struct str v)
{
    for (size_t at = 0, n; at < v.n; at += n + 1) {
        n = redact_length_until(v, at, " \t,[]{}()", v.n);
        struct str word = {v.p + at, n};
        bool follows_map = at > 3 && memcmp(v.p + at - 4, "map[", 4) == 0, has_colon = memchr(word.p, ':', n);
        while (memchr(word.p, ':', word.n)) {
            word.p++;
            word.n--;
        }
        bool quoted = word.n > 0 && (redact_is_quote(word.p[0]) || word.p[0] == '\\'),
             type = at + n < v.n && v.p[at + n] && strchr("[{(", v.p[at + n]);
        if (!quoted && !type && (has_colon || !follows_map) && redact_is_text(word))
            return true;
    }
    return false;
}

/* Returns whether the string whose opening quote is at `at` is a key: a colon follows the string. */
static bool is_object_key(struct str v, size_t at)
{
    const char quote[] = {v.p[at], '\0'};
    for (at += 2 + redact_length_until(v, at + 1, quote, v.n); at < v.n && redact_is_blank(v.p[at]);)
        at++;
    return at < v.n && v.p[at] == ':';
}

bool redact_list_has_text(struct str v, size_t bracket)
{
    /* In Go's `[]string{...}` the braces contain strings, not names. */
    bool is_go = v.p[0] != '{' && memchr(v.p, '{', v.n);
    char before = v.p[bracket];
    for (size_t i = bracket + 1; i < v.n; i++) {
        bool begins_element = before == '{' || before == ',';
        if (redact_is_quote(v.p[i]) && (before == ':' || before == '[' || before == '(' ||
                                        (is_go && before == '{') || (begins_element && !is_object_key(v, i))))
            return true;
        if (!redact_is_blank(v.p[i]) && v.p[i] != '\\')
            before = v.p[i];
    }
    return contains_words(v);
}
