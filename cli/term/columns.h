/* Measures and folds text by display columns of a terminal, not by bytes. */
#ifndef CLI_TERM_COLUMNS_H
#define CLI_TERM_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

#include "base/base.h"

/* Returns the display width of printable UTF-8, by utf8proc. An invalid byte counts as one column. */
size_t columns_width(const char *s);

/* Returns the maximum width of a line on `out`: the terminal's width minus one; 0 without a terminal (no
 * limit). */
size_t columns_line_max(FILE *out);

/* Returns the maximum width of a line of prose on `out`: 80, or less on a narrower terminal. Without a
 * terminal, $COLUMNS may lower the limit. */
size_t columns_prose_max(FILE *out);

struct columns_fold {
    size_t width;  /* the maximum width of a line; a longer word exceeds it */
    size_t column; /* columns of the first line that are already used */
    size_t indent; /* the indent of every line but the first */
};
/* Adds the text, folded into lines; the last line has no line feed. A single line feed in the text counts as
 * a blank; an empty line is kept. */
void columns_fold(struct buf *b, const char *text, const struct columns_fold *options);

/* Prints the text, folded to columns_prose_max(out), and a line feed. `column` and `indent` are as in struct
 * columns_fold. */
void columns_print_folded(FILE *out, const char *text, size_t column, size_t indent);

/* Returns the length in bytes of the longest prefix of s that fits into that many columns. */
size_t columns_fit(const char *s, size_t columns);

#endif
