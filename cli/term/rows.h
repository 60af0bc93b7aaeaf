/* A table of text in aligned columns. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

/* rows.fold_below applies if the last column has less than this width. */
#define ROWS_LAST_MIN 40

/* Initialise `columns` and `fold_below`; zero the other members. */
struct rows {
    const char *columns;  /* a letter for each column: `l` aligns it left, `r` right */
    struct strlist cells; /* row after row */
    bool fold_below; /* fold a last cell that does not fit onto lines below its row, if its column has less
                        than ROWS_LAST_MIN columns of the terminal; otherwise cut it */
    bool failed;     /* memory ran out: rows are missing */
};

/* Adds a row: a printable text for each column. Copies the texts. */
void rows_add(struct rows *t, const char *const *cells);

/* Prints all rows, each cut to `width` columns (0: no limit). The first cell takes at most half of it. */
void rows_print(const struct rows *t, size_t width, FILE *out);
void rows_release(struct rows *t);

#endif
