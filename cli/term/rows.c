#include "cli/term/rows.h"

#include <string.h>

#include "cli/term/columns.h"
#include "base/banned.h"

#define COLUMNS_MAX 8
#define GAP 2
#define BELOW_INDENT 4

void rows_add(struct rows *rows, const char *const *cells)
{
    for (size_t i = 0; rows->columns[i] && !rows->failed; i++)
        rows->failed = strlist_add(&rows->cells, cells[i], NULL) < 0;
}

/* Adds the text, cut to that many columns; dots mark a cut. */
static void add_cut(struct buf *b, const char *text, size_t columns)
{
    static const char dots[] = "...";
    if (columns_width(text) <= columns) {
        buf_adds(b, text);
        return;
    }
    size_t room = columns > sizeof dots ? columns - (sizeof dots - 1) : 0;
    buf_add(b, text, columns_fit(text, room));
    buf_add(b, dots, columns < sizeof dots - 1 ? columns : sizeof dots - 1);
}

static void add_cell(struct buf *b, const char *text, size_t width, bool align_right, bool is_last)
{
    size_t used = columns_width(text);
    size_t blanks = used < width ? width - used : 0;
    buf_addf(b, "%*s", align_right ? (int)blanks : 0, "");
    add_cut(b, text, width);
    if (!is_last)
        buf_addf(b, "%*s", (int)(align_right ? 0 : blanks) + GAP, "");
}

static void print_cut(const char *text, size_t width, FILE *out)
{
    struct buf cut = BUF_INIT(1u << 16);
    add_cut(&cut, text, width ? width : SIZE_MAX);
    fprintf(out, "%s\n", buf_str(&cut));
    buf_release(&cut);
}

/* Returns the column at which the last cell starts. */
static size_t find_last_column(const size_t *widths, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i + 1 < n; i++)
        at += widths[i] + GAP;
    return at;
}

static void print_row(const struct rows *rows, size_t first, const size_t *widths, size_t width, FILE *out)
{
    struct buf line = BUF_INIT(1u << 16);
    size_t n_cells = strlen(rows->columns), n_shown = n_cells;
    const char *last = rows->cells.items[first + n_cells - 1];
    size_t at = find_last_column(widths, n_cells);
    bool fits = width == 0 || columns_width(last) + at <= width;
    bool below = !fits && (at >= width || width - at < rows->min_last_cell) && rows->min_last_cell > 0;
    while (n_shown > 1 && (!*rows->cells.items[first + n_shown - 1] || (below && n_shown == n_cells)))
        n_shown--;
    for (size_t i = 0; i < n_shown; i++)
        add_cell(&line, rows->cells.items[first + i], widths[i], rows->columns[i] == 'r', i + 1 == n_shown);
    print_cut(buf_str(&line), width, out);
    if (below) {
        buf_clear(&line);
        buf_addf(&line, "%*s", BELOW_INDENT, "");
        columns_fold(&line, last,
                     &(struct columns_fold){.width = width, .column = BELOW_INDENT, .indent = BELOW_INDENT});
        fprintf(out, "%s\n", buf_str(&line));
    }
    buf_release(&line);
}

void rows_print(const struct rows *rows, size_t width, FILE *out)
{
    size_t n = strlen(rows->columns), widths[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < rows->cells.n - rows->cells.n % n; i++) {
        size_t width_used = columns_width(rows->cells.items[i]);
        if (width_used > widths[i % n])
            widths[i % n] = width_used;
    }
    if (width && widths[0] > width / 2)
        widths[0] = width / 2;
    for (size_t first = 0; first + n <= rows->cells.n; first += n)
        print_row(rows, first, widths, width, out);
}

void rows_release(struct rows *rows)
{
    strlist_release(&rows->cells);
}
