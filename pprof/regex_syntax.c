/*
 * Rewrites Go's regular expressions for PCRE2.
 *
 * Groups become non-capturing. A literal character other than an ASCII letter, a digit or _ becomes its
 * number, so that no other escape is needed. Classes become PCRE2's classes where these are equal. Assertions
 * get a group, because Go allows repeats of them.
 *
 * Source: Go, regexp/syntax/parse.go; pcre2pattern(3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/regex.h"
#include "base/banned.h"

/* MAX_REPEAT and MAX_DEPTH are Go's limits. MAX_CLASS_CHARACTERS limits `class_characters` of struct
 * parser. */
#define MAX_REPEAT 1000
#define MAX_DEPTH 1000
#define MAX_CLASS_CHARACTERS (UINT64_C(16) << 20)
#define MAX_RUNE 0x10FFFFu

/* An open group. */
struct level {
    size_t from;         /* its start in the output */
    unsigned max_copies; /* the largest max_copies of its operands so far */
};

/* The last operand, to which the next repeat applies. Flags may stand between them. */
struct operand {
    size_t from, to;     /* range in the output, including repeats */
    unsigned max_copies; /* how often the nested repeats copy the innermost item, at most: 6 for (?:a{2}){3};
                            0: no operand */
    unsigned repeats;    /* how many it has */
};

struct parser {
    struct str all;
    const char *at, *end;
    struct buf *out;
    size_t depth;
    struct level levels[MAX_DEPTH + 1];
    struct operand last;
    const char *repeat;        /* the repeat just before; NULL: none */
    bool no_posix_end;         /* no `:]` is left; avoids a search for each `[:` */
    uint64_t class_characters; /* the number of characters in all ranges of classes */
    struct err *err;
};

static size_t bytes_left(const struct parser *p)
{
    return (size_t)(p->end - p->at);
}

static int set_error(const struct parser *p, const char *what, const char *from, const char *to)
{
    int n = to - from > 300 ? 300 : (int)(to - from);
    return err_set(p->err, ERR_USAGE, "error parsing regexp: %s: `%.*s`", what, n, from);
}

/* Ends the last operand, so that no repeat can apply to it. Updates max_copies of its level. */
static void end_operand(struct parser *p)
{
    struct level *level = &p->levels[p->depth];
    level->max_copies = p->last.max_copies > level->max_copies ? p->last.max_copies : level->max_copies;
    p->last = (struct operand){.max_copies = 0};
}

/* Makes the output from offset `from` to the end the last operand. */
static void set_operand(struct parser *p, size_t from, unsigned max_copies)
{
    end_operand(p);
    p->last = (struct operand){.from = from, .to = p->out->len, .max_copies = max_copies};
}

/* ---- characters ---------------------------------------------------------------------------------------- */

static int next_rune(struct parser *p, uint32_t *ret)
{
    size_t n = text_decode(p->at, (size_t)(p->end - p->at), ret);
    if (n == 0)
        return set_error(p, "invalid UTF-8", p->at, p->end);
    p->at += n;
    return 0;
}

static bool is_alphanumeric(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Writes a literal character, inside or outside a class. An escape can name a surrogate, which UTF-8 does not
 * have: it becomes U+FFFD. */
static void put_rune(struct parser *p, uint32_t c)
{
    if (is_alphanumeric(c) || c == '_')
        buf_addc(p->out, (char)c);
    else if (c >= 0xd800 && c < 0xe000)
        buf_adds(p->out, "\\x{fffd}");
    else
        buf_addf(p->out, "\\x{%x}", (unsigned)c);
}

static int hex_value(uint32_t c)
{
    return c < 128 ? text_hex_digit((char)c) : -1;
}

static bool is_octal(const struct parser *p)
{
    return bytes_left(p) && *p->at >= '0' && *p->at <= '7';
}

/* Reads the digits after `\x`. Returns 1 and the character, 0 if the digits are wrong, -1 on error. */
static int read_hex(struct parser *p, uint32_t *ret)
{
    uint32_t c, value = 0;
    size_t digits = 0;
    if (!bytes_left(p))
        return 0;
    if (next_rune(p, &c) < 0)
        return -1;
    if (c != '{') {
        int high = hex_value(c);
        if (!bytes_left(p))
            return 0;
        if (next_rune(p, &c) < 0)
            return -1;
        *ret = (uint32_t)(high * 16 + hex_value(c));
        return high >= 0 && hex_value(c) >= 0;
    }
    for (; bytes_left(p); digits++) {
        if (next_rune(p, &c) < 0)
            return -1;
        if (c == '}') {
            *ret = value;
            return digits > 0;
        }
        if (hex_value(c) < 0 || (value = value * 16 + (uint32_t)hex_value(c)) > MAX_RUNE)
            return 0;
    }
    return 0;
}

static uint32_t read_octal(struct parser *p, uint32_t first)
{
    uint32_t value = first - '0';
    for (int i = 1; i < 3 && is_octal(p); i++)
        value = value * 8 + (uint32_t)(*p->at++ - '0');
    return value;
}

/* Reads an escape that stands for one character, such as \n or \x41. */
static int read_escape(struct parser *p, uint32_t *ret)
{
    static const char letters[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
    const char *from = p->at++;
    uint32_t c;
    int found;
    if (!bytes_left(p))
        return set_error(p, "trailing backslash at end of expression", from, from);
    if (next_rune(p, &c) < 0)
        return -1;
    if (c < 0x80 && !is_alphanumeric(c)) {
        *ret = c;
        return 0;
    }
    const char *letter = c < 0x80 ? strchr(letters, (int)c) : NULL;
    if (letter) {
        *ret = (uint32_t)meant[letter - letters];
        return 0;
    }
    if (c == '0' || (c >= '1' && c <= '7' && is_octal(p))) {
        *ret = read_octal(p, c);
        return 0;
    }
    if (c == 'x' && (found = read_hex(p, ret)))
        return found < 0 ? -1 : 0;
    return set_error(p, "invalid escape sequence", from, p->at);
}

/* ---- classes ------------------------------------------------------------------------------------------- */

/* Reads \d and the like, which match ASCII only. Returns 1, or 0 for another item. */
static int read_perl_class(struct parser *p, bool within)
{
    if (bytes_left(p) < 2 || p->at[0] != '\\' || !strchr("dDsSwW", p->at[1]))
        return 0;
    /* Go's \s has no vertical tab. */
    if (p->at[1] == 's')
        buf_adds(p->out, within ? "\\t\\n\\f\\r\\x20" : "[\\t\\n\\f\\r\\x20]");
    else if (p->at[1] == 'S')
        buf_adds(p->out, within ? "\\S\\x{b}" : "[\\S\\x{b}]");
    else
        buf_add(p->out, p->at, 2);
    p->at += 2;
    return 1;
}

/* Reads \pL, \p{Greek}, \P{^Greek}. Returns 1, 0 for another item, -1 on error. PCRE2 checks the name. */
static int read_unicode_class(struct parser *p)
{
    const char *from = p->at, *name, *end;
    uint32_t c;
    if (bytes_left(p) < 2 || from[0] != '\\' || (from[1] != 'p' && from[1] != 'P'))
        return 0;
    p->at += 2;
    if (!bytes_left(p))
        return set_error(p, "invalid character class range", from, p->end);
    if (next_rune(p, &c) < 0)
        return -1;
    name = from + 2;
    end = p->at;
    if (c == '{') {
        name++;
        end = memchr(name, '}', (size_t)(p->end - name));
        if (!end)
            return set_error(p, "invalid character class range", from, p->end);
        p->at = end + 1;
    }
    bool negative = from[1] == 'P';
    if (name < end && *name == '^') {
        negative = !negative;
        name++;
    }
    bool good = name < end;
    for (const char *s = name; s < end; s++)
        good = good && (is_alphanumeric((unsigned char)*s) || *s == '_');
    /* PCRE2 has a few names that Go does not have. */
    if (!good || (*name == 'X' && end - name > 1 && end - name < 4) ||
        (*name == 'L' && end - name == 2 && name[1] == '_'))
        return set_error(p, "invalid character class range", from, p->at);
    if (end - name == 3 && memcmp(name, "Any", 3) == 0)
        buf_adds(p->out, negative ? "\\P{Any}" : "\\p{Any}");
    else
        buf_addf(p->out, "\\%c{%.*s}", negative ? 'P' : 'p', (int)(end - name), name);
    return 1;
}

/* Reads [:alpha:] within a class. Returns 1, 0 for another item, -1 on error. */
static int read_posix_class(struct parser *p)
{
    static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                        "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
    const char *from = p->at;
    if (bytes_left(p) < 3 || from[0] != '[' || from[1] != ':')
        return 0;
    const char *end = p->no_posix_end ? NULL : memmem(from + 2, bytes_left(p) - 2, ":]", 2);
    p->no_posix_end = !end;
    if (!end)
        return 0;
    p->at = end + 2;
    const char *name = from + 2 + (from[2] == '^');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == (size_t)(end - name) && memcmp(names[i], name, strlen(names[i])) == 0) {
            buf_add(p->out, from, (size_t)(p->at - from));
            return 1;
        }
    return set_error(p, "invalid character class range", from, p->at);
}

static int read_class_character(struct parser *p, const char *class, uint32_t *ret)
{
    if (!bytes_left(p))
        return set_error(p, "missing closing ]", class, p->end);
    return *p->at == '\\' ? read_escape(p, ret) : next_rune(p, ret);
}

static int read_class_item(struct parser *p, const char *class)
{
    const char *from = p->at;
    uint32_t low = 0, high = 0;
    if (read_class_character(p, class, &low) < 0)
        return -1;
    put_rune(p, low);
    if (bytes_left(p) < 2 || p->at[0] != '-' || p->at[1] == ']')
        return 0;
    p->at++;
    if (read_class_character(p, class, &high) < 0)
        return -1;
    if (high < low)
        return set_error(p, "invalid character class range", from, p->at);
    /* With (?i) PCRE2 visits each character of a range while it compiles. */
    p->class_characters += high - low;
    if (p->class_characters > MAX_CLASS_CHARACTERS)
        return set_error(p, "expression too large", class, p->at);
    buf_addc(p->out, '-');
    put_rune(p, high);
    return 0;
}

static int read_class(struct parser *p)
{
    const char *class = p->at++;
    size_t from = p->out->len;
    buf_addc(p->out, '[');
    if (bytes_left(p) && *p->at == '^')
        buf_addc(p->out, *p->at++);
    for (bool first = true; !bytes_left(p) || *p->at != ']' || first; first = false) {
        int found = read_posix_class(p);
        if (found == 0)
            found = read_unicode_class(p);
        if (found == 0)
            found = read_perl_class(p, true);
        if (found < 0 || (found == 0 && read_class_item(p, class) < 0))
            return -1;
    }
    p->at++;
    buf_addc(p->out, ']');
    set_operand(p, from, 1);
    return 0;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static int open_group(struct parser *p, const char *as)
{
    end_operand(p);
    if (++p->depth > MAX_DEPTH)
        return set_error(p, "expression nests too deeply", p->all.p, p->end);
    p->levels[p->depth] = (struct level){.from = p->out->len, .max_copies = 1};
    buf_adds(p->out, as);
    return 0;
}

/* Reads (?P<name> and (?<name>. Returns 1, 0 for another item, -1 on error. */
static int read_named_group(struct parser *p)
{
    const char *from = p->at;
    size_t begin = bytes_left(p) > 4 && from[2] == 'P' && from[3] == '<' ? 4
                   : bytes_left(p) > 3 && from[2] == '<'                 ? 3
                                                                         : 0;
    if (!begin)
        return 0;
    const char *end = memchr(from, '>', bytes_left(p));
    if (!end)
        return set_error(p, "invalid named capture", from, p->end);
    bool good = end > from + begin;
    for (const char *s = from + begin; s < end; s++)
        good = good && (is_alphanumeric((unsigned char)*s) || *s == '_');
    if (!good)
        return set_error(p, "invalid named capture", from, end + 1);
    p->at = end + 1;
    return open_group(p, "(?:") < 0 ? -1 : 1;
}

/* Reads flags, which may open a group: `(?i)`, `(?i-s:`, `(?:`. Also reads the start of a named group. */
static int read_flags(struct parser *p)
{
    const char *from = p->at;
    bool negative = false, any = false;
    uint32_t c;
    int found = read_named_group(p);
    if (found)
        return found < 0 ? -1 : 0;
    p->at += 2;
    while (bytes_left(p)) {
        if (next_rune(p, &c) < 0)
            return -1;
        if (c < 0x80 && c && strchr("imsU", (int)c)) {
            any = true;
        } else if (c == '-' && !negative) {
            negative = true;
            any = false;
        } else if ((c == ':' || c == ')') && (!negative || any)) {
            if (c == ':' && open_group(p, "") < 0)
                return -1;
            /* Copy the flags. An empty `(?)` is left out, because it has no effect. */
            if (c == ':' || p->at - from > 3)
                buf_add(p->out, from, (size_t)(p->at - from));
            return 0;
        } else {
            break;
        }
    }
    return set_error(p, "invalid or unsupported Perl syntax", from, p->at);
}

static int read_group(struct parser *p)
{
    if (bytes_left(p) >= 2 && p->at[1] == '?')
        return read_flags(p);
    p->at++;
    return open_group(p, "(?:");
}

static int close_group(struct parser *p)
{
    if (p->depth == 0)
        return set_error(p, "unexpected )", p->all.p, p->end);
    end_operand(p);
    const struct level *level = &p->levels[p->depth--];
    p->at++;
    buf_addc(p->out, ')');
    set_operand(p, level->from, level->max_copies);
    return 0;
}

/* ---- repeats ------------------------------------------------------------------------------------------- */

/* Reads a number of a repeat; -1 if it is missing or invalid. For a number above MAX_REPEAT, returns some
 * number above MAX_REPEAT. */
static long read_count(const char **at, const char *end)
{
    const char *from = *at;
    long n = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        n = n > MAX_REPEAT ? n : n * 10 + (**at - '0');
        ++*at;
    }
    /* Go allows no leading zeros. */
    return *at == from || (*at - from > 1 && *from == '0') ? -1 : n;
}

/* Reads {2}, {2,}, {2,5}. Returns its end, or NULL if it is no repeat. *max is -1 if there is no maximum. */
static const char *find_count_end(const struct parser *p, long *min, long *max)
{
    const char *at = p->at + 1;
    *min = *max = read_count(&at, p->end);
    if (*min < 0)
        return NULL;
    if (at < p->end && *at == ',') {
        at++;
        *max = -1;
        if (at < p->end && *at != '}' && (*max = read_count(&at, p->end)) < 0)
            return NULL;
    }
    return at < p->end && *at == '}' ? at + 1 : NULL;
}

static void insert_text(struct parser *p, size_t at, struct str text)
{
    struct buf *b = p->out;
    buf_add(b, text.p, text.n);
    if (b->failed)
        return;
    memmove(b->data + at + text.n, b->data + at, b->len - text.n - at);
    memcpy(b->data + at, text.p, text.n);
}

/* Inserts a repeat after the last operand, before any flags. A repeated operand becomes a group, because two
 * repeats in a row have another meaning for PCRE2. */
static int add_repeat(struct parser *p, struct str repeat, unsigned times)
{
    static const struct str opening = {"(?:", 3}, closing = {")", 1};
    struct operand o = p->last;
    if (o.repeats >= MAX_DEPTH - p->depth)
        return set_error(p, "expression nests too deeply", p->all.p, p->end);
    if (o.repeats > 0) {
        insert_text(p, o.to, closing);
        insert_text(p, o.from, opening);
        o.to += opening.n + closing.n;
    }
    insert_text(p, o.to, repeat);
    o.to += repeat.n;
    /* A repeat of 0 times resets the product. */
    o.max_copies = times ? o.max_copies * times : 1;
    o.repeats++;
    p->last = o;
    return 0;
}

/* Reads a repeat up to `end` and an optional `?`. `times`: the count of a counted repeat, else 1. */
static int read_repeat(struct parser *p, const char *end, unsigned times)
{
    const char *from = p->at;
    p->at = end + (end < p->end && *end == '?');
    if (p->repeat)
        return set_error(p, "invalid nested repetition operator", p->repeat, p->at);
    if (!p->last.max_copies)
        return set_error(p, "missing argument to repetition operator", from, p->at);
    if (p->last.max_copies * times > MAX_REPEAT)
        return set_error(p, "invalid repeat count", from, p->at);
    p->repeat = from;
    return add_repeat(p, (struct str){from, (size_t)(p->at - from)}, times);
}

static int read_counted(struct parser *p)
{
    long min, max;
    const char *end = find_count_end(p, &min, &max);
    if (!end) {
        size_t from = p->out->len;
        p->at++;
        put_rune(p, '{');
        set_operand(p, from, 1);
        return 0;
    }
    if (min > MAX_REPEAT || max > MAX_REPEAT || (max >= 0 && min > max))
        return set_error(p, "invalid repeat count", p->at, end);
    return read_repeat(p, end, (unsigned)(max >= 0 ? max : min > 0 ? min : 1));
}

/* ---- parser -------------------------------------------------------------------------------------------- */

/* Reads \Q and the text up to \E. */
static int read_quoted(struct parser *p)
{
    const char *end = memmem(p->at + 2, bytes_left(p) - 2, "\\E", 2);
    const char *last = end ? end : p->end;
    uint32_t c;
    for (p->at += 2; p->at < last;) {
        size_t from = p->out->len;
        if (next_rune(p, &c) < 0)
            return -1;
        put_rune(p, c);
        set_operand(p, from, 1);
    }
    p->at = end ? end + 2 : p->end;
    return 0;
}

static void put_item(struct parser *p, const char *as, size_t n)
{
    size_t from = p->out->len;
    buf_adds(p->out, as);
    p->at += n;
    set_operand(p, from, 1);
}

static int read_backslash(struct parser *p)
{
    uint32_t c;
    switch (bytes_left(p) >= 2 ? p->at[1] : '\0') {
    case 'A':
        put_item(p, "(?:\\A)", 2);
        return 0;
    case 'z':
        put_item(p, "(?:\\z)", 2);
        return 0;
    case 'b':
        put_item(p, "(?:\\b)", 2);
        return 0;
    case 'B':
        put_item(p, "(?:\\B)", 2);
        return 0;
    case 'C':
        return set_error(p, "invalid escape sequence", p->at, p->at + 2);
    case 'Q':
        return read_quoted(p);
    default:
        break;
    }
    size_t from = p->out->len;
    int found = read_unicode_class(p);
    if (found == 0)
        found = read_perl_class(p, false);
    if (found == 0) {
        if (read_escape(p, &c) < 0)
            return -1;
        put_rune(p, c);
    }
    set_operand(p, from, 1);
    return found < 0 ? -1 : 0;
}

static int read_item(struct parser *p)
{
    size_t from = p->out->len;
    uint32_t c;
    switch (*p->at) {
    case '(':
        return read_group(p);
    case ')':
        return close_group(p);
    case '|':
        buf_addc(p->out, *p->at++);
        end_operand(p);
        return 0;
    case '^':
        put_item(p, "(?:^)", 1);
        return 0;
    case '$':
        put_item(p, "(?:$)", 1);
        return 0;
    case '.':
        put_item(p, ".", 1);
        return 0;
    case '[':
        return read_class(p);
    case '*':
    case '+':
    case '?':
        return read_repeat(p, p->at + 1, 1);
    case '{':
        return read_counted(p);
    case '\\':
        return read_backslash(p);
    default:
        if (next_rune(p, &c) < 0)
            return -1;
        put_rune(p, c);
        set_operand(p, from, 1);
        return 0;
    }
}

int regex_translate(struct str pattern, struct buf *ret, struct err *err)
{
    struct parser p = {.all = pattern, .at = pattern.p, .end = pattern.p + pattern.n, .out = ret, .err = err};
    while (bytes_left(&p)) {
        const char *before = p.repeat;
        if (read_item(&p) < 0)
            return -1;
        if (p.repeat == before)
            p.repeat = NULL;
    }
    if (p.depth)
        return set_error(&p, "missing closing )", pattern.p, p.end);
    return buf_check(ret, "the regular expression", err);
}
