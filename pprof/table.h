/*
 * A table, aligned to the right as Go's text/tabwriter does it, with one blank before each cell. A tab ends a
 * cell. Cells in the same column of consecutive lines have the same width.
 *
 * The text may contain any bytes: a tab or a line end within a name also ends a cell or a line, and text
 * between two bytes 0xff is copied unchanged. Tabs beyond TABLE_COLUMNS columns are plain bytes.
 *
 * Source: Go's documentation of text/tabwriter.
 */
#ifndef PPROF_TABLE_H
#define PPROF_TABLE_H

#include "pprof/out.h"

enum { TABLE_COLUMNS = 64 };

struct table {
    struct buf text; /* text that is not written yet */
    size_t searched; /* the length at the last search for a complete line */
};

#define TABLE_INIT                                                                                           \
    {                                                                                                        \
        .text = BUF_INIT((size_t)1 << 30)                                                                    \
    }

void table_add(struct table *t, const void *p, size_t n);
/* Writes complete lines; it may keep some of them for a later call. If `last`, writes everything. Call it
 * only after an empty line, which ends all columns, or at the end. */
int table_write(struct table *t, struct out *out, bool last, struct err *err);
void table_release(struct table *t);

#endif
