/* How text lies on a terminal: counted in display columns, not in bytes. */
#ifndef CLI_TERM_COLUMNS_H
#define CLI_TERM_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

#include "base/base.h"

/* The columns that printable UTF-8 takes. A byte that is no UTF-8 counts as one; where terminals disagree,
 * the larger number is taken, so that what fits here fits there. */
size_t columns_of(const char *s);

/* The columns that prose may have there: 80, or fewer where a terminal has fewer, or without a terminal where
 * the environment's COLUMNS says so. */
size_t columns_page(FILE *out);

struct columns_fold {
    size_t width;  /* no line is longer, unless a single word is */
    size_t column; /* so many of the first line are taken already */
    size_t indent; /* of every line but the first */
};
/* Adds the words of a text, folded into lines; no line feed behind the last. A single line feed in the text
 * counts as a blank; an empty line stays one. */
void columns_fold(struct buf *b, const char *text, const struct columns_fold *how);

/* Prints it folded to columns_page, and a line feed. */
void columns_wrap(FILE *out, const char *text, size_t column, size_t indent);

/* The bytes of the longest beginning of s that takes at most that many columns. */
size_t columns_fit(const char *s, size_t columns);

#endif
