/*
 * A table as Go's text/tabwriter aligns it to the right, with one blank before each cell: a cell ends with a
 * tab; cells of neighbouring lines that stand above each other are equally wide.
 *
 * What is added may hold anything: a tab or a line's end within a name ends a cell or a line as well, and
 * what stands between two bytes 0xff is taken as it is. Beyond TABLE_COLUMNS columns tabs are but bytes.
 *
 * Source: Go's documentation of text/tabwriter.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "report/out.h"

enum { TABLE_COLUMNS = 64 };

struct table {
    struct buf text; /* what was added and is not yet written */
    size_t searched; /* so long it was when it was last found to be incomplete */
};

#define TABLE_INIT                                                                                           \
    {                                                                                                        \
        .text = BUF_INIT((size_t)1 << 30)                                                                    \
    }

void table_add(struct table *t, const void *p, size_t n);
/* Writes what is complete, which is all up to an empty line that ends it; if there is no more to come,
 * everything. */
int table_write(struct table *t, struct out *out, bool last, struct err *err);
void table_release(struct table *t);

#endif
