/* Splits the text into cells. Each cell except the last of its line has a run: the cells of one column in
 * consecutive lines, which are as wide as the widest of them. */
#include <stdlib.h>
#include <string.h>

#include "pprof/table.h"
#include "base/banned.h"

struct cell {
    size_t at, n; /* position in the text */
    size_t width; /* columns on the screen */
    size_t run;
    bool ends_line;
};

struct layout {
    struct cell *cells;
    size_t n_cells, cap_cells;
    size_t *runs; /* the width of each */
    size_t n_runs, cap_runs;
    size_t above[TABLE_COLUMNS]; /* the runs of the previous line */
    size_t n_above;
    size_t line_start; /* the first cell of the current line */
};

void table_add(struct table *t, const void *p, size_t n)
{
    buf_add(&t->text, p, n);
}

void table_release(struct table *t)
{
    buf_release(&t->text);
}

/* Gives a run to each cell of a complete line. The last cell of the line gets none. */
static int end_line(struct layout *layout, struct err *err)
{
    size_t n = layout->n_cells - layout->line_start - 1;
    for (size_t column = 0; column < n; column++) {
        struct cell *cell = &layout->cells[layout->line_start + column];
        if (column >= layout->n_above) {
            if (array_reserve((void **)&layout->runs, &layout->cap_runs, layout->n_runs + 1,
                              sizeof *layout->runs, err) < 0)
                return -1;
            layout->runs[layout->n_runs] = 0;
            layout->above[column] = layout->n_runs++;
        }
        cell->run = layout->above[column];
        if (layout->runs[cell->run] < cell->width + 1)
            layout->runs[cell->run] = cell->width + 1;
    }
    layout->n_above = n;
    layout->line_start = layout->n_cells;
    return 0;
}

static int add_cell(struct layout *layout, struct cell cell, struct err *err)
{
    if (array_reserve((void **)&layout->cells, &layout->cap_cells, layout->n_cells + 1, sizeof *layout->cells,
                      err) < 0)
        return -1;
    layout->cells[layout->n_cells++] = cell;
    return cell.ends_line ? end_line(layout, err) : 0;
}

/* Cuts the text into cells. *ret is the length of the complete lines, or of all text if `last`. */
static int cut_cells(struct layout *layout, struct str text, bool last, size_t *ret, struct err *err)
{
    size_t begin = 0, n_pairs = 0; /* pairs of bytes 0xff enclose escaped text */
    bool in_escape = false;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char byte = (unsigned char)text.p[i];
        bool ends_line = byte == '\n' || byte == '\f';
        if (byte == 0xff) {
            n_pairs += in_escape;
            in_escape = !in_escape;
        }
        bool ends_cell = ends_line || byte == '\t' || byte == '\v';
        if (in_escape || !ends_cell || (!ends_line && layout->n_cells - layout->line_start >= TABLE_COLUMNS))
            continue;
        size_t width = out_columns((struct str){text.p + begin, i - begin}) - 2 * n_pairs;
        if (add_cell(layout, (struct cell){begin, i - begin, width, 0, ends_line}, err) < 0)
            return -1;
        layout->n_above = byte == '\f' ? 0 : layout->n_above;
        begin = i + 1;
        n_pairs = 0;
        *ret = ends_line ? begin : *ret;
    }
    if (!last || begin == text.n)
        return 0;
    *ret = text.n;
    size_t width = out_columns((struct str){text.p + begin, text.n - begin}) - 2 * n_pairs;
    return add_cell(layout, (struct cell){begin, text.n - begin, width, 0, true}, err);
}

static void write_cells(const struct layout *layout, struct str text, struct out *out)
{
    size_t n = layout->line_start; /* cells of complete lines */
    for (size_t i = 0; i < n; i++) {
        const struct cell *cell = &layout->cells[i];
        for (size_t column = cell->width; !cell->ends_line && column < layout->runs[cell->run]; column++)
            out_text(out, " ");
        out_add(out, text.p + cell->at, cell->n);
        if (cell->ends_line && cell->at + cell->n < text.n)
            out_text(out, "\n");
    }
}

int table_write(struct table *t, struct out *out, bool last, struct err *err)
{
    struct layout layout = {0};
    struct str text = {buf_str(&t->text), t->text.len};
    size_t complete = 0;
    /* Search again only after the text has doubled. A byte 0xff escapes line ends up to the next 0xff, so a
     * line can be arbitrarily long: a search after each addition would take quadratic time. */
    if (!last && text.n < 2 * t->searched)
        return 0;
    int rc = buf_check(&t->text, "the table", err);
    if (rc == 0)
        rc = cut_cells(&layout, text, last, &complete, err);
    if (rc == 0) {
        write_cells(&layout, text, out);
        buf_consume(&t->text, complete);
        t->searched = t->text.len;
    }
    free(layout.cells);
    free(layout.runs);
    return rc;
}
