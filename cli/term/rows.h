/* A table of text in aligned columns. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

/* Initialise `columns` and `fold_below`; zero the other members. */
struct rows {
    const char *columns;  /* a letter for each column: `l` aligns it left, `r` right */
    struct strlist cells; /* row after row */
    /* A last cell that does not fit is folded below its line if the line has fewer columns left for the cell
     * than this; otherwise it is cut. 0: always cut; SIZE_MAX: always fold. */
    size_t fold_below;
    bool failed; /* memory ran out: rows are missing */
};

/* Adds a row: a printable text for each column. Copies the texts. */
void rows_add(struct rows *rows, const char *const *cells);

/* Prints all rows in lines of at most `width` columns (0: no limit). The first cell of a row takes at most
 * half of the line. */
void rows_print(const struct rows *rows, size_t width, FILE *out);
void rows_release(struct rows *rows);

#endif
