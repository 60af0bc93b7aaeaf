/* The words for kinds: every kind and form, sets, errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "fetch/request.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static int parse(const char *words, struct request_list *ret, struct err *err)
{
    struct strlist l = {0};
    if (*words)
        assert_ok(strlist_split(&l, words, err), err);
    int rc = request_parse(&l, ret, err);
    strlist_release(&l);
    return rc;
}

/* `name form milliseconds` of each, separated by commas. */
static void means(const char *words, const char *wanted)
{
    static const char *const forms[] = {"bare", "proto", "text", "grouped", "gc", "delta"};
    struct request_list l;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(2000);
    assert_ok(parse(words, &l, &err), &err);
    for (size_t i = 0; i < l.n; i++) {
        const struct request *w = &l.items[i];
        buf_addf(&b, "%s%s%s %s", i ? "," : "", w->name, w->kind ? "" : "?", forms[w->form]);
        if (w->timed_ms)
            buf_addf(&b, " %lld", (long long)w->timed_ms);
    }
    buf_adds(&b, l.all ? ",all" : "");
    assert_string_equal(buf_str(&b), wanted);
    buf_release(&b);
    request_release(&l);
    assert_null(l.items);
}

static void wrong(const char *words, const char *msg, const char *hint)
{
    struct request_list l = {.n = 77};
    struct err err = ERR_INIT;
    int64_t longest = 77;
    assert_refused(parse(words, &l, &err), &err, ERR_USAGE, msg);
    assert_string_equal(err.hint, hint);
    assert_int_equal(l.n, 77);
    struct strlist list = {0};
    assert_ok(strlist_split(&list, words, &err), &err);
    assert_refused(fetch_check_kinds(&list, &longest, &err), &err, ERR_USAGE, msg);
    assert_int_equal(longest, 77);
    strlist_release(&list);
}

static void each_kind_is_read_by_its_name(void **state)
{
    (void)state;
    means("cpu", "cpu bare 30000");
    means("trace", "trace bare 5000");
    means("heap", "heap bare");
    means("allocs", "allocs bare");
    means("goroutines", "goroutines bare");
    means("threadcreate", "threadcreate bare");
    means("block", "block bare");
    means("mutex", "mutex bare");
    means("cmdline", "cmdline bare");
    means("symbol", "symbol bare");
    means("goroutineleak", "goroutineleak bare");
    means("fgprof", "fgprof bare 30000");
    means("profile,mem,goroutine", "cpu bare 30000,heap bare,goroutines bare");
}

static void each_form_of_a_kind_is_read(void **state)
{
    (void)state;
    means("cpu=5", "cpu bare 5000");
    means("cpu=2m", "cpu bare 120000");
    means("profile=1s", "cpu bare 1000");
    means("trace=0.5", "trace bare 500");
    means("trace=250ms", "trace bare 250");
    means("fgprof=10s", "fgprof bare 10000");
    means("heap=gc", "heap gc");
    means("goroutines=text", "goroutines text");
    means("goroutines=grouped", "goroutines grouped");
    means("goroutines=proto", "goroutines proto");
    means("threadcreate=text,block=text,mutex=text", "threadcreate text,block text,mutex text");
    means("threadcreate=1s,block=10,mutex=1m", "threadcreate delta 1000,block delta 10000,mutex delta 60000");
}

static void sets_of_kinds_are_read(void **state)
{
    (void)state;
    means("", "cpu bare 30000,heap bare,goroutines bare");
    means("default", "cpu bare 30000,heap bare,goroutines bare");
    means("incident", "cpu bare 30000,trace bare 5000,heap bare,goroutines bare");
    means("all", "cpu bare 30000,all");
    means("heap,all", "heap bare,cpu bare 30000,all");
    /* Named kinds are first, and a set adds no kind that was named in any form. */
    means("default,mutex", "mutex bare,cpu bare 30000,heap bare,goroutines bare");
    means("all,cpu=5s", "cpu bare 5000,all");
    means("default,heap=gc,goroutines=text", "heap gc,goroutines text,cpu bare 30000");
}

static void each_kind_is_requested_once(void **state)
{
    (void)state;
    means("heap,heap,mem", "heap bare");
    means("cpu,cpu=30,cpu=30s,profile", "cpu bare 30000");
    means("cpu,cpu=10", "cpu bare 30000,cpu bare 10000");
    means("incident,default", "cpu bare 30000,trace bare 5000,heap bare,goroutines bare");
    means("heap,heap=gc", "heap bare,heap gc");
    means("mutex,mutex=text,mutex=1s", "mutex bare,mutex text,mutex delta 1000");
    means("/a,/b,/a", "/a? bare,/b? bare");
}

static void custom_kinds_and_paths_are_read(void **state)
{
    (void)state;
    means("my-profile", "my-profile? bare");
    means("team/queue.depth", "team/queue.depth? bare");
    means("/debug/vars", "/debug/vars? bare");
    means("/debug/pprof/heap?gc=1&x=y", "/debug/pprof/heap?gc=1&x=y? bare");
    means("/", "/? bare");
    /* Case counts. */
    means("CPU", "CPU? bare");
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    wrong("heap=30s", "kind \"heap\" does not take \"30s\"", "it takes gc");
    wrong("cpu=text", "kind \"cpu\" does not take \"text\"", "it takes a duration such as 30s");
    wrong("cpu=", "kind \"cpu\" does not take \"\"", "it takes a duration such as 30s");
    wrong("cpu=-5s", "kind \"cpu\" does not take \"-5s\"", "it takes a duration such as 30s");
    wrong("mutex=gc", "kind \"mutex\" does not take \"gc\"", "it takes a duration such as 30s or text");
    wrong("goroutines=30s", "kind \"goroutines\" does not take \"30s\"", "it takes text, grouped or proto");
    wrong("mutex=grouped", "kind \"mutex\" does not take \"grouped\"",
          "it takes a duration such as 30s or text");
    wrong("allocs=gc", "kind \"allocs\" does not take \"gc\"", "write just allocs");
    wrong("my-profile=5", "kind \"my-profile\" does not take \"5\"", "write just my-profile");
    wrong("default=5", "kind \"default\" does not take \"5\"", "write just default");
    wrong("heap,cpu=x", "kind \"cpu\" does not take \"x\"", "it takes a duration such as 30s");
}

/* Go would use its default of thirty seconds for these. */
static void ambiguous_durations_are_refused(void **state)
{
    (void)state;
    wrong("cpu=1.5s", "cpu: whole seconds only, \"1.5s\" has a fraction", "");
    wrong("cpu=500ms", "cpu: whole seconds only, \"500ms\" has a fraction", "");
    wrong("mutex=1.5", "mutex: whole seconds only, \"1.5\" has a fraction", "");
    wrong("cpu=0", "cpu: a duration of nothing: \"0\"", "");
    wrong("trace=0s", "trace: a duration of nothing: \"0s\"", "");
    wrong("cpu=25h", "cpu: duration \"25h\" is longer than 24 hours", "");
    wrong("cpu=5x", "cpu: \"5x\" is not a duration: write 30s, 2m, 1m30s or a number of seconds", "");
}

static void words_with_special_characters_are_refused(void **state)
{
    (void)state;
    wrong("a\x1b[31mb", "\"a?[31mb\" cannot be a kind or a path", "");
    wrong("/a b", "\"/a b\" cannot be a kind or a path", "");
    wrong("/a\r\nHost: x", "\"/a Host: x\" cannot be a kind or a path", "");
    wrong("/a#b", "\"/a#b\" cannot be a kind or a path", "");
    wrong("/caf\xc3\xa9", "\"/caf\xc3\xa9\" cannot be a kind or a path", "");
    wrong("--host", "\"--host\" cannot be a kind or a path", "");
    wrong("=5", "\"\" cannot be a kind or a path", "");
    char word[300], msg[100];
    memset(word, 'w', sizeof word);
    word[256] = '\0';
    snprintf(msg, sizeof msg, "kind \"%.40s...\" is too long", word);
    wrong(word, msg, "");
    word[0] = '/';
    snprintf(msg, sizeof msg, "kind \"%.40s...\" is too long", word);
    wrong(word, msg, "");
    word[255] = '\0';
    struct request_list l;
    struct err err = ERR_INIT;
    assert_ok(parse(word, &l, &err), &err);
    assert_string_equal(l.items[0].name, word);
    request_release(&l);
    wrong("cpu=00000000000000000000000000000030",
          "kind \"cpu=00000000000000000000000000000030...\" is too long", "");
}

static void the_longest(const char *words, int64_t ms)
{
    struct strlist l = {0};
    struct err err = ERR_INIT;
    int64_t longest = -1;
    if (*words)
        assert_ok(strlist_split(&l, words, &err), &err);
    assert_ok(fetch_check_kinds(&l, &longest, &err), &err);
    assert_int_equal(longest, ms);
    strlist_release(&l);
}

static void the_longest_duration_is_returned(void **state)
{
    (void)state;
    the_longest("", 30000);
    the_longest("heap", 0);
    the_longest("heap,trace", 5000);
    the_longest("cpu=6m,mutex=10s", 360000);
}

/* The help has a row for each kind and set, and every kind in it is accepted. */
static void shrink(const char *words, bool expected)
{
    struct request_list l = {0};
    struct err err = ERR_INIT;
    assert_ok(parse(words, &l, &err), &err);
    if (request_is_compressible(&l) != expected)
        fail_msg("%s", words);
    request_release(&l);
}

static void only_text_and_traces_are_compressible(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "",         "goroutines", "goroutines=text", "cpu,goroutines=grouped", "mutex=text", "trace",
        "trace=1s", "default",    "incident",        "all,block=text"};
    static const char *const no[] = {
        "heap",  "cpu=1s,heap,allocs,block", "goroutines=proto", "heap=gc", "mutex=30s", "/debug/vars",
        "custom"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        shrink(yes[i], true);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        shrink(no[i], false);
}

static void the_help_is_complete(void **state)
{
    (void)state;
    struct fetch_kind_help help;
    size_t n = 0, kinds = 0;
    while (kind_at(kinds))
        kinds++;
    for (; fetch_kind_help(n, &help) == 0; n++) {
        struct request_list l;
        struct err err = ERR_INIT;
        assert_true(*help.name && *help.help);
        assert_ok(parse(help.name, &l, &err), &err);
        assert_non_null(l.items[0].kind);
        if (n < kinds)
            assert_ptr_equal(l.items[0].kind, kind_at(n));
        request_release(&l);
    }
    assert_int_equal(n, kinds + 3);
    assert_int_equal(fetch_kind_help(SIZE_MAX, &help), -1);
    assert_ptr_equal(kind_find("mem"), kind_find("heap"));
    assert_ptr_equal(kind_of_endpoint("goroutine"), kind_find("goroutines"));
    assert_null(kind_find("profil"));
    assert_null(kind_of_endpoint("cpu"));
}

static void costs(const char *words, const char *expected)
{
    struct strlist list = {0}, costly = {0};
    struct err err = ERR_INIT;
    struct buf joined = BUF_INIT(1000);
    assert_int_equal(strlist_split(&list, words, NULL), 0);
    assert_ok(fetch_add_costly_kinds(&list, &costly, &err), &err);
    for (size_t i = 0; i < costly.n; i++)
        buf_addf(&joined, "%s%s", i ? " " : "", costly.items[i]);
    assert_string_equal(buf_str(&joined), expected);
    buf_release(&joined);
    strlist_release(&list);
    strlist_release(&costly);
}

static void kinds_that_slow_a_process_down_are_listed(void **state)
{
    (void)state;
    costs("heap=gc,goroutines,mutex,allocs,/debug/vars", "");
    costs("default", "cpu=30s");
    costs("incident", "cpu=30s trace=5s");
    costs("all", "cpu=30s");
    costs("profile=7,heap,mutex=3s,goroutines=text,goroutines=grouped", "cpu=7 mutex=3s goroutines=text");
    costs("mutex=text,fgprof,/x/debug/pprof/profile?seconds=2",
          "fgprof=30s /x/debug/pprof/profile?seconds=2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_read_by_its_name),
        cmocka_unit_test(each_form_of_a_kind_is_read),
        cmocka_unit_test(sets_of_kinds_are_read),
        cmocka_unit_test(each_kind_is_requested_once),
        cmocka_unit_test(custom_kinds_and_paths_are_read),
        cmocka_unit_test(wrong_words_are_refused),
        cmocka_unit_test(ambiguous_durations_are_refused),
        cmocka_unit_test(words_with_special_characters_are_refused),
        cmocka_unit_test(the_longest_duration_is_returned),
        cmocka_unit_test(only_text_and_traces_are_compressible),
        cmocka_unit_test(kinds_that_slow_a_process_down_are_listed),
        cmocka_unit_test(the_help_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
