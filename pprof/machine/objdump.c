/*
 * Parses the output of objdump and nm.
 *
 * A line of objdump is an instruction (`  401136: push %rbp`), a place (`/src/a.c:12`) or a function
 * (`main():`, or as LLVM writes it, `0000000000401136 <main>:`). A place or a function holds for the
 * instructions below it. Any other line, such as an empty one, ends both.
 *
 * Source: google/pprof internal/binutils/disasm.go (disassemble, nextSymbol), whose regular expressions the
 * functions read_* replace.
 */
#include "pprof/machine/objdump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

/* Removes the next line from the text. Returns false at the end. */
static bool next_line(struct str *rest, struct str *ret)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    if (rest->n == 0)
        return false;
    size_t n = end ? (size_t)(end - rest->p) : rest->n, taken = n + (end != NULL);
    *ret = str_trim((struct str){rest->p, n});
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return true;
}

static struct str skip(struct str s, size_t n)
{
    return (struct str){s.p + n, s.n - n};
}

static size_t count_hex(struct str s)
{
    size_t n = 0;
    while (n < s.n && text_hex_digit(s.p[n]) >= 0)
        n++;
    return n;
}

static size_t count_spaces(struct str s)
{
    size_t n = 0;
    while (n < s.n && is_space(s.p[n]))
        n++;
    return n;
}

/* Parses n hexadecimal digits. Returns false if the number needs more than 64 bits. */
static bool parse_hex(const char *p, size_t n, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        if (value >> 60)
            return false;
        value = value << 4 | (unsigned)text_hex_digit(p[i]);
    }
    *ret = value;
    return n > 0;
}

/* ---- objdump ------------------------------------------------------------------------------------------- */

/* `ADDRESS: TEXT` */
static bool read_instruction(struct str line, struct instruction *ret)
{
    size_t digits = count_hex(line);
    if (digits == 0 || digits == line.n || line.p[digits] != ':')
        return false;
    struct str text = skip(line, digits + 1);
    size_t spaces = count_spaces(text);
    if (spaces == 0 || !parse_hex(line.p, digits, &ret->address))
        return false;
    ret->text = skip(text, spaces);
    return true;
}

/* LLVM's objdump writes places and functions as comments. */
static struct str without_comment_sign(struct str line)
{
    if (line.n && line.p[0] == ';')
        line = skip(line, 1);
    return line.n && is_space(line.p[0]) ? skip(line, 1) : line;
}

/* `FILE:LINE`, and any text behind it. A line number that is too large leaves the place unchanged. */
static bool read_place(struct str line, struct instruction *ret)
{
    line = without_comment_sign(line);
    for (size_t at = line.n; at-- > 0;) {
        uint64_t value = 0;
        size_t i = at + 1;
        if (line.p[at] != ':' || i == line.n || !isdigit((unsigned char)line.p[i]))
            continue;
        for (; i < line.n && isdigit((unsigned char)line.p[i]) && value <= UINT32_MAX; i++)
            value = value * 10 + (unsigned)(line.p[i] - '0');
        if (value <= UINT32_MAX) {
            ret->file = (struct str){line.p, at};
            ret->line = (int64_t)value;
        }
        return true;
    }
    return false;
}

/* `NAME():` */
static bool read_function(struct str line, struct instruction *ret)
{
    line = without_comment_sign(line);
    for (size_t at = line.n; at-- > 1;)
        if (line.n - at >= 3 && memcmp(line.p + at, "():", 3) == 0 && !is_space(line.p[0])) {
            ret->function = (struct str){line.p, at};
            return true;
        }
    return false;
}

/* `ADDRESS <NAME>:` */
static bool read_heading(struct str line, struct instruction *ret)
{
    const char *colon = line.n ? memrchr(line.p, ':', line.n) : NULL;
    if (!colon)
        return false;
    line.n = (size_t)(colon - line.p);
    line = skip(line, count_hex(line));
    ret->function = line.n && is_space(line.p[0]) ? skip(line, 1) : line;
    return true;
}

int objdump_read(struct str text, struct instructions *ret, struct err *err)
{
    static const struct instruction unknown = {
        .text = STR_INIT(""), .function = STR_INIT(""), .file = STR_INIT("")};
    struct instruction now = unknown, *items = NULL;
    size_t n = 0, cap = 0;
    struct str line;
    while (next_line(&text, &line)) {
        if (read_instruction(line, &now)) {
            if (array_reserve((void **)&items, &cap, n + 1, sizeof *items, err) < 0) {
                free(items);
                return -1;
            }
            items[n++] = now;
        } else if (!read_place(line, &now) && !read_function(line, &now) && !read_heading(line, &now)) {
            now = unknown;
        }
    }
    *ret = (struct instructions){items, n};
    return 0;
}

/* ---- nm ------------------------------------------------------------------------------------------------ */

/* `ADDRESS TYPE NAME` */
static bool read_symbol(struct str line, uint64_t *ret_address, struct str *ret_name)
{
    size_t digits = count_hex(line), spaces = count_spaces(skip(line, digits));
    struct str rest = skip(line, digits + spaces);
    uint32_t c;
    size_t type = rest.n ? text_decode(rest.p, rest.n, &c) : 0;
    type = rest.n && type == 0 ? 1 : type;
    size_t more = count_spaces(skip(rest, type));
    if (spaces == 0 || more == 0 || !parse_hex(line.p, digits, ret_address))
        return false;
    *ret_name = skip(rest, type + more);
    return true;
}

bool nm_next(struct str *rest, uint64_t *ret_address, struct str *ret_name)
{
    struct str line;
    while (next_line(rest, &line))
        if (read_symbol(line, ret_address, ret_name))
            return true;
    return false;
}
