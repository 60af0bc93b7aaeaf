/* A borrowed string: pointer and length, not terminated. */
#ifndef BASE_DATA_STR_H
#define BASE_DATA_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

/* The initializer of a constant str. */
#define STR_INIT(literal)                                                                                    \
    {                                                                                                        \
        (literal), sizeof(literal) - 1                                                                       \
    }
/* Makes a str of a string literal. */
#define STR(literal) ((struct str)STR_INIT(literal))

/* Makes a str of a C string. NULL gives an empty str. */
static inline struct str str_of(const char *s)
{
    return s ? (struct str){s, strlen(s)} : STR("");
}

static inline bool str_equal(struct str a, struct str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static inline bool str_is(struct str s, const char *text)
{
    return str_equal(s, str_of(text));
}

/* Compares by bytes like strcmp: a prefix sorts first. */
static inline int str_compare(struct str a, struct str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static inline bool str_begins(struct str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

/* Removes white space, including Unicode's, from both ends. */
struct str str_trim(struct str s);

/* Removes the next word from the start of *rest and returns it; empty if there is none. White space as in
 * str_trim separates words. */
struct str str_next_word(struct str *rest);

#endif
