#include "bundle/redact/redact_escape.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

long redact_read_hex(struct str s, size_t at, size_t digits)
{
    long value = 0;
    if (at > s.n || s.n - at < digits)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        int digit = text_hex_digit(s.p[at + i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static struct redact_unit unit_of_byte(long byte, size_t n)
{
    return (struct redact_unit){{(unsigned char)byte}, 1, n};
}

static struct redact_unit unit_of_character(long c, size_t n)
{
    struct redact_unit u = {.length = n};
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    u.n_bytes = more + 1;
    u.bytes[0] = (unsigned char)(first[more] | c >> 6 * more);
    for (size_t i = 1; i <= more; i++)
        u.bytes[i] = (unsigned char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return u;
}

/* Reads `\u00fc`, or a pair of surrogates. */
static struct redact_unit read_unicode(struct str s, size_t at, long c)
{
    long low = -1;
    if (c >= 0xd800 && c < 0xdc00 && s.n - at >= 12 && s.p[at + 6] == '\\' && s.p[at + 7] == 'u')
        low = redact_read_hex(s, at + 8, 4);
    if (low >= 0xdc00 && low < 0xe000)
        return unit_of_character(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), 12);
    return unit_of_character(c, 6);
}

static struct redact_unit read_backslash(struct str s, size_t at)
{
    enum { LAST = 0x10ffff };
    char c = '\0';
    if (s.n - at > 1)
        c = s.p[at + 1];
    long number = c == 'u' ? redact_read_hex(s, at + 2, 4) : c == 'x' ? redact_read_hex(s, at + 2, 2) : -1;
    if (c == 'U' && (number = redact_read_hex(s, at + 2, 8)) >= 0)
        return number <= LAST ? unit_of_character(number, 10) : unit_of_byte('\\', 1);
    if (number >= 0)
        return c == 'u' ? read_unicode(s, at, number) : unit_of_byte(number, 4);
    if (c != '\0' && strchr("\\/\"'`&", c))
        return unit_of_byte(c, 2);
    return unit_of_byte('\\', 1);
}

static struct redact_unit read_entity(struct str s, size_t at)
{
    static const struct {
        const char *text;
        long c;
    } names[] = {{"&amp;", '&'},
                 {"&lt;", '<'},
                 {"&gt;", '>'},
                 {"&quot;", '"'},
                 {"&apos;", '\''},
                 {"&colon;", ':'},
                 {"&equals;", '='},
                 {"&Tab;", '\t'},
                 {"&NewLine;", '\n'},
                 {"&nbsp;", 0xa0},
                 {"&ensp;", 0x2002},
                 {"&emsp;", 0x2003},
                 {"&emsp13;", 0x2004},
                 {"&emsp14;", 0x2005},
                 {"&numsp;", 0x2007},
                 {"&puncsp;", 0x2008},
                 {"&thinsp;", 0x2009},
                 {"&ThinSpace;", 0x2009},
                 {"&hairsp;", 0x200a},
                 {"&VeryThinSpace;", 0x200a},
                 {"&MediumSpace;", 0x205f},
                 {"&NonBreakingSpace;", 0xa0}};
    enum { MAX_DIGITS = 7, LAST = 0x10ffff };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (s.n - at >= strlen(names[i].text) &&
            strncasecmp(s.p + at, names[i].text, strlen(names[i].text)) == 0)
            return unit_of_character(names[i].c, strlen(names[i].text));
    bool hex = s.n - at > 3 && (s.p[at + 2] == 'x' || s.p[at + 2] == 'X');
    size_t begin = at + (hex ? 3 : 2), n = 0;
    long number = 0;
    if (s.n - at < 4 || s.p[at + 1] != '#')
        return unit_of_byte('&', 1);
    for (; n < MAX_DIGITS && begin + n < s.n; n++) {
        int digit = text_hex_digit(s.p[begin + n]);
        if (digit < 0 || (!hex && digit > 9))
            break;
        number = number * (hex ? 16 : 10) + digit;
    }
    if (n == 0 || number > LAST || begin + n >= s.n || s.p[begin + n] != ';')
        return unit_of_byte('&', 1);
    return unit_of_character(number, begin + n + 1 - at);
}

struct redact_unit redact_unit_read(struct str s, size_t at)
{
    char c = s.p[at];
    long byte = c == '%' ? redact_read_hex(s, at + 1, 2) : -1;
    if (byte >= 0)
        return unit_of_byte(byte, 3);
    return c == '\\'  ? read_backslash(s, at)
           : c == '&' ? read_entity(s, at)
                      : unit_of_byte((unsigned char)c, 1);
}

struct redact_unit redact_unit_before(struct str s, size_t at)
{
    enum { MAX_LEVELS = 4 };
    size_t begin = at > 0 ? at - 1 : 0;
    if (at > 0 && s.p[begin] == ';') {
        while (begin > 0 && at - begin < REDACT_ENTITY_MAX && s.p[begin] != '&')
            begin--;
        struct redact_unit u = redact_unit_read((struct str){s.p, at}, begin);
        return s.p[begin] == '&' && u.length == at - begin ? u : (struct redact_unit){0};
    }
    long byte = at > 2 ? redact_read_hex(s, at - 2, 2) : -1;
    if (byte < 0)
        return (struct redact_unit){0};
    begin = at - 2;
    for (int levels = 1; levels < MAX_LEVELS && begin > 2 && memcmp(s.p + begin - 2, "25", 2) == 0; levels++)
        begin -= 2;
    if (s.p[begin - 1] == '%')
        return unit_of_byte(byte, at - begin + 1);
    bool unicode = at > 5 && memcmp(s.p + at - 6, "\\u00", 4) == 0,
         hex = at > 3 && memcmp(s.p + at - 4, "\\x", 2) == 0;
    return unicode || hex ? unit_of_byte(byte, unicode ? 6 : 4) : (struct redact_unit){0};
}

bool redact_has_escapes(struct str s)
{
    return memchr(s.p, '\\', s.n) || memchr(s.p, '%', s.n) || memchr(s.p, '&', s.n);
}

size_t redact_escape_tail(struct str text, struct str run)
{
    if (run.p == text.p || run.n == 0)
        return 0;
    char before = run.p[-1], c = run.p[0];
    if (before == '%')
        return redact_read_hex(run, 0, 2) >= 0 ? 2 : 0;
    if (before != '\\')
        return 0;
    return c == 'u' && redact_read_hex(run, 1, 4) >= 0   ? 5
           : c == 'x' && redact_read_hex(run, 1, 2) >= 0 ? 3
           : strchr("nrtbfva", c)                        ? 1
                                                         : 0;
}
