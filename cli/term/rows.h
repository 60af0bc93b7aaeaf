/* A table of text in aligned columns. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

/* Initialise `columns` and `min_last_cell`; zero the other members. */
struct rows {
    const char *columns;  /* a letter for each column: `l` aligns it left, `r` right */
    struct strlist cells; /* row after row */
    /* If the last cell does not fit into its line: it continues on the next lines if fewer columns than this
     * are left for it, otherwise it is cut. 0: always cut; SIZE_MAX: never cut. */
    size_t min_last_cell;
    bool failed; /* memory ran out: rows are missing */
};

/* Adds a row: a printable text for each column. Copies the texts. */
void rows_add(struct rows *rows, const char *const *cells);

/* Prints all rows in lines of at most `width` columns (0: no limit). The first cell of a row takes at most
 * half of the line. */
void rows_print(const struct rows *rows, size_t width, FILE *out);
void rows_release(struct rows *rows);

#endif
