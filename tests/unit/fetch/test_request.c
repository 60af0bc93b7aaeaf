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

static int parse_request(const char *words, struct request_list *ret, struct err *err)
{
    struct strlist l = {0};
    if (*words)
        assert_ok(strlist_split(&l, words, err), err);
    int rc = request_parse(&l, ret, err);
    strlist_release(&l);
    return rc;
}

/* `expected` has `name form milliseconds` of each request, separated by commas. `?` marks an unknown kind,
 * and `all` comes last. */
static void assert_read_as(const char *words, const char *expected)
{
    static const char *const forms[] = {"bare", "proto", "text", "grouped", "gc", "delta"};
    struct request_list l;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(2000);
    assert_ok(parse_request(words, &l, &err), &err);
    for (size_t i = 0; i < l.n; i++) {
        const struct request *w = &l.items[i];
        buf_addf(&b, "%s%s%s %s", i ? "," : "", w->name, w->kind ? "" : "?", forms[w->form]);
        if (w->timed_ms)
            buf_addf(&b, " %lld", (long long)w->timed_ms);
    }
    buf_adds(&b, l.all ? ",all" : "");
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
    request_release(&l);
    assert_null(l.items);
}

static void assert_words_refused(const char *words, const char *msg, const char *hint)
{
    struct request_list l = {.n = 77};
    struct err err = ERR_INIT;
    int64_t longest = 77;
    assert_refused(parse_request(words, &l, &err), &err, ERR_USAGE, msg);
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
    assert_read_as("cpu", "cpu bare 30000");
    assert_read_as("trace", "trace bare 5000");
    assert_read_as("heap", "heap bare");
    assert_read_as("allocs", "allocs bare");
    assert_read_as("goroutines", "goroutines bare");
    assert_read_as("threadcreate", "threadcreate bare");
    assert_read_as("block", "block bare");
    assert_read_as("mutex", "mutex bare");
    assert_read_as("cmdline", "cmdline bare");
    assert_read_as("symbol", "symbol bare");
    assert_read_as("goroutineleak", "goroutineleak bare");
    assert_read_as("fgprof", "fgprof bare 30000");
    assert_read_as("profile,mem,goroutine", "cpu bare 30000,heap bare,goroutines bare");
}

static void each_form_of_a_kind_is_read(void **state)
{
    (void)state;
    assert_read_as("cpu=5", "cpu bare 5000");
    assert_read_as("cpu=2m", "cpu bare 120000");
    assert_read_as("profile=1s", "cpu bare 1000");
    assert_read_as("trace=0.5", "trace bare 500");
    assert_read_as("trace=250ms", "trace bare 250");
    assert_read_as("fgprof=10s", "fgprof bare 10000");
    assert_read_as("heap=gc", "heap gc");
    assert_read_as("goroutines=text", "goroutines text");
    assert_read_as("goroutines=grouped", "goroutines grouped");
    assert_read_as("goroutines=proto", "goroutines proto");
    assert_read_as("threadcreate=text,block=text,mutex=text", "threadcreate text,block text,mutex text");
    assert_read_as("threadcreate=1s,block=10,mutex=1m",
                   "threadcreate delta 1000,block delta 10000,mutex delta 60000");
}

static void sets_of_kinds_are_read(void **state)
{
    (void)state;
    assert_read_as("", "cpu bare 30000,heap bare,goroutines bare");
    assert_read_as("default", "cpu bare 30000,heap bare,goroutines bare");
    assert_read_as("incident", "cpu bare 30000,trace bare 5000,heap bare,goroutines bare");
    assert_read_as("all", "cpu bare 30000,all");
    assert_read_as("heap,all", "heap bare,cpu bare 30000,all");
    /* Named kinds are first, and a set adds no kind that was named in any form. */
    assert_read_as("default,mutex", "mutex bare,cpu bare 30000,heap bare,goroutines bare");
    assert_read_as("all,cpu=5s", "cpu bare 5000,all");
    assert_read_as("default,heap=gc,goroutines=text", "heap gc,goroutines text,cpu bare 30000");
}

static void each_kind_is_requested_once(void **state)
{
    (void)state;
    assert_read_as("heap,heap,mem", "heap bare");
    assert_read_as("cpu,cpu=30,cpu=30s,profile", "cpu bare 30000");
    assert_read_as("cpu,cpu=10", "cpu bare 30000,cpu bare 10000");
    assert_read_as("incident,default", "cpu bare 30000,trace bare 5000,heap bare,goroutines bare");
    assert_read_as("heap,heap=gc", "heap bare,heap gc");
    assert_read_as("mutex,mutex=text,mutex=1s", "mutex bare,mutex text,mutex delta 1000");
    assert_read_as("/a,/b,/a", "/a? bare,/b? bare");
}

static void custom_kinds_and_paths_are_read(void **state)
{
    (void)state;
    assert_read_as("my-profile", "my-profile? bare");
    assert_read_as("team/queue.depth", "team/queue.depth? bare");
    assert_read_as("/debug/vars", "/debug/vars? bare");
    assert_read_as("/debug/pprof/heap?gc=1&x=y", "/debug/pprof/heap?gc=1&x=y? bare");
    assert_read_as("/", "/? bare");
    /* Names of kinds are case-sensitive. */
    assert_read_as("CPU", "CPU? bare");
}

static void wrong_arguments_of_kinds_are_refused(void **state)
{
    (void)state;
    assert_words_refused("heap=30s", "kind \"heap\" does not take \"30s\"", "it takes gc");
    assert_words_refused("cpu=text", "kind \"cpu\" does not take \"text\"",
                         "it takes a duration such as 30s");
    assert_words_refused("cpu=", "kind \"cpu\" does not take \"\"", "it takes a duration such as 30s");
    assert_words_refused("cpu=-5s", "kind \"cpu\" does not take \"-5s\"", "it takes a duration such as 30s");
    assert_words_refused("mutex=gc", "kind \"mutex\" does not take \"gc\"",
                         "it takes a duration such as 30s or text");
    assert_words_refused("goroutines=30s", "kind \"goroutines\" does not take \"30s\"",
                         "it takes text, grouped or proto");
    assert_words_refused("mutex=grouped", "kind \"mutex\" does not take \"grouped\"",
                         "it takes a duration such as 30s or text");
    assert_words_refused("allocs=gc", "kind \"allocs\" does not take \"gc\"", "write just allocs");
    assert_words_refused("my-profile=5", "kind \"my-profile\" does not take \"5\"", "write just my-profile");
    assert_words_refused("default=5", "kind \"default\" does not take \"5\"", "write just default");
    assert_words_refused("heap,cpu=x", "kind \"cpu\" does not take \"x\"", "it takes a duration such as 30s");
}

/* For most of these durations, Go would use its default (cpu: 30 s, trace: 1 s) or refuse the request. */
static void durations_that_go_does_not_support_are_refused(void **state)
{
    (void)state;
    assert_words_refused("cpu=1.5s", "cpu: whole seconds only, \"1.5s\" has a fraction", "");
    assert_words_refused("cpu=500ms", "cpu: whole seconds only, \"500ms\" has a fraction", "");
    assert_words_refused("mutex=1.5", "mutex: whole seconds only, \"1.5\" has a fraction", "");
    assert_words_refused("cpu=0", "cpu: the duration is zero: \"0\"", "");
    assert_words_refused("trace=0s", "trace: the duration is zero: \"0s\"", "");
    assert_words_refused("cpu=25h", "cpu: duration \"25h\" is longer than 24 hours", "");
    assert_words_refused("cpu=5x",
                         "cpu: \"5x\" is not a duration: write 30s, 2m, 1m30s or a number of seconds", "");
}

static void invalid_or_too_long_words_are_refused(void **state)
{
    (void)state;
    assert_words_refused("a\x1b[31mb", "\"a?[31mb\" cannot be a kind or a path", "");
    assert_words_refused("/a b", "\"/a b\" cannot be a kind or a path", "");
    assert_words_refused("/a\r\nHost: x", "\"/a Host: x\" cannot be a kind or a path", "");
    assert_words_refused("/a#b", "\"/a#b\" cannot be a kind or a path", "");
    assert_words_refused("/caf\xc3\xa9", "\"/caf\xc3\xa9\" cannot be a kind or a path", "");
    assert_words_refused("--host", "\"--host\" cannot be a kind or a path", "");
    assert_words_refused("=5", "\"\" cannot be a kind or a path", "");
    char word[300], msg[100];
    memset(word, 'w', sizeof word);
    word[256] = '\0';
    snprintf(msg, sizeof msg, "kind \"%.40s...\" is too long", word);
    assert_words_refused(word, msg, "");
    word[0] = '/';
    snprintf(msg, sizeof msg, "kind \"%.40s...\" is too long", word);
    assert_words_refused(word, msg, "");
    word[255] = '\0';
    struct request_list l;
    struct err err = ERR_INIT;
    assert_ok(parse_request(word, &l, &err), &err);
    assert_string_equal(l.items[0].name, word);
    request_release(&l);
    assert_words_refused("cpu=00000000000000000000000000000030",
                         "kind \"cpu=00000000000000000000000000000030...\" is too long", "");
}

static void assert_longest(const char *words, int64_t ms)
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
    assert_longest("", 30000);
    assert_longest("heap", 0);
    assert_longest("heap,trace", 5000);
    assert_longest("cpu=6m,mutex=10s", 360000);
}

static void assert_compressible(const char *words, bool expected)
{
    struct request_list l = {0};
    struct err err = ERR_INIT;
    assert_ok(parse_request(words, &l, &err), &err);
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
        assert_compressible(yes[i], true);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_compressible(no[i], false);
}

static void the_help_has_a_row_for_each_kind_and_set(void **state)
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
        assert_ok(parse_request(help.name, &l, &err), &err);
        assert_non_null(l.items[0].kind);
        if (n < kinds)
            assert_ptr_equal(l.items[0].kind, kind_at(n));
        request_release(&l);
    }
    assert_int_equal(n, kinds + 3); /* three sets */
    assert_int_equal(fetch_kind_help(SIZE_MAX, &help), -1);
    assert_ptr_equal(kind_find("mem"), kind_find("heap"));
    assert_ptr_equal(kind_of_endpoint("goroutine"), kind_find("goroutines"));
    assert_null(kind_find("profil"));
    assert_null(kind_of_endpoint("cpu"));
}

static void assert_costly_kinds(const char *words, const char *expected)
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
    assert_costly_kinds("heap=gc,goroutines,mutex,allocs,/debug/vars", "");
    assert_costly_kinds("default", "cpu=30s");
    assert_costly_kinds("incident", "cpu=30s trace=5s");
    assert_costly_kinds("all", "cpu=30s");
    assert_costly_kinds("profile=7,heap,mutex=3s,goroutines=text,goroutines=grouped",
                        "cpu=7 mutex=3s goroutines=text");
    assert_costly_kinds("mutex=text,fgprof,/x/debug/pprof/profile?seconds=2",
                        "fgprof=30s /x/debug/pprof/profile?seconds=2");
}

/* A list is compared with itself, and a stranger's manifest may have a million words. */
static void too_many_kinds_are_refused(void **state)
{
    struct buf words = BUF_INIT(10000);
    struct request_list l = {.n = 77};
    struct err err = ERR_INIT;
    (void)state;
    for (int i = 0; i < REQUESTS_MAX; i++)
        buf_addf(&words, "%s/p%d", i ? "," : "", i);
    assert_ok(parse_request(buf_str(&words), &l, &err), &err);
    assert_int_equal(l.n, REQUESTS_MAX);
    request_release(&l);
    buf_adds(&words, ",/p0,/one-more");
    assert_words_refused(buf_str(&words), "a service cannot be asked for more than 100 kinds and paths",
                         "ask for them in several runs");
    buf_release(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_kinds_are_refused),
        cmocka_unit_test(each_kind_is_read_by_its_name),
        cmocka_unit_test(each_form_of_a_kind_is_read),
        cmocka_unit_test(sets_of_kinds_are_read),
        cmocka_unit_test(each_kind_is_requested_once),
        cmocka_unit_test(custom_kinds_and_paths_are_read),
        cmocka_unit_test(wrong_arguments_of_kinds_are_refused),
        cmocka_unit_test(durations_that_go_does_not_support_are_refused),
        cmocka_unit_test(invalid_or_too_long_words_are_refused),
        cmocka_unit_test(the_longest_duration_is_returned),
        cmocka_unit_test(only_text_and_traces_are_compressible),
        cmocka_unit_test(kinds_that_slow_a_process_down_are_listed),
        cmocka_unit_test(the_help_has_a_row_for_each_kind_and_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
