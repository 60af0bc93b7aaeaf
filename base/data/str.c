#include "base/data/str.h"

#include "base/banned.h"

/* Unicode white space of more than one byte. */
static const char *const wide_spaces[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80",
                                          "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84",
                                          "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87", "\xe2\x80\x88",
                                          "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                          "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns the length of the white space character at the start or the end; 0 if there is none. */
static size_t space_length(struct str s, bool at_end)
{
    if (s.n == 0)
        return 0;
    unsigned char c = (unsigned char)s.p[at_end ? s.n - 1 : 0];
    if (c < 0x80)
        return is_space((char)c);
    for (size_t i = 0; i < sizeof wide_spaces / sizeof *wide_spaces; i++) {
        size_t n = strlen(wide_spaces[i]);
        if (s.n >= n && memcmp(s.p + (at_end ? s.n - n : 0), wide_spaces[i], n) == 0)
            return n;
    }
    return 0;
}

struct str str_trim(struct str s)
{
    for (size_t n; (n = space_length(s, false)) > 0;) {
        s.p += n;
        s.n -= n;
    }
    for (size_t n; (n = space_length(s, true)) > 0;)
        s.n -= n;
    return s;
}

struct str str_next_word(struct str *rest)
{
    struct str s = *rest;
    for (size_t n; (n = space_length(s, false)) > 0;) {
        s.p += n;
        s.n -= n;
    }
    struct str word = {s.p, 0};
    while (word.n < s.n && space_length((struct str){s.p + word.n, s.n - word.n}, false) == 0)
        word.n++;
    *rest = (struct str){s.p + word.n, s.n - word.n};
    return word;
}
