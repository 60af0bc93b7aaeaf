/* A table of text in aligned columns. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

/* Initialise `columns` and `fold_below`; zero the other members. */
struct rows {
    const char *columns;  /* a letter for each: `l` is aligned left, `r` right */
    struct strlist cells; /* row after row */
    size_t fold_below;    /* if the last cell does not fit and has fewer columns than this, fold it onto
                             separate lines below the row; SIZE_MAX: always fold it; 0: cut it */
    bool failed;          /* memory ran out: rows are missing */
};

/* Adds a row: printable text for each column. */
void rows_add(struct rows *t, const char *const *cells);

/* Prints all rows, each cut to `width` columns (0: no limit). The first cell takes at most half of it. */
void rows_print(const struct rows *t, size_t width, FILE *out);
void rows_release(struct rows *t);

#endif
