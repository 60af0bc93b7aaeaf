#include "http/escaped.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* A shorter beginning of the secret is no copy that was cut. */
#define CUT_MIN 4

bool escaped_may_differ(const char *secret)
{
    for (const char *p = secret; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.~", *p))
            return true;
    return false;
}

/* Reads n digits of a hexadecimal number, and returns whether it is c. */
static bool is_hex(const char *p, size_t n, unsigned char c)
{
    char digits[8] = "";
    memcpy(digits, p, n);
    return strspn(digits, "0123456789abcdefABCDEF") == n && strtoul(digits, NULL, 16) == c;
}

/* Returns the length of the HTML entity at p that stands for c, or 0. */
static size_t match_entity(const char *p, size_t n, unsigned char c)
{
    static const struct {
        const char *name;
        unsigned char c;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i].name);
        if (names[i].c == c && n >= length && memcmp(p, names[i].name, length) == 0)
            return length;
    }
    const char *end =
        n > 3 && p[1] == '#' ? memchr(p, ';', n < ESCAPED_BYTE_MAX ? n : ESCAPED_BYTE_MAX) : NULL;
    if (!end)
        return 0;
    char number[ESCAPED_BYTE_MAX] = "", *rest;
    bool is_hexadecimal = p[2] == 'x' || p[2] == 'X';
    const char *digits = p + 2 + is_hexadecimal;
    memcpy(number, digits, (size_t)(end - digits));
    bool is_c = isxdigit((unsigned char)*number) && strtoul(number, &rest, is_hexadecimal ? 16 : 10) == c;
    return is_c && !*rest ? (size_t)(end + 1 - p) : 0;
}

/* Returns the number of bytes at p that stand for c, or 0. */
static size_t match_byte(const char *p, size_t n, unsigned char c)
{
    size_t length = 0;
    if (*p == '%' && n >= 3 && is_hex(p + 1, 2, c))
        return 3;
    if (*p == '&' && (length = match_entity(p, n, c)) > 0)
        return length;
    if (*p == '\\' && n >= 6 && p[1] == 'u' && is_hex(p + 2, 4, c))
        return 6;
    if (*p == '\\' && n >= 4 && p[1] == 'x' && is_hex(p + 2, 2, c))
        return 4;
    if (*p == '\\' && n >= 2 && strchr("\"\\/'", c) && (unsigned char)p[1] == c)
        return 2;
    return (unsigned char)*p == c || (*p == '+' && c == ' ') ? 1 : 0;
}

/* Returns whether the text ends at p, or was cut there, perhaps inside an escaped byte. */
static bool is_cut(const char *p, size_t n)
{
    if (n > 0 && strchr("%&\\", *p))
        for (size_t i = 1; i <= ESCAPED_BYTE_MAX; i++)
            if (i >= n || (n - i >= 3 && memcmp(p + i, "...", 3) == 0))
                return true;
    return n == 0 || (n >= 3 && memcmp(p, "...", 3) == 0);
}

/* Returns the length of the copy at p, or 0. */
static size_t match(const char *p, size_t n, const char *secret, bool with_cut)
{
    size_t at = 0, before = 0, n_equal = 0;
    while (secret[n_equal] && at < n) {
        size_t length = match_byte(p + at, n - at, (unsigned char)secret[n_equal]);
        if (length == 0)
            break;
        before = at;
        at += length;
        n_equal++;
    }
    if (!secret[n_equal])
        return at;
    if (!with_cut || n_equal < CUT_MIN)
        return 0;
    /* The last byte may have matched the beginning of an escaped one: the % of %25. */
    return is_cut(p + at, n - at) ? at : is_cut(p + before, n - before) ? before : 0;
}

size_t escaped_find(const char *text, size_t n, const char *secret, bool with_cut, size_t *ret_at)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] != *secret && !strchr("%&\\+", text[i]))
            continue;
        size_t length = match(text + i, n - i, secret, with_cut);
        if (length > 0) {
            *ret_at = i;
            return length;
        }
    }
    return 0;
}
