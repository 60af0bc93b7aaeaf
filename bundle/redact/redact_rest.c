/*
 * Secrets that are longer than a part of a line. A division is a place where the search can begin again
 * without knowing what stands before: inside of no escape and no mark that ends a secret.
 */
#include <string.h>

#include "bundle/redact/redact_search.h"
#include "base/banned.h"

/* The most bytes that a rule reads to see whether a secret ends. */
enum { MAX_END = 64 };

/* Returns whether a secret may be divided at `at`: no escape, no pair of quotes and no trailing separator
 * ends there. */
static bool may_divide(struct str s, size_t at)
{
    char before = s.p[at - 1], c = s.p[at];
    return before != '\0' && !strchr("\"'`\\ \t,;", before) && !redact_is_quote(c) && !redact_is_blank(c) &&
           c != '\\' && c != '%';
}

size_t redact_rest_division(struct str s)
{
    size_t most = s.n > MAX_END ? s.n - MAX_END : s.n, at = most, least = s.n - s.n / 32;
    while (at > least && !may_divide(s, at))
        at--;
    return at > least ? at : most;
}

size_t redact_rest_divide(struct redact_search *search, size_t at, size_t n, struct redact_rest rest)
{
    if (!search->more || at >= search->division || at + n <= search->division)
        return n;
    *search->rest = rest;
    return search->division - at;
}
