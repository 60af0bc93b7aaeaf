/* A table of text in aligned columns. */
#ifndef CLI_TERM_ROWS_H
#define CLI_TERM_ROWS_H

#include <stdio.h>

#include "base/base.h"

#define ROWS_BESIDE 40

/* Initialise with `columns` and `below`; zero the rest. */
struct rows {
    const char *columns;  /* a letter for each: `l` is aligned left, `r` right */
    struct strlist cells; /* row after row */
    bool below;           /* if less than ROWS_BESIDE columns are left for the last cell and it does not
                             fit, fold it onto separate lines below */
    bool failed;          /* memory ran out: rows are missing */
};

/* Adds a row: printable text for each column. */
void rows_add(struct rows *t, const char *const *cells);

/* Prints all rows, each cut to `width` columns (0: no limit). The first cell takes at most half of it. */
void rows_print(const struct rows *t, size_t width, FILE *out);
void rows_release(struct rows *t);

#endif
