/* Rows in aligned columns, for people. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

#define ROWS_BESIDE 40

/* Zero but for `columns` and `below`. */
struct rows {
    const char *columns;  /* a letter for each: `l` is aligned left, `r` right */
    struct strlist cells; /* row after row */
    bool below;           /* a last cell that finds less than ROWS_BESIDE columns beside the others stands on
                             lines of its own below them, folded */
    bool failed;          /* there was no memory: what is printed lacks something */
};

/* Adds a row: printable text for each column. */
void rows_add(struct rows *t, const char *const *cells);

/* The columns that a line may have there: those of a terminal, or 0 for any number. */
size_t rows_width(FILE *out);

/* Prints all rows, each cut to `width` columns unless that is 0: the first cell is cut before the last one is
 * gone. */
void rows_print(const struct rows *t, size_t width, FILE *out);
void rows_release(struct rows *t);

#endif
