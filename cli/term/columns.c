#include "cli/term/columns.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

#include "cli/term/standard_streams.h"
#include "base/banned.h"

/* Decodes the character at s. Returns its length in bytes. A malformed character and a control character
 * count as one byte and one column. */
static size_t decode_character(const char *s, size_t *ret_columns)
{
    utf8proc_int32_t c = -1;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)s, -1, &c);
    *ret_columns = n < 1 || c < ' ' ? 1 : (size_t)utf8proc_charwidth(c);
    return n < 1 ? 1 : (size_t)n;
}

size_t columns_width(const char *s)
{
    size_t columns = 0, width = 0;
    while (*s) {
        s += decode_character(s, &width);
        columns += width;
    }
    return columns;
}

size_t columns_fit(const char *s, size_t columns)
{
    size_t length = 0, width = 0;
    while (s[length]) {
        size_t n = decode_character(s + length, &width);
        if (width > columns)
            break;
        columns -= width;
        length += n;
    }
    return length;
}

#define PAGE_COLUMNS 80
/* Ignore a smaller $COLUMNS: it leaves no space for help texts beside the options' names. */
#define MIN_COLUMNS 40
/* The maximum size of a folded text in bytes. */
#define FOLDED_MAX (1u << 20)

size_t columns_line_max(FILE *out)
{
    if (!isatty(standard_stream_fd(out)))
        return 0;
    size_t columns = standard_stream_size(out).ws_col;
    return columns > 1 ? columns - 1 : 1;
}

size_t columns_prose_max(FILE *out)
{
    uint64_t columns = columns_line_max(out);
    const char *variable = columns ? NULL : getenv("COLUMNS");
    if (variable && (text_to_uint(variable, UINT32_MAX, &columns) < 0 || columns < MIN_COLUMNS))
        columns = 0;
    return columns > 0 && columns < PAGE_COLUMNS ? columns : PAGE_COLUMNS;
}

static void add_new_line(struct buf *b, size_t indent, size_t *column)
{
    buf_addf(b, "\n%*s", (int)indent, "");
    *column = indent;
}

void columns_fold(struct buf *b, const char *text, const struct columns_fold *options)
{
    size_t column = options->column;
    bool first = true;
    while (*text) {
        size_t blanks = strspn(text, " \n"), length = strcspn(text + blanks, " \n");
        size_t width = columns_width(text + blanks) - columns_width(text + blanks + length);
        if (strncmp(text, "\n\n", 2) == 0) {
            buf_addc(b, '\n');
            add_new_line(b, options->indent, &column);
        } else if (!first && column + 1 + width > options->width) {
            add_new_line(b, options->indent, &column);
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

void columns_print_folded(FILE *out, const char *text, size_t column, size_t indent)
{
    struct buf b = BUF_INIT(FOLDED_MAX);
    columns_fold(&b, text,
                 &(struct columns_fold){.width = columns_prose_max(out), .column = column, .indent = indent});
    fprintf(out, "%s\n", buf_str(&b));
    buf_release(&b);
}
