/* The rest of a divided secret in the next part of its line. */
#include <string.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* Returns the number of bytes of names and of `others`. */
static size_t token_length(struct str s, size_t at, const char *others)
{
    size_t n = 0;
    while (at + n < s.n && (redact_is_name_byte(s.p[at + n]) || strchr(others, s.p[at + n])))
        n++;
    return n;
}

/* Returns the length from `at` on, up to the end of the secret or of `s`. */
static size_t length_to_end(struct redact_rest *rest, struct str s, size_t at)
{
    const char *end;
    switch (rest->kind) {
    case REDACT_REST_BYTE:
        return redact_length_until(s, at, rest->end, s.n);
    case REDACT_REST_TEXT:
        end = memmem(s.p + at, s.n - at, rest->end, strlen(rest->end));
        return end ? (size_t)(end - s.p) - at : s.n - at;
    case REDACT_REST_TOKEN:
        return token_length(s, at, rest->end);
    case REDACT_REST_BRACKETS: {
        size_t n = redact_brackets_length(s, at, &rest->nesting, s.n);
        return n - (rest->nesting.depth == 0);
    }
    case REDACT_REST_NONE:
        return 0;
    default:
        return redact_value_rest_length(rest, s, at);
    }
}

size_t redact_rest_length(struct redact_search *search, size_t at)
{
    struct redact_rest rest = *search->rest;
    size_t n = length_to_end(&rest, search->in, at);
    if (search->more && at + n > search->division) {
        length_to_end(search->rest, (struct str){search->in.p, search->division}, at);
        return search->division - at;
    }
    *search->rest = rest;
    if (search->more || at + n < search->in.n)
        search->rest->kind = REDACT_REST_NONE;
    return n;
}
