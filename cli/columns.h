/* How text lies on a terminal: counted in display columns, not in bytes. */
#ifndef CLI_COLUMNS_H
#define CLI_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

/* The columns that printable UTF-8 takes. A byte that is no UTF-8 counts as one; where terminals disagree,
 * the larger number is taken, so that what fits here fits there. */
size_t columns_of(const char *s);

/* Prints text in words, `column` columns being taken already, so that nothing goes beyond 80 columns if it
 * can be; further lines are indented. A single line feed counts as a blank; an empty line stays one. */
void columns_wrap(FILE *out, const char *text, size_t column, size_t indent);

/* The bytes of the longest beginning of s that takes at most that many columns. */
size_t columns_fit(const char *s, size_t columns);

#endif
