/* Splits the text into cells. Each cell has a run: the cells of one column in consecutive lines, which are as
 * wide as the widest of them. */
#include <stdlib.h>
#include <string.h>

#include "pprof/table.h"
#include "base/banned.h"

struct cell {
    size_t at, n; /* position in the text */
    size_t columns;
    size_t run;
    bool ends_line;
};

struct cut {
    struct cell *cells;
    size_t n_cells, cap_cells;
    size_t *runs; /* the width of each */
    size_t n_runs, cap_runs;
    size_t above[TABLE_COLUMNS]; /* the runs of the previous line */
    size_t n_above;
    size_t line; /* the first cell of the current line */
};

void table_add(struct table *t, const void *p, size_t n)
{
    buf_add(&t->text, p, n);
}

void table_release(struct table *t)
{
    buf_release(&t->text);
}

/* Gives a run to each cell of a complete line except the last. */
static int end_line(struct cut *c, struct err *err)
{
    size_t n = c->n_cells - c->line - 1;
    for (size_t column = 0; column < n; column++) {
        struct cell *cell = &c->cells[c->line + column];
        if (column >= c->n_above) {
            if (array_reserve((void **)&c->runs, &c->cap_runs, c->n_runs + 1, sizeof *c->runs, err) < 0)
                return -1;
            c->runs[c->n_runs] = 0;
            c->above[column] = c->n_runs++;
        }
        cell->run = c->above[column];
        if (c->runs[cell->run] < cell->columns + 1)
            c->runs[cell->run] = cell->columns + 1;
    }
    c->n_above = n;
    c->line = c->n_cells;
    return 0;
}

static int add_cell(struct cut *c, struct cell cell, struct err *err)
{
    if (array_reserve((void **)&c->cells, &c->cap_cells, c->n_cells + 1, sizeof *c->cells, err) < 0)
        return -1;
    c->cells[c->n_cells++] = cell;
    return cell.ends_line ? end_line(c, err) : 0;
}

/* *ret: the bytes up to the end of the last line; all bytes if `last`. */
static int cut_cells(struct cut *c, struct str text, bool last, size_t *ret, struct err *err)
{
    size_t begin = 0, escaped = 0;
    bool escape = false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)text.p[i];
        bool line = byte == '\n' || byte == '\f';
        if (byte == 0xff) {
            escaped += escape;
            escape = !escape;
        }
        bool cell = line || byte == '\t' || byte == '\v';
        if (escape || !cell || (!line && c->n_cells - c->line >= TABLE_COLUMNS))
            continue;
        size_t columns = out_columns((struct str){text.p + begin, i - begin}) - 2 * escaped;
        if (add_cell(c, (struct cell){begin, i - begin, columns, 0, line}, err) < 0)
            return -1;
        c->n_above = byte == '\f' ? 0 : c->n_above;
        begin = i + 1;
        escaped = 0;
        *ret = line ? begin : *ret;
    }
    if (!last || begin == text.n)
        return 0;
    *ret = text.n;
    size_t columns = out_columns((struct str){text.p + begin, text.n - begin}) - 2 * escaped;
    return add_cell(c, (struct cell){begin, text.n - begin, columns, 0, true}, err);
}

static void write_cells(const struct cut *c, struct str text, struct out *out)
{
    size_t n = c->line; /* cells of complete lines */
    for (size_t i = 0; i < n; i++) {
        const struct cell *cell = &c->cells[i];
        for (size_t column = cell->columns; !cell->ends_line && column < c->runs[cell->run]; column++)
            out_text(out, " ");
        out_add(out, text.p + cell->at, cell->n);
        if (cell->ends_line && cell->at + cell->n < text.n)
            out_text(out, "\n");
    }
}

int table_write(struct table *t, struct out *out, bool last, struct err *err)
{
    struct cut c = {0};
    struct str text = {buf_str(&t->text), t->text.len};
    size_t complete = 0;
    /* Search again only after the text has doubled: after a byte 0xff it can be arbitrarily long, and a
     * search from the start after each addition would take quadratic time. */
    if (!last && text.n < 2 * t->searched)
        return 0;
    int rc = buf_check(&t->text, "the table", err);
    if (rc == 0)
        rc = cut_cells(&c, text, last, &complete, err);
    if (rc == 0) {
        write_cells(&c, text, out);
        buf_consume(&t->text, complete);
        t->searched = t->text.len;
    }
    free(c.cells);
    free(c.runs);
    return rc;
}
