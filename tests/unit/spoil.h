/* Cuts a valid object at every length and flips every bit. Each time a parser gets a heap copy of exactly
 * that size, so that a sanitizer reports reading beyond it. */
#ifndef TESTS_UNIT_SPOIL_H
#define TESTS_UNIT_SPOIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct spoiled {
    const char *p;
    size_t n;
    bool cut;  /* else one bit is flipped */
    size_t at; /* the length after the cut, or the byte that is flipped */
};
typedef void spoil_fn(void *ctx, const struct spoiled *s);

/* The same as a string, cut at a NUL in it; the caller frees it. */
static inline char *spoiled_text(const struct spoiled *s)
{
    char *text = strndup(s->p, s->n);
    assert_non_null(text);
    return text;
}

static inline void spoil_once(const char *p, struct spoiled s, unsigned mask, spoil_fn *take, void *ctx)
{
    /* One byte precedes it, so that the parser does not get malloc's alignment. */
    char *copy = malloc(s.n + 1);
    assert_non_null(copy);
    memcpy(copy + 1, p, s.n);
    if (!s.cut)
        copy[1 + s.at] = (char)((unsigned char)copy[1 + s.at] ^ mask);
    s.p = copy + 1;
    take(ctx, &s);
    free(copy);
}

static inline void spoil(const void *p, size_t n, spoil_fn *take, void *ctx)
{
    for (size_t at = 0; at < n; at++)
        spoil_once(p, (struct spoiled){.n = at, .cut = true, .at = at}, 0, take, ctx);
    for (size_t at = 0; at < n; at++)
        for (unsigned bit = 0; bit < 8; bit++)
            spoil_once(p, (struct spoiled){.n = n, .at = at}, 1u << bit, take, ctx);
}

#endif
