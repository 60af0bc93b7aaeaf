/* A small terminal: printing, \r, \n (which the terminal driver turns into \r\n), scrolling, and the three
 * control sequences that the live block (cli/term/screen.h) uses. Any other sequence fails the test.
 * Include <cmocka.h> before this file. */
#ifndef TESTS_UNIT_TERMINAL_H
#define TESTS_UNIT_TERMINAL_H

#include <stdlib.h>
#include <string.h>

#define TERMINAL_MAX 200

struct terminal {
    size_t rows, columns, row, column;
    char cells[TERMINAL_MAX][TERMINAL_MAX];
    size_t wraps; /* lines longer than the screen's width */
};

static inline void terminal_init(struct terminal *t, size_t rows, size_t columns)
{
    *t = (struct terminal){.rows = rows, .columns = columns};
    memset(t->cells, ' ', sizeof t->cells);
}

static inline void terminal_down(struct terminal *t)
{
    if (++t->row < t->rows)
        return;
    memmove(t->cells[0], t->cells[1], (t->rows - 1) * TERMINAL_MAX);
    memset(t->cells[t->rows - 1], ' ', TERMINAL_MAX);
    t->row = t->rows - 1;
}

/* Executes the sequence after ESC [; returns its length. */
static inline size_t terminal_control(struct terminal *t, const char *p)
{
    char *end = NULL;
    unsigned long n = strtoul(p, &end, 10);
    size_t length = (size_t)(end - p) + 1;
    switch (*end) {
    case 'A':
        assert_true(n >= 1 && n <= t->row); /* never above the screen */
        t->row -= n;
        return length;
    case 'J':
        for (size_t row = t->row + 1; row < t->rows; row++)
            memset(t->cells[row], ' ', t->columns);
        __attribute__((fallthrough));
    case 'K':
        memset(t->cells[t->row] + t->column, ' ', t->columns - t->column);
        return length;
    default:
        fail_msg("unknown control sequence: ESC [%.8s", p);
    }
    return 0;
}

static inline void terminal_feed(struct terminal *t, const char *p)
{
    for (; *p; p++) {
        if (*p == '\r') {
            t->column = 0;
        } else if (*p == '\n') {
            t->column = 0;
            terminal_down(t);
        } else if (strncmp(p, "\033[", 2) == 0) {
            p += 1 + terminal_control(t, p + 2);
        } else {
            assert_true(*p >= ' ' && *p <= '~');
            if (t->column == t->columns) {
                t->column = 0;
                t->wraps++;
                terminal_down(t);
            }
            t->cells[t->row][t->column++] = *p;
        }
    }
}

/* The row without trailing blanks; valid until the next call. */
static inline const char *terminal_row(struct terminal *t, size_t row)
{
    size_t n = t->columns;
    while (n > 0 && t->cells[row][n - 1] == ' ')
        n--;
    t->cells[row][n] = '\0';
    static char text[TERMINAL_MAX + 1];
    memcpy(text, t->cells[row], n + 1);
    t->cells[row][n] = ' ';
    return text;
}

#endif
