#include "cli/term/rows.h"

#include <string.h>

#include "cli/term/columns.h"
#include "base/banned.h"

#define COLUMNS_MAX 8
#define GAP 2
#define BELOW_INDENT 4

void rows_add(struct rows *t, const char *const *cells)
{
    for (size_t i = 0; t->columns[i] && !t->failed; i++)
        t->failed = strlist_add(&t->cells, cells[i], NULL) < 0;
}

/* Adds the text, cut to that many columns; dots mark a cut. */
static void add_cut(struct buf *b, const char *text, size_t columns)
{
    static const char dots[] = "...";
    if (columns_of(text) <= columns) {
        buf_adds(b, text);
        return;
    }
    size_t room = columns > sizeof dots ? columns - (sizeof dots - 1) : 0;
    buf_add(b, text, columns_fit(text, room));
    buf_add(b, dots, columns < sizeof dots - 1 ? columns : sizeof dots - 1);
}

static void add_cell(struct buf *b, const char *text, size_t width, bool right, bool last)
{
    size_t width_used = columns_of(text);
    size_t blanks = width_used < width ? width - width_used : 0;
    buf_addf(b, "%*s", right ? (int)blanks : 0, "");
    add_cut(b, text, width);
    if (!last)
        buf_addf(b, "%*s", (int)(right ? 0 : blanks) + GAP, "");
}

static void print_cut(const char *text, size_t width, FILE *out)
{
    struct buf cut = BUF_INIT(1u << 16);
    add_cut(&cut, text, width ? width : SIZE_MAX);
    fprintf(out, "%s\n", buf_str(&cut));
    buf_release(&cut);
}

/* The column at which the last cell starts. */
static size_t find_last_column(const size_t *widths, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i + 1 < n; i++)
        at += widths[i] + GAP;
    return at;
}

static void print_row(const struct rows *t, size_t first, const size_t *widths, size_t width, FILE *out)
{
    struct buf line = BUF_INIT(1u << 16);
    size_t n_cells = strlen(t->columns), n = n_cells;
    const char *last = t->cells.items[first + n_cells - 1];
    size_t at = find_last_column(widths, n_cells);
    bool fits = width == 0 || columns_of(last) + at <= width;
    bool below = !fits && (at >= width || width - at < t->fold_below) && t->fold_below > 0;
    while (n > 1 && (!*t->cells.items[first + n - 1] || (below && n == n_cells)))
        n--;
    for (size_t i = 0; i < n; i++)
        add_cell(&line, t->cells.items[first + i], widths[i], t->columns[i] == 'r', i + 1 == n);
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

void rows_print(const struct rows *t, size_t width, FILE *out)
{
    size_t n = strlen(t->columns), widths[COLUMNS_MAX] = {0};
    for (size_t i = 0; i < t->cells.n - t->cells.n % n; i++) {
        size_t width_used = columns_of(t->cells.items[i]);
        if (width_used > widths[i % n])
            widths[i % n] = width_used;
    }
    if (width && widths[0] > width / 2)
        widths[0] = width / 2;
    for (size_t first = 0; first + n <= t->cells.n; first += n)
        print_row(t, first, widths, width, out);
}

void rows_release(struct rows *t)
{
    strlist_release(&t->cells);
}
