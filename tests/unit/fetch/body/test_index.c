/* The index page: forms of Go's versions and of other routers, hostile pages, cuts and flips. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fetch/body/index.h"
#include "tests/unit/damage.h"

#include "base/banned.h"

/* Parses a copy of exactly n bytes, so that a sanitizer reports reading beyond them. */
static int parse_page(const char *page, size_t n, struct index_page *ret, struct err *err)
{
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy + 1, page, n);
    int rc = index_parse(copy + 1, n, ret, err);
    free(copy);
    return rc;
}

/* `expected` has `name=count` of each entry, separated by blanks. */
static void assert_entries(const char *page, const char *expected)
{
    struct index_page index = {0};
    struct buf got = BUF_INIT(1 << 20);
    assert_int_equal(parse_page(page, strlen(page), &index, NULL), 0);
    for (size_t i = 0; i < index.n; i++)
        buf_addf(&got, "%s%s=%lld", i ? " " : "", index.items[i].name, (long long)index.items[i].count);
    assert_string_equal(buf_str(&got), expected);
    buf_release(&got);
    index_release(&index);
}

static void assert_no_index(const char *page)
{
    struct index_page index = {0};
    struct err err = ERR_INIT;
    assert_int_equal(parse_page(page, strlen(page), &index, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_string_equal(err.msg, "no profile list in the page");
    assert_null(index.items);
}

#define PAGE_BEGIN                                                                                           \
    "<html><head><title>/debug/pprof/</title></head><body>/debug/pprof/<br>\n<table>\n"                      \
    "<thead><td>Count</td><td>Profile</td></thead>\n"
#define PAGE_END                                                                                             \
    "</table>\n<a href=\"goroutine?debug=2\">all stacks</a><br>\n"                                           \
    "<ul><li><div class=profile-name>heap: </div> live objects</li></ul></body></html>\n"

static void index_pages_of_each_go_version_are_read(void **state)
{
    (void)state;
    /* 1.17 and later; `symbol` came with 1.24 */
    assert_entries(PAGE_BEGIN "<tr><td>8</td><td><a href='allocs?debug=1'>allocs</a></td></tr>\n"
                              "<tr><td>0</td><td><a href='cmdline?debug=1'>cmdline</a></td></tr>\n"
                              "<tr><td>52</td><td><a href='goroutine?debug=1'>goroutine</a></td></tr>\n"
                              "<tr><td>0</td><td><a href='symbol?debug=1'>symbol</a></td></tr>\n" PAGE_END,
                   "allocs=8 cmdline=0 goroutine=52 symbol=0");
    /* 1.11 to 1.16 */
    assert_entries(PAGE_BEGIN
                   "\n<tr>\n<td>8</td><td><a href=allocs?debug=1>allocs</a></td>\n</tr>\n"
                   "\n<tr>\n<td>52</td><td><a href=goroutine?debug=1>goroutine</a></td>\n</tr>\n" PAGE_END,
                   "allocs=8 goroutine=52");
    /* 1.10 and earlier */
    assert_entries("profiles:<br><table>\n<tr><td align=right>0<td><a href=\"block?debug=1\">block</a>\n"
                   "\n<tr><td align=right>52<td><a href=\"goroutine?debug=1\">goroutine</a>\n" PAGE_END,
                   "block=0 goroutine=52");
    assert_entries("<td>8<td><a href=heap?debug=1>heap</a>", "heap=8");
}

static void unusual_markup_is_read(void **state)
{
    (void)state;
    assert_entries("<TR><TD CLASS=n>\n 8 \n</TD>\n\t<TD>\n<A class='x' HREF = 'no' href='heap'>heap</A>",
                   "heap=8");
    assert_entries("<td>1</td><td><a href='/debug/pprof/heap?debug=1'>", "heap=1");
    assert_entries("<td>1</td><td><a href='/app/_pprof/heap'>", "heap=1");
    assert_entries("<td>1</td><td><a href='/admin/heap?debug=1'>", "heap=1");
    assert_entries("<td>1</td><td><a href='/debug/pprof/x.org/pprof/y'>", "x.org/pprof/y=1");
    assert_entries("<td>1</td><td><a href='heap?debug=1&token=a'>", "heap=1");
    assert_entries("<td>1</td><td><a href='./heap#x'>", "heap=1");
    /* The first of equal names counts. */
    assert_entries("<td>1<td><a href=heap><td>2<td><a href=heap><td>3<td><a href=mutex>", "heap=1 mutex=3");
    /* Text that is not a row does not hide the row after it. */
    assert_entries("<td>1<td>2<td><a href=heap>", "heap=2");
    assert_entries("<td>1<td <td>7<td><a href=heap>", "heap=7");
    assert_entries("<td>1<td><a href=heap<td>7<td><a href=mutex>", "mutex=7");
    assert_entries("<td>9223372036854775807<td><a href=heap>", "heap=9223372036854775807");
}

static void unsafe_names_are_skipped(void **state)
{
    (void)state;
    assert_entries("<td>1<td><a href='github.com%2Fpkg%2fname?debug=1'>", "github.com/pkg/name=1");
    assert_entries("<td>1<td><a href='github.com/pkg/_na-me.v2?debug=1'>", "github.com/pkg/_na-me.v2=1");
    assert_entries("<td>1<td><a href='%68eap?debug=1'>", "heap=1");
    static const char *const bad[] = {
        "",
        "?debug=1",
        "..",
        "../x",
        "x/..",
        "x/../y",
        "%2e%2e/x",
        "x/%2e%2e",
        "x//y",
        "x/",
        ".x",
        "_x",
        "-x",
        "x%",
        "x%4",
        "x%4g",
        "x%00",
        "heap%00",
        "x%0ay",
        "x%20y",
        "x y",
        "x%1b[1m",
        "a:b",
        "x%3fy",
        "x%25",
        "x&amp;y",
        "x\xc3\xa9",
        "%2fx",
        "x\\y",
        "x%5cy",
        "x\x01y",
        "'x'",
        "javascript:x",
        "http://x/heap",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char page[200];
        snprintf(page, sizeof page, "<td>1<td><a href=\"%s\">", bad[i]);
        assert_no_index(page);
        snprintf(page, sizeof page, "<td>1<td><a href=\"%s\"><td>2<td><a href=heap>", bad[i]);
        struct index_page index = {0};
        assert_int_equal(parse_page(page, strlen(page), &index, NULL), 0);
        assert_non_null(index_find(&index, "heap"));
        index_release(&index);
    }
}

static void names_beyond_the_maximum_length_are_skipped(void **state)
{
    (void)state;
    for (size_t n = 126; n <= 129; n++) {
        struct buf page = BUF_INIT(4096);
        struct index_page index = {0};
        buf_adds(&page, "<td>1<td><a href=mutex><td>1<td><a href=");
        for (size_t i = 0; i < n; i++)
            buf_addc(&page, 'x');
        buf_adds(&page, ">");
        assert_int_equal(parse_page(page.data, page.len, &index, NULL), 0);
        assert_int_equal(index.n, n <= 127 ? 2 : 1);
        index_release(&index);
        buf_release(&page);
    }
}

static void other_pages_are_no_index(void **state)
{
    (void)state;
    assert_no_index("");
    assert_no_index("404 page not found\n");
    assert_no_index("<html><body><h1>It works</h1><a href=heap>heap</a></body></html>");
    assert_no_index(PAGE_BEGIN PAGE_END);
    assert_no_index("<td>-1<td><a href=heap>");
    assert_no_index("<td><td><a href=heap>");
    assert_no_index("<td>1x<td><a href=heap>");
    assert_no_index("<td>9223372036854775808<td><a href=heap>");
    assert_no_index("<td>1<td><a name=heap>");
    assert_no_index("<td>1<td><a xhref=heap>");
    assert_no_index("<td>1<td><abbr href=heap>");
    assert_no_index("<tdx>1<td><a href=heap>");
    assert_no_index("<td>1<td><a href=heap");
    assert_no_index("<td>1<td><a href='heap>");
}

static void a_profile_is_found_by_its_exact_name(void **state)
{
    (void)state;
    static const char page[] = "<td>1<td><a href=heap><td>2<td><a href=mutex>";
    struct index_page index = {0};
    assert_int_equal(parse_page(page, sizeof page - 1, &index, NULL), 0);
    assert_int_equal(index_find(&index, "mutex")->count, 2);
    assert_null(index_find(&index, "mute"));
    assert_null(index_find(&index, "Heap"));
    index_release(&index);
    assert_null(index_find(&index, "heap"));
    index_release(&index);
}

/* Pages of 2 MiB that would take long if a parser read them repeatedly. */
static void large_and_hostile_pages_are_parsed_within_two_seconds(void **state)
{
    (void)state;
    static const char *const repeated[] = {"<td>1<td><a href=", "<td>1 <td>      ",   "<",     "<td", "<td ",
                                           "<td>1<td><a ",      "<td>1<td><a href='", "<td>1", " ",   "<td>"};
    struct buf page = BUF_INIT(8 << 20);
    struct index_page index = {0};
    for (unsigned i = 0; i < 5000; i++)
        buf_addf(&page, "<td>%u<td><a href=profile%u>", i, i);
    assert_int_equal(parse_page(page.data, page.len, &index, NULL), 0);
    assert_int_equal(index.n, INDEX_MAX_ENTRIES);
    assert_int_equal(index_find(&index, "profile999")->count, 999);
    index_release(&index);
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
        buf_clear(&page);
        while (page.len < 2 << 20)
            buf_adds(&page, repeated[i]);
        int64_t began = clock_now();
        assert_int_equal(parse_page(page.data, page.len, &index, NULL), -1);
        assert_true(clock_now() - began < 2000);
    }
    buf_release(&page);
}

static void assert_names_harmless(const char *page, size_t n)
{
    struct index_page index = {0};
    struct err err = ERR_INIT;
    if (parse_page(page, n, &index, &err)) {
        assert_int_equal(err.kind, ERR_NOT_FOUND);
        return;
    }
    assert_true(index.n > 0);
    for (size_t i = 0; i < index.n; i++) {
        const char *name = index.items[i].name;
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"),
                         strlen(name));
        assert_null(strstr(name, "/."));
        assert_true(name[0] != '.' && name[0] != '/' && name[0]);
        assert_true(index.items[i].count >= 0);
    }
    index_release(&index);
}

static void parse_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    assert_names_harmless(s->p, s->n);
}

static void names_in_damaged_index_pages_are_harmless(void **state)
{
    (void)state;
    static const char good[] = PAGE_BEGIN "<tr><td>8</td><td><a href='allocs?debug=1'>allocs</a></td></tr>\n"
                                          "<td>8<td><a href=../x%2F%2e%2e?debug=1>heap</a>\n"
                                          "<td align=right>3<td><a class=x href=\"a.b%2Fc?x\">a</a>" PAGE_END;
    damage_everywhere(good, sizeof good - 1, parse_damaged, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_pages_of_each_go_version_are_read),
        cmocka_unit_test(unusual_markup_is_read),
        cmocka_unit_test(unsafe_names_are_skipped),
        cmocka_unit_test(names_beyond_the_maximum_length_are_skipped),
        cmocka_unit_test(other_pages_are_no_index),
        cmocka_unit_test(a_profile_is_found_by_its_exact_name),
        cmocka_unit_test(large_and_hostile_pages_are_parsed_within_two_seconds),
        cmocka_unit_test(names_in_damaged_index_pages_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
