/* The formats of reports: pictures, tags, traces, tables and exports of small profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pprof/dot.h"
#include "pprof/table.h"
#include "tests/unit/pprof/stack_profile.h"

/* ---- pictures ---------------------------------------------------------------------------------------- */

static void assert_shortened(const char *name, const char *expected)
{
    struct buf scratch = BUF_INIT(10000);
    struct str s = dot_shorten(str_of(name), &scratch);
    if (!str_is(s, expected))
        fail_msg("%s became %.*s", name, (int)s.n, s.p);
    buf_release(&scratch);
}

static void function_names_are_shortened_like_go_tool_pprof(void **state)
{
    (void)state;
    assert_shortened("main.main", "main.main");
    assert_shortened("example.org/a-b/pkg.(*T).f", "pkg.(*T).f");
    assert_shortened("example.org/pkg/v2.(*T).f", "pkg.(*T).f");
    assert_shortened("example.org/pkg/v12/sub.f", "sub.f");
    assert_shortened("example.org/pkg/v1.f", "v1.f");
    assert_shortened("a/b.c/d", "b.c/d"); /* no dot behind the last slash */
    assert_shortened("a//b.c", "/b.c");
    assert_shortened("a/b.", "a/b.");
    assert_shortened("a/.b", "a/.b");
    assert_shortened("org.example.Class.method(int)", "Class.method");
    assert_shortened("org.example.Class$1.<init>(int)", "Class$1.<init>");
    assert_shortened("org.example.Class.Method(int)", "org.example.Class.Method(int)");
    assert_shortened("ns::Class::method(int)", "Class::method");
    assert_shortened("ns::inner::Class<int>::method", "ns::inner::Class<int>::method");
    assert_shortened("ns::Outer::Inner::method<a<b>>(c)", "Inner::method<a<b>>");
    assert_shortened("ns::Class::~Class()", "Class::~Class");
    assert_shortened("Class::method", "Class::method");
    assert_shortened("(anonymous namespace)::ns::Class::f", "Class::f");
    assert_shortened("ns::lower::f", "ns::lower::f");
}

static void long_names_take_linear_time(void **state)
{
    (void)state;
    size_t n = 1 << 20;
    struct buf scratch = BUF_INIT(4 << 20);
    char *name = malloc(n);
    assert_non_null(name);
    for (const char *const *piece = (const char *const[]){"a/", "a::", "/v2", "A.", "a.", "[.", NULL}; *piece;
         piece++) {
        for (size_t i = 0; i < n; i++)
            name[i] = (*piece)[i % strlen(*piece)];
        struct str s = dot_shorten((struct str){name, n}, &scratch);
        assert_true(s.n <= n);
    }
    free(name);
    buf_release(&scratch);
}

static void scores_become_colors(void **state)
{
    (void)state;
    assert_string_equal(dot_color(0, false).text, "#b2b2b2");
    assert_string_equal(dot_color(1, false).text, "#b20000");
    assert_string_equal(dot_color(2, true).text, "#edd5d5");
    assert_string_equal(dot_color(-1, false).text, "#00b200");
    assert_string_equal(dot_color(-1, true).text, "#d5edd5");
}

/* ---- whole reports ----------------------------------------------------------------------------------- */

static int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static void ignore_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

static void assert_report(struct profile *p, const struct report_settings *settings, const char *expected)
{
    struct err err = ERR_INIT;
    struct buf text = BUF_INIT(1 << 20);
    struct report_callbacks callbacks = {.sink = add_bytes, .say = ignore_line, .ctx = &text};
    assert_int_equal(report_make(p, settings, &callbacks, &err), 0);
    assert_string_equal(buf_str(&text), expected);
    buf_release(&text);
}

static struct profile *labelled_profile(void)
{
    struct profile *p = new_profile();
    struct profile_label user = {.key = intern(p, "user"), .str = intern(p, "\xc3\xa9mile")};
    struct profile_label other = {.key = user.key, .str = intern(p, "bo\tb")};
    struct profile_label size = {.key = intern(p, "bytes"), .is_number = true, .num = 2048};
    add_sample(p, "b a", 6, (struct profile_label[]){user, size}, 2);
    add_sample(p, "a", 3, &other, 1);
    add_sample(p, "a", 1, NULL, 0);
    return p;
}

static void the_report_of_tags_is_printed(void **state)
{
    struct report_settings settings = REPORT_SETTINGS_INIT;
    (void)state;
    struct profile *p = labelled_profile();
    settings.format = REPORT_TAGS;
    assert_report(p, &settings,
                  " bytes: Total 6 of 10 (60.00%)\n"
                  "        6 (60.00%): 2kB\n"
                  "\n"
                  " user: Total 9 of 10 (90.00%)\n"
                  "       6 (60.00%): \xc3\xa9mile\n"
                  "       3 (30.00%):  bob\n"
                  "\n");
    profile_free(p);
}

static void the_report_of_traces_is_printed(void **state)
{
    struct report_settings settings = REPORT_SETTINGS_INIT;
    (void)state;
    struct profile *p = labelled_profile();
    settings.format = REPORT_TRACES;
    assert_report(p, &settings,
                  "Type: cpu\n"
                  "-----------+-------------------------------------------------------\n"
                  "      user:  \xc3\xa9mile\n"
                  "     bytes:  2kB\n"
                  "         6   b\n"
                  "             a\n"
                  "-----------+-------------------------------------------------------\n"
                  "      user:  bo\tb\n"
                  "         3   a\n"
                  "-----------+-------------------------------------------------------\n"
                  "         1   a\n"
                  "-----------+-------------------------------------------------------\n");
    profile_free(p);
}

static void the_report_for_callgrind_is_printed(void **state)
{
    struct report_settings settings = REPORT_SETTINGS_INIT;
    (void)state;
    struct profile *p = labelled_profile();
    settings.format = REPORT_CALLGRIND;
    settings.cum = true;
    assert_report(p, &settings,
                  "positions: instr line\nevents: cpu(count)\n"
                  "\nob=\nfl=\nfn=(1) a\n0x0 0 4\n"
                  "cfl=\ncfn=(2) b\ncalls=0 0x0 0\n* * 6\n"
                  "\nob=\nfl=\nfn=(2)\n* 0 6\n");
    profile_free(p);
}

/* Equal stacks are one line; recursion and inlined calls stay; separators in names are replaced. */
static void folded_stacks_are_printed(void **state)
{
    struct report_settings settings = REPORT_SETTINGS_INIT;
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "c<b a", 6, NULL, 0);
    add_sample(p, "a", 3, NULL, 0);
    add_sample(p, "c<b a", 1, NULL, 0);
    add_sample(p, "a a", -2, NULL, 0);
    add_sample(p, "x;y\n\xff a", 5, NULL, 0);
    settings.format = REPORT_FOLDED;
    assert_report(p, &settings, "a 3\na;b;c 7\na;a -2\na;x:y?\xff 5\n");
    profile_free(p);
    p = new_profile();
    settings.focus = "^b$";
    settings.divide_by = 2;
    add_sample(p, "b a", 6, NULL, 0);
    add_sample(p, "a", 3, NULL, 0);
    assert_report(p, &settings, "a;b 3\n");
    profile_free(p);
}

static void the_report_for_speedscope_is_printed(void **state)
{
    struct report_settings settings = REPORT_SETTINGS_INIT;
    (void)state;
    struct profile *p = new_profile();
    add_sample(p, "c<b a", 6, NULL, 0);
    add_sample(p, "a", 3, NULL, 0);
    add_sample(p, "a a", -2, NULL, 0);
    add_sample(p, "x\"\\\n\xff\xc3\xa9 a", 5, NULL, 0);
    settings.format = REPORT_SPEEDSCOPE;
    assert_report(p, &settings,
                  "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"version\":\"0.0.1\","
                  "\"exporter\":\"profgrab " PROFGRAB_VERSION "\",\"activeProfileIndex\":0,\n"
                  "\"shared\":{\"frames\":[\n{\"name\":\"a\"},\n{\"name\":\"b\"},\n{\"name\":\"c\"},\n"
                  "{\"name\":\"x\\\"\\\\\\u000a\\ufffd\xc3\xa9\"}]},\n"
                  "\"profiles\":[{\"type\":\"sampled\",\"name\":\"cpu\",\"unit\":\"none\",\"startValue\":0,\n"
                  "\"samples\":[[0],\n[0,1,2],\n[0,3]],\n\"weights\":[3,\n6,\n5],\n\"endValue\":14}]}\n");
    profile_free(p);
}

/* Names may contain column separators. The other columns stay aligned, and the time is linear. */
static void names_with_separators_leave_columns_aligned(void **state)
{
    struct err err = ERR_INIT;
    struct buf text = BUF_INIT(64 << 20);
    struct table t = TABLE_INIT;
    struct out *out = calloc(1, sizeof *out);
    (void)state;
    assert_non_null(out);
    *out = (struct out){.sink = add_bytes, .ctx = &text, .err = &err};
    table_add(&t, STR("a:\t b\n \t1:\t c\n\n").p, strlen("a:\t b\n \t1:\t c\n\n"));
    assert_int_equal(table_write(&t, out, false, &err), 0);
    for (size_t i = 0; i < 200000; i++)
        table_add(&t, "\t", 1);
    table_add(&t, "\n\xff open\t", 8);
    for (size_t i = 0; i < 2000; i++) {
        table_add(&t, "x\t\n", 3);
        assert_int_equal(table_write(&t, out, i == 1999, &err), 0);
    }
    assert_int_equal(out_end(out), 0);
    assert_memory_equal(buf_str(&text), " a: b\n    1: c\n\n", 16);
    assert_true(text.len > 200000 - 64);
    table_release(&t);
    buf_release(&text);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_names_are_shortened_like_go_tool_pprof),
        cmocka_unit_test(long_names_take_linear_time),
        cmocka_unit_test(scores_become_colors),
        cmocka_unit_test(the_report_of_tags_is_printed),
        cmocka_unit_test(the_report_of_traces_is_printed),
        cmocka_unit_test(the_report_for_callgrind_is_printed),
        cmocka_unit_test(folded_stacks_are_printed),
        cmocka_unit_test(the_report_for_speedscope_is_printed),
        cmocka_unit_test(names_with_separators_leave_columns_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
