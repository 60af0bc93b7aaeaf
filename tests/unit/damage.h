/* Cuts a valid object at every length, and flips one bit of every byte, or every bit if $DAMAGE is `all`
 * (make check-long). A parser gets each result as a heap copy of exactly its size, so that a sanitizer
 * reports reading beyond it. */
#ifndef TESTS_UNIT_DAMAGE_H
#define TESTS_UNIT_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct damaged {
    const char *p;
    size_t n;
    bool cut;  /* else one bit is flipped */
    size_t at; /* the length after the cut, or the byte that is flipped */
};
typedef void damage_fn(void *ctx, const struct damaged *s);

/* The bytes as a string, which ends at the first NUL in them; the caller frees it. */
static inline char *damaged_text(const struct damaged *s)
{
    char *text = strndup(s->p, s->n);
    assert_non_null(text);
    return text;
}

static inline void damage_once(const char *p, struct damaged s, unsigned mask, damage_fn *check, void *ctx)
{
    /* One byte precedes the object, so that it does not have malloc's alignment. */
    char *copy = malloc(s.n + 1);
    assert_non_null(copy);
    memcpy(copy + 1, p, s.n);
    if (!s.cut)
        copy[1 + s.at] = (char)((unsigned char)copy[1 + s.at] ^ mask);
    s.p = copy + 1;
    check(ctx, &s);
    free(copy);
}

/* Whether to flip this bit of the byte at this place: neighbouring bytes get different bits. */
static inline bool damage_flips(size_t at, unsigned bit)
{
    const char *damage = getenv("DAMAGE");
    return bit == (at + at / 8) % 8 || (damage && strcmp(damage, "all") == 0);
}

static inline void damage_everywhere(const void *p, size_t n, damage_fn *check, void *ctx)
{
    for (size_t at = 0; at < n; at++)
        damage_once(p, (struct damaged){.n = at, .cut = true, .at = at}, 0, check, ctx);
    for (size_t at = 0; at < n; at++)
        for (unsigned bit = 0; bit < 8; bit++)
            if (damage_flips(at, bit))
                damage_once(p, (struct damaged){.n = n, .at = at}, 1u << bit, check, ctx);
}

#endif
