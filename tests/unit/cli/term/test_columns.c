/* Display columns of UTF-8 on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "cli/term/columns.h"
#include "cli/term/rows.h"
#include "base/banned.h"

static void columns_of_wide_and_combining_characters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(columns_width(""), 0);
    assert_int_equal(columns_width("file-03: gitaly"), 15);
    assert_int_equal(columns_width("gr\xc3\xbc\xc3\x9f"), 4);       /* grüß */
    assert_int_equal(columns_width("u\xcc\x88"), 1);                /* u and a combining mark */
    assert_int_equal(columns_width("\xe4\xb8\xad\xe6\x96\x87"), 4); /* two ideographs */
    assert_int_equal(columns_width("\xf0\x9f\x94\xa5!"), 3);        /* an emoji */
    assert_int_equal(columns_width("\xe2\x80\xa6"), 1);             /* an ellipsis */
    assert_int_equal(columns_width("\xff\xc3"), 2);                 /* no UTF-8, cut UTF-8 */
    assert_int_equal(columns_width("\xc3(\xe4\xb8"), 4);
}

static void assert_fits(const char *s, size_t columns, size_t bytes)
{
    assert_int_equal(columns_fit(s, columns), bytes);
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    assert_fits("abc", 0, 0);
    assert_fits("abc", 2, 2);
    assert_fits("abc", 3, 3);
    assert_fits("abc", 9, 3);
    /* A wide character that does not fit leaves a column empty. */
    assert_fits("\xc3\xbc\xc3\xbc", 1, 2);
    assert_fits("a\xe4\xb8\xad", 2, 1);
    assert_fits("a\xe4\xb8\xad", 3, 4);
    /* A combining mark stays with its character. */
    assert_fits("u\xcc\x88x", 1, 3);
}

/* The prefix that columns_fit finds is never wider than the limit, for any bytes. */
static void a_line_never_exceeds_its_width(void **state)
{
    (void)state;
    char text[5] = "";
    for (unsigned i = 0; i < 0x10000; i++) {
        text[0] = (char)(0xe0 | (i & 0x1f));
        text[1] = (char)(i >> 8);
        text[2] = (char)(i & 0xff);
        text[3] = 'x';
        for (size_t columns = 0; columns < 5; columns++) {
            char head[5] = "";
            memcpy(head, text, columns_fit(text, columns));
            assert_true(columns_width(head) <= columns);
        }
    }
}

static void assert_folded(const char *text, struct columns_fold how, const char *expected)
{
    struct buf b = BUF_INIT(1000);
    columns_fold(&b, text, &how);
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
}

static void text_is_folded_at_words(void **state)
{
    (void)state;
    assert_folded("one two three", (struct columns_fold){.width = 7}, "one two\nthree");
    assert_folded("one two three", (struct columns_fold){.width = 7, .column = 3, .indent = 3},
                  "one\n   two\n   three");
    /* A word that is too long has its own line; an empty line stays. */
    assert_folded("a longerthanthat b", (struct columns_fold){.width = 5}, "a\nlongerthanthat\nb");
    assert_folded("a\nb\n\nc", (struct columns_fold){.width = 80, .indent = 2}, "a b\n\n  c");
    assert_folded("", (struct columns_fold){.width = 80}, "");
}

/* Prints a table with a wide last cell in lines of `width` columns; 0: without a limit. */
static void assert_rows(size_t width, size_t min_last_cell, const char *expected)
{
    struct rows rows = {.columns = "lrl", .min_last_cell = min_last_cell};
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    rows_add(&rows, (const char *const[]){"TARGET", "BYTES", "WHAT FAILED"});
    rows_add(&rows, (const char *const[]){"file-03: gitaly", "1.2 kB", ""});
    rows_add(&rows, (const char *const[]){"file-04: gitaly", "-", "heap: HTTP 404: Unknown profile"});
    rows_print(&rows, width, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    rows_release(&rows);
}

static void a_wide_last_cell_is_moved_below_or_cut(void **state)
{
    (void)state;
    assert_rows(0, 40,
                "TARGET            BYTES  WHAT FAILED\nfile-03: gitaly  1.2 kB\n"
                "file-04: gitaly       -  heap: HTTP 404: Unknown profile\n");
    assert_rows(46, 40,
                "TARGET            BYTES  WHAT FAILED\nfile-03: gitaly  1.2 kB\n"
                "file-04: gitaly       -\n    heap: HTTP 404: Unknown profile\n");
    assert_rows(46, SIZE_MAX,
                "TARGET            BYTES  WHAT FAILED\nfile-03: gitaly  1.2 kB\n"
                "file-04: gitaly       -\n    heap: HTTP 404: Unknown profile\n");
    /* There is room for 21 columns beside the others. */
    assert_rows(46, 21,
                "TARGET            BYTES  WHAT FAILED\nfile-03: gitaly  1.2 kB\n"
                "file-04: gitaly       -  heap: HTTP 404: Un...\n");
}

static void without_a_terminal_COLUMNS_sets_a_width_from_40_to_80(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t columns;
    } cases[] = {{NULL, 80}, {"60", 60}, {"40", 40},  {"200", 80}, {"39", 80},
                 {"0", 80},  {"", 80},   {"60x", 80}, {"-1", 80}};
    char *saved = getenv("COLUMNS") ? strdup(getenv("COLUMNS")) : NULL;
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].value)
            setenv("COLUMNS", cases[i].value, 1);
        else
            unsetenv("COLUMNS");
        assert_int_equal(columns_prose_max(out), cases[i].columns);
    }
    fclose(out);
    if (saved)
        setenv("COLUMNS", saved, 1);
    else
        unsetenv("COLUMNS");
    free(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_wide_and_combining_characters_are_counted),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(a_line_never_exceeds_its_width),
        cmocka_unit_test(text_is_folded_at_words),
        cmocka_unit_test(without_a_terminal_COLUMNS_sets_a_width_from_40_to_80),
        cmocka_unit_test(a_wide_last_cell_is_moved_below_or_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
