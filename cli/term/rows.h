/* A table of text in aligned columns. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

/* Initialise `columns` and `fold_below`; zero the other members. */
struct rows {
    const char *columns;  /* a letter for each column: `l` aligns it left, `r` right */
    struct strlist cells; /* row after row */
    size_t fold_below;    /* fold a last cell that does not fit onto lines below its row, if it has fewer
                             columns of the terminal than this (SIZE_MAX: always); otherwise cut it */
    bool failed;          /* memory ran out: rows are missing */
};

/* Adds a row: a printable text for each column. Copies the texts. */
void rows_add(struct rows *t, const char *const *cells);

/* Prints all rows, each cut to `width` columns (0: no limit). The first cell takes at most half of it. */
void rows_print(const struct rows *t, size_t width, FILE *out);
void rows_release(struct rows *t);

#endif
