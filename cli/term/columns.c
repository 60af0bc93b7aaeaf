#include "cli/term/columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/standard_streams.h"
#include "base/banned.h"

/* Decodes the character at s. Returns its length; a truncated or malformed one counts as one byte. */
static size_t decode_character(const char *s, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 1;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *ret = p[0];
            return 1;
        }
        c = c << 6 | (p[i] & 0x3f);
    }
    *ret = c;
    return n;
}

/* Width 0: Unicode's combining marks of the scripts that are likely in host names and Go symbols; a missing
 * mark only makes a line shorter than necessary. Width 2: East Asian Width W and F, and all emoji blocks. */
static size_t character_width(uint32_t c)
{
    static const struct {
        uint32_t from, to;
        size_t columns;
    } ranges[] = {
        {0x300, 0x36f, 0},     {0x483, 0x489, 0},     {0x591, 0x5bd, 0},     {0x64b, 0x65f, 0},
        {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},   {0x20d0, 0x20f0, 0},
        {0x231a, 0x23ff, 2},   {0x25fd, 0x27bf, 2},   {0x2b00, 0x2bff, 2},   {0x2e80, 0x303e, 2},
        {0x3041, 0xa4cf, 2},   {0xa960, 0xa97f, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
        {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
        {0x16fe0, 0x18aff, 2}, {0x1aff0, 0x1b2ff, 2}, {0x1f000, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return ranges[i].columns;
    return 1;
}

size_t columns_of(const char *s)
{
    size_t columns = 0;
    uint32_t c = 0;
    for (; *s; s += decode_character(s, &c)) {
        decode_character(s, &c);
        columns += character_width(c);
    }
    return columns;
}

size_t columns_fit(const char *s, size_t columns)
{
    size_t at = 0, taken = 0;
    uint32_t c = 0;
    while (s[at]) {
        size_t n = decode_character(s + at, &c);
        if (taken + character_width(c) > columns)
            break;
        taken += character_width(c);
        at += n;
    }
    return at;
}

#define PAGE_COLUMNS 80
/* Below this, help texts have no room beside the options' names. */
#define LEAST_COLUMNS 40
#define WRAPPED_MAX (1u << 20)

size_t columns_line(FILE *out)
{
    if (!isatty(standard_stream_fd(out)))
        return 0;
    size_t columns = standard_stream_size(out).ws_col;
    return columns > 1 ? columns - 1 : 1;
}

size_t columns_page(FILE *out)
{
    uint64_t columns = columns_line(out);
    const char *said = columns ? NULL : getenv("COLUMNS");
    if (said && (text_to_uint(said, UINT32_MAX, &columns) < 0 || columns < LEAST_COLUMNS))
        columns = 0;
    return columns > 0 && columns < PAGE_COLUMNS ? columns : PAGE_COLUMNS;
}

static void add_new_line(struct buf *b, size_t indent, size_t *column)
{
    buf_addf(b, "\n%*s", (int)indent, "");
    *column = indent;
}

void columns_fold(struct buf *b, const char *text, const struct columns_fold *how)
{
    size_t column = how->column;
    bool first = true;
    while (*text) {
        size_t blanks = strspn(text, " \n"), length = strcspn(text + blanks, " \n");
        size_t width = columns_of(text + blanks) - columns_of(text + blanks + length);
        if (strncmp(text, "\n\n", 2) == 0) {
            buf_addc(b, '\n');
            add_new_line(b, how->indent, &column);
        } else if (!first && column + 1 + width > how->width) {
            add_new_line(b, how->indent, &column);
        } else if (!first) {
            buf_addc(b, ' ');
            column++;
        }
        buf_add(b, text + blanks, length);
        column += width;
        text += blanks + length;
        first = false;
    }
}

void columns_wrap(FILE *out, const char *text, size_t column, size_t indent)
{
    struct buf b = BUF_INIT(WRAPPED_MAX);
    columns_fold(&b, text,
                 &(struct columns_fold){.width = columns_page(out), .column = column, .indent = indent});
    fprintf(out, "%s\n", buf_str(&b));
    buf_release(&b);
}
