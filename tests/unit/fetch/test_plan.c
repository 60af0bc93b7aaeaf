/* The plan: the request and the file of every kind and form, and their order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "fetch/estimate.h"
#include "fetch/plan.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static char usual_path[] = "/debug/pprof";
static const struct service usual = {.path = usual_path};

/* An index page with these rows: `name count`, separated by commas. */
static struct index_page index_of(const char *rows)
{
    struct index_page page = {0};
    struct strlist l = {0};
    struct err err = ERR_INIT;
    assert_ok(strlist_split(&l, rows, &err), &err);
    page.items = calloc(l.n, sizeof *page.items);
    assert_non_null(page.items);
    for (; page.n < l.n; page.n++) {
        struct index_entry *e = &page.items[page.n];
        size_t name = strcspn(l.items[page.n], " ");
        snprintf(e->name, sizeof e->name, "%.*s", (int)name, l.items[page.n]);
        e->count = l.items[page.n][name] ? strtoll(l.items[page.n] + name, NULL, 10) : -1;
    }
    strlist_release(&l);
    return page;
}

/* The profiles of Go's own index, and two of the program's own. */
static const char go_index[] =
    "allocs 10,block 0,cmdline 0,goroutine 42,heap 10,mutex 0,profile 0,symbol 0,threadcreate 8,"
    "trace 0,team/queue 3,my-profile 1,goroutineleak 0";

/* `rows` NULL: the service has no index page. */
static int plan_with(const struct service *service, const char *words, const char *rows, struct plan *ret,
                     struct err *err)
{
    struct strlist l = {0};
    struct request_list requests;
    struct index_page page = {0};
    if (*words)
        assert_ok(strlist_split(&l, words, err), err);
    assert_ok(request_parse(&l, &requests, err), err);
    if (rows)
        page = index_of(rows);
    int rc = plan_make(service, &requests, rows ? &page : NULL, ret, err);
    index_release(&page);
    request_release(&requests);
    strlist_release(&l);
    return rc;
}

/* `expected` has `request > file` on a line for each item, then the findings. `*` after a file: its ending
 * depends on the type of the body. */
static void assert_plan_of(const struct service *service, const char *words, const char *rows,
                           const char *expected)
{
    struct plan p;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(20000);
    assert_ok(plan_with(service, words, rows, &p, &err), &err);
    for (size_t i = 0; i < p.n; i++)
        buf_addf(&b, "%s > %s%s%s\n", p.items[i].request_target, p.items[i].file,
                 p.items[i].ending_by_type ? "*" : "", p.items[i].absent ? " (absent)" : "");
    for (size_t i = 0; i < p.findings.n; i++)
        buf_addf(&b, "! %s\n", p.findings.items[i].text);
    assert_string_equal(buf_str(&b), expected);
    buf_release(&b);
    plan_release(&p);
    assert_null(p.items);
}

static void assert_plan(const char *words, const char *rows, const char *expected)
{
    assert_plan_of(&usual, words, rows, expected);
}

/* The only item planned for a word. */
static struct plan_item item_of(const char *word)
{
    struct plan p;
    struct err err = ERR_INIT;
    assert_ok(plan_with(&usual, word, go_index, &p, &err), &err);
    assert_int_equal(p.n, 1);
    struct plan_item item = p.items[0];
    plan_release(&p);
    return item;
}

static void assert_planned_as(const char *word, const char *target, const char *file, enum body_format format,
                              int64_t timed_ms)
{
    struct plan_item item = item_of(word);
    assert_string_equal(item.request_target, target);
    assert_string_equal(item.file, file);
    assert_int_equal(item.format, format);
    assert_int_equal(item.timed_ms, timed_ms);
}

static void each_item_has_the_form_of_its_request(void **state)
{
    (void)state;
    assert_int_equal(item_of("heap").form, FORM_BARE);
    assert_int_equal(item_of("heap=gc").form, FORM_GC);
    assert_int_equal(item_of("mutex=5").form, FORM_DELTA);
    assert_int_equal(item_of("cpu=5").form, FORM_BARE);
    assert_int_equal(item_of("goroutines=grouped").form, FORM_GROUPED);
    assert_int_equal(item_of("my-profile").form, FORM_BARE);
    assert_int_equal(item_of("/debug/pprof/heap").form, FORM_BARE);
    assert_int_equal(item_of("/debug/pprof/heap?seconds=5").form, FORM_DELTA);
    assert_int_equal(item_of("/debug/pprof/heap?x=1&seconds=5").form, FORM_DELTA);
    assert_int_equal(item_of("/debug/pprof/heap?max_seconds=5").form, FORM_BARE);
    assert_int_equal(item_of("/debug/pprof/profile?seconds=5").form, FORM_BARE);
}

/* The second of a pair does not take the file name of a custom profile. */
static void the_second_of_a_pair_has_its_own_name(void **state)
{
    (void)state;
    struct plan p;
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(2000);
    assert_ok(
        plan_with(&usual, "all", "heap 1,heap.later 2,allocs 3,allocs.later 4,allocs.later-2 5", &p, &err),
        &err);
    assert_ok(plan_pairs(&p, &err), &err);
    for (size_t i = 0; i < p.n; i++)
        if (p.items[i].pair == 2)
            buf_addf(&b, "%s of %s\n", p.items[i].file, p.items[p.items[i].other_of_pair].file);
    assert_string_equal(buf_str(&b),
                        "heap.later-2.pb.gz of heap.pb.gz\nallocs.later-3.pb.gz of allocs.pb.gz\n");
    buf_release(&b);
    plan_release(&p);
}

static void each_kind_and_form_has_its_path_and_file(void **state)
{
    (void)state;
    assert_planned_as("cpu", "/debug/pprof/profile?seconds=30", "cpu.pb.gz", BODY_PPROF, 30000);
    assert_planned_as("cpu=5", "/debug/pprof/profile?seconds=5", "cpu.pb.gz", BODY_PPROF, 5000);
    assert_planned_as("profile=2m", "/debug/pprof/profile?seconds=120", "cpu.pb.gz", BODY_PPROF, 120000);
    assert_planned_as("trace", "/debug/pprof/trace?seconds=5", "trace.out", BODY_TRACE, 5000);
    assert_planned_as("trace=0.5", "/debug/pprof/trace?seconds=0.500", "trace.out", BODY_TRACE, 500);
    assert_planned_as("trace=1.005s", "/debug/pprof/trace?seconds=1.005", "trace.out", BODY_TRACE, 1005);
    assert_planned_as("heap", "/debug/pprof/heap", "heap.pb.gz", BODY_PPROF, 0);
    assert_planned_as("heap=gc", "/debug/pprof/heap?gc=1", "heap-gc.pb.gz", BODY_PPROF, 0);
    assert_planned_as("allocs", "/debug/pprof/allocs", "allocs.pb.gz", BODY_PPROF, 0);
    assert_planned_as("goroutines=proto", "/debug/pprof/goroutine", "goroutines.pb.gz", BODY_PPROF, 0);
    assert_planned_as("goroutines=grouped", "/debug/pprof/goroutine?debug=1", "goroutines-grouped.txt",
                      BODY_TEXT, 0);
    assert_planned_as("goroutines=text", "/debug/pprof/goroutine?debug=2", "goroutines.txt", BODY_TEXT, 0);
    assert_planned_as("threadcreate", "/debug/pprof/threadcreate", "threadcreate.pb.gz", BODY_PPROF, 0);
    assert_planned_as("threadcreate=text", "/debug/pprof/threadcreate?debug=1", "threadcreate.txt", BODY_TEXT,
                      0);
    assert_planned_as("threadcreate=9s", "/debug/pprof/threadcreate?seconds=9", "threadcreate-delta.pb.gz",
                      BODY_PPROF, 9000);
    assert_planned_as("block", "/debug/pprof/block", "block.pb.gz", BODY_PPROF, 0);
    assert_planned_as("block=text", "/debug/pprof/block?debug=1", "block.txt", BODY_TEXT, 0);
    assert_planned_as("block=9s", "/debug/pprof/block?seconds=9", "block-delta.pb.gz", BODY_PPROF, 9000);
    assert_planned_as("mutex", "/debug/pprof/mutex", "mutex.pb.gz", BODY_PPROF, 0);
    assert_planned_as("mutex=text", "/debug/pprof/mutex?debug=1", "mutex.txt", BODY_TEXT, 0);
    assert_planned_as("mutex=30s", "/debug/pprof/mutex?seconds=30", "mutex-delta.pb.gz", BODY_PPROF, 30000);
    assert_planned_as("cmdline", "/debug/pprof/cmdline", "cmdline.txt", BODY_RAW, 0);
    assert_planned_as("symbol", "/debug/pprof/symbol", "symbol.txt", BODY_TEXT, 0);
    assert_planned_as("goroutineleak", "/debug/pprof/goroutineleak", "goroutineleak.pb.gz", BODY_PPROF, 0);
    assert_planned_as("my-profile", "/debug/pprof/my-profile", "my-profile.pb.gz", BODY_PPROF, 0);
    assert_planned_as("team/queue", "/debug/pprof/team%2Fqueue", "team-queue.pb.gz", BODY_PPROF, 0);
    assert_planned_as("/debug/vars", "/debug/vars", "debug-vars", BODY_RAW, 0);
}

/* At the path of a profile, the body is checked as that profile. At the path of a page, a page is
 * accepted. */
static void a_profile_at_another_path_is_checked_as_a_profile(void **state)
{
    (void)state;
    assert_planned_as("/debug/fgprof?seconds=7", "/debug/fgprof?seconds=7", "debug-fgprof-seconds-7.pb.gz",
                      BODY_PPROF, 7000);
    assert_planned_as("/x/pprof/heap?gc=1", "/x/pprof/heap?gc=1", "x-pprof-heap-gc-1.pb.gz", BODY_PPROF, 0);
    assert_planned_as("/debug/pprof/trace", "/debug/pprof/trace", "debug-pprof-trace.out", BODY_TRACE, 1000);
    assert_planned_as("/debug/pprof/heap?debug=1", "/debug/pprof/heap?debug=1", "debug-pprof-heap-debug-1",
                      BODY_RAW, 0);
    assert_planned_as("/api/profile?seconds=1", "/api/profile?seconds=1", "api-profile-seconds-1", BODY_RAW,
                      1000);
    assert_planned_as("/heap", "/heap", "heap", BODY_RAW, 0);
    assert_planned_as("/debug/requests?fam=x", "/debug/requests?fam=x", "debug-requests-fam-x", BODY_ANY, 0);
    assert_planned_as("/debug/pprof/", "/debug/pprof/", "debug-pprof", BODY_ANY, 0);
    assert_planned_as("/index.html", "/index.html", "index.html", BODY_ANY, 0);
    assert_planned_as("/nosuch", "/nosuch", "nosuch", BODY_RAW, 0);
}

/* A kind that Go's index page always lists, but this page does not, is reported and never requested. */
static void kinds_that_the_index_lacks_are_not_requested(void **state)
{
    (void)state;
    assert_plan("heap,cpu=1,fgprof=2,goroutineleak,allocs", "heap 1,profile 0",
                "/debug/fgprof?seconds=2 > fgprof.pb.gz (absent)\n"
                "/debug/pprof/goroutineleak > goroutineleak.pb.gz (absent)\n"
                "/debug/pprof/allocs > allocs.pb.gz (absent)\n"
                "/debug/pprof/heap > heap.pb.gz\n"
                "/debug/pprof/profile?seconds=1 > cpu.pb.gz\n");
    /* An absent kind takes no time. */
    assert_int_equal(item_of("fgprof=9").timed_ms, 0);
    assert_true(item_of("fgprof=9").absent);
    /* Not every version of Go lists these. */
    assert_plan("cpu=1,trace,cmdline,symbol", "heap 1",
                "/debug/pprof/cmdline > cmdline.txt\n"
                "/debug/pprof/symbol > symbol.txt\n"
                "/debug/pprof/profile?seconds=1 > cpu.pb.gz\n"
                "/debug/pprof/trace?seconds=5 > trace.out\n");
    /* Without a page no kind is absent. */
    assert_plan("fgprof,allocs", NULL,
                "/debug/pprof/allocs > allocs.pb.gz\n/debug/fgprof?seconds=30 > fgprof.pb.gz\n");
    /* A kind on the page is available. `all` does not include fgprof. */
    assert_plan("fgprof=7", "heap 1,fgprof 0", "/debug/pprof/fgprof?seconds=7 > fgprof.pb.gz\n");
    assert_plan("all", "heap 1,fgprof 0,profile 0",
                "/debug/pprof/heap > heap.pb.gz\n/debug/pprof/profile?seconds=30 > cpu.pb.gz\n");
    /* For a kind outside of the service's path, the inventory decides, not the page. */
    char path[] = "/debug/pprof", own[] = "fgprof=5s", other[] = "fg";
    char *kinds[] = {own}, *others[] = {other};
    struct service s = {.path = path, .kinds = {.items = kinds, .n = 1}};
    assert_plan_of(&s, "fgprof", go_index, "/debug/fgprof?seconds=30 > fgprof.pb.gz\n");
    s.kinds.items = others;
    assert_plan_of(&s, "fgprof", go_index, "/debug/fgprof?seconds=30 > fgprof.pb.gz (absent)\n");
}

static void items_keep_the_users_arguments(void **state)
{
    (void)state;
    struct plan_item item = item_of("mutex=30s");
    assert_string_equal(item.kind, "mutex");
    assert_string_equal(item.argument, "30s");
    item = item_of("profile=5");
    assert_string_equal(item.kind, "cpu");
    assert_string_equal(item.argument, "5");
    item = item_of("/debug/vars?x=1");
    assert_string_equal(item.kind, "/debug/vars?x=1");
    item = item_of("team/queue");
    assert_string_equal(item.kind, "team/queue");
}

/* Snapshots, then intrusive kinds, deltas, cpu, trace; within each in the user's order. */
static void intrusive_and_timed_kinds_come_last(void **state)
{
    (void)state;
    assert_plan(
        "trace,cpu,mutex=1s,heap=gc,goroutines=proto,fgprof,block=1s,goroutineleak,heap,/x,my-profile,allocs",
        go_index,
        "/debug/fgprof?seconds=30 > fgprof.pb.gz (absent)\n"
        "/debug/pprof/goroutine > goroutines.pb.gz\n"
        "/debug/pprof/heap > heap.pb.gz\n"
        "/x > x*\n"
        "/debug/pprof/my-profile > my-profile.pb.gz\n"
        "/debug/pprof/allocs > allocs.pb.gz\n"
        "/debug/pprof/heap?gc=1 > heap-gc.pb.gz\n"
        "/debug/pprof/goroutineleak > goroutineleak.pb.gz\n"
        "/debug/pprof/mutex?seconds=1 > mutex-delta.pb.gz\n"
        "/debug/pprof/block?seconds=1 > block-delta.pb.gz\n"
        "/debug/pprof/profile?seconds=30 > cpu.pb.gz\n"
        "/debug/pprof/trace?seconds=5 > trace.out\n");
}

static void timed_paths_are_ordered_like_timed_profiles(void **state)
{
    (void)state;
    assert_plan("/debug/pprof/trace?seconds=2,/x/profile?seconds=7&debug=0,/debug/vars,heap", go_index,
                "/debug/vars > debug-vars*\n"
                "/debug/pprof/heap > heap.pb.gz\n"
                "/x/profile?seconds=7&debug=0 > x-profile-seconds-7-debug-0*\n"
                "/debug/pprof/trace?seconds=2 > debug-pprof-trace-seconds-2.out\n");
    assert_int_equal(item_of("/x/profile?seconds=7&debug=0").timed_ms, 7000);
    assert_int_equal(item_of("/x/profile").timed_ms, 30000);
    assert_int_equal(item_of("/x/profiles").timed_ms, 0);
    assert_int_equal(item_of("/debug/vars?seconds=none").timed_ms, 0);
}

static void sets_of_kinds_are_expanded(void **state)
{
    (void)state;
    static const char usually[] = "/debug/pprof/heap > heap.pb.gz\n"
                                  "/debug/pprof/goroutine > goroutines.pb.gz\n"
                                  "/debug/pprof/goroutine?debug=2 > goroutines.txt\n"
                                  "/debug/pprof/profile?seconds=30 > cpu.pb.gz\n";
    char *incident = format_text("%s/debug/pprof/trace?seconds=5 > trace.out\n", usually);
    assert_plan("", go_index, usually);
    assert_plan("default", go_index, usually);
    assert_plan("incident", go_index, incident);
    free(incident);
    assert_plan("all", go_index,
                "/debug/pprof/allocs > allocs.pb.gz\n"
                "/debug/pprof/block > block.pb.gz\n"
                "/debug/pprof/goroutine > goroutines.pb.gz\n"
                "/debug/pprof/goroutine?debug=2 > goroutines.txt\n"
                "/debug/pprof/heap > heap.pb.gz\n"
                "/debug/pprof/mutex > mutex.pb.gz\n"
                "/debug/pprof/threadcreate > threadcreate.pb.gz\n"
                "/debug/pprof/team%2Fqueue > team-queue.pb.gz\n"
                "/debug/pprof/my-profile > my-profile.pb.gz\n"
                "/debug/pprof/profile?seconds=30 > cpu.pb.gz\n");
    /* Kinds that cost or reveal more are only fetched by name. */
    assert_plan("all,cmdline", "heap 1,cmdline 0,goroutineleak 0,trace 0,symbol 0,profile 0",
                "/debug/pprof/heap > heap.pb.gz\n"
                "/debug/pprof/cmdline > cmdline.txt\n"
                "/debug/pprof/profile?seconds=30 > cpu.pb.gz\n");
}

static void each_request_is_planned_once(void **state)
{
    (void)state;
    assert_plan("goroutines,goroutines=proto,goroutines=text", go_index,
                "/debug/pprof/goroutine > goroutines.pb.gz\n"
                "/debug/pprof/goroutine?debug=2 > goroutines.txt\n");
    assert_plan("goroutines=text,goroutines", go_index,
                "/debug/pprof/goroutine?debug=2 > goroutines.txt\n"
                "/debug/pprof/goroutine > goroutines.pb.gz\n");
    assert_plan("all,my-profile,heap,heap=gc", "my-profile 1,heap 1",
                "/debug/pprof/my-profile > my-profile.pb.gz\n"
                "/debug/pprof/heap > heap.pb.gz\n"
                "/debug/pprof/heap?gc=1 > heap-gc.pb.gz\n"
                "/debug/pprof/profile?seconds=30 > cpu.pb.gz\n");
}

/* Returns whether the plan's first item, a heap profile, is marked because the plan has another with gc=1. */
static bool plan_has_gc_heap(const char *words)
{
    struct plan p;
    struct err err = ERR_INIT;
    assert_ok(plan_with(&usual, words, go_index, &p, &err), &err);
    bool marked = p.items[0].plan_has_gc_heap;
    plan_release(&p);
    return marked;
}

static void a_heap_profile_is_marked_if_one_with_gc_is_planned(void **state)
{
    (void)state;
    assert_false(plan_has_gc_heap("heap"));
    assert_false(plan_has_gc_heap("allocs,heap=gc"));
    assert_true(plan_has_gc_heap("heap,heap=gc"));
    assert_true(plan_has_gc_heap("heap=gc,heap"));
}

static void file_names_of_a_plan_are_unique(void **state)
{
    (void)state;
    assert_plan("cpu=1,cpu=2,cpu=3", go_index,
                "/debug/pprof/profile?seconds=1 > cpu.pb.gz\n"
                "/debug/pprof/profile?seconds=2 > cpu-2.pb.gz\n"
                "/debug/pprof/profile?seconds=3 > cpu-3.pb.gz\n");
    /* The format of a raw path is unknown until the answer arrives. */
    assert_plan("mutex=text,/mutex,/mutex.txt", go_index,
                "/debug/pprof/mutex?debug=1 > mutex.txt\n"
                "/mutex > mutex-2*\n"
                "/mutex.txt > mutex.txt-2*\n");
    assert_plan("a/b,a-b", "a/b 1,a-b 1",
                "/debug/pprof/a%2Fb > a-b.pb.gz\n"
                "/debug/pprof/a-b > a-b-2.pb.gz\n");
    assert_plan("/a/b,/a-b,/a?b", go_index,
                "/a/b > a-b*\n"
                "/a-b > a-b-2*\n"
                "/a?b > a-b-3*\n");
}

static void many_goroutines_are_grouped(void **state)
{
    (void)state;
    static const char few[] = "/debug/pprof/goroutine > goroutines.pb.gz\n"
                              "/debug/pprof/goroutine?debug=2 > goroutines.txt\n";
    assert_plan("goroutines", "goroutine 0", few);
    assert_plan("goroutines", "goroutine 10000", few);
    assert_plan(
        "goroutines", "goroutine 10001",
        "/debug/pprof/goroutine > goroutines.pb.gz\n"
        "/debug/pprof/goroutine?debug=1 > goroutines-grouped.txt\n"
        "! the process has 10001 goroutines, more than 10000: their text is grouped by stack, because a "
        "full dump would stop the process for long\n");
    /* A kind requested by name is fetched. */
    assert_plan("goroutines=text", "goroutine 5000000", "/debug/pprof/goroutine?debug=2 > goroutines.txt\n");
    static const char unknown[] =
        "/debug/pprof/goroutine > goroutines.pb.gz\n"
        "! no text dump of the goroutines was taken: without a count from the index page it "
        "might be costly\n";
    assert_plan("goroutines", "goroutine", unknown);
    assert_plan("goroutines", "heap 1", "/debug/pprof/goroutine > goroutines.pb.gz (absent)\n");
    assert_plan("goroutines", NULL, unknown);
}

static void all_kinds_are_requested_without_an_index(void **state)
{
    (void)state;
    assert_plan("cpu=1,mutex,trace,/x", NULL,
                "/debug/pprof/mutex > mutex.pb.gz\n"
                "/x > x*\n"
                "/debug/pprof/profile?seconds=1 > cpu.pb.gz\n"
                "/debug/pprof/trace?seconds=5 > trace.out\n");
    assert_plan("all", NULL,
                "/debug/pprof/heap > heap.pb.gz\n"
                "/debug/pprof/allocs > allocs.pb.gz\n"
                "/debug/pprof/goroutine > goroutines.pb.gz\n"
                "/debug/pprof/threadcreate > threadcreate.pb.gz\n"
                "/debug/pprof/block > block.pb.gz\n"
                "/debug/pprof/mutex > mutex.pb.gz\n"
                "/debug/pprof/profile?seconds=30 > cpu.pb.gz\n"
                "! no text dump of the goroutines was taken: without a count from the index page it might be "
                "costly\n");
}

static void kinds_are_planned_below_another_path(void **state)
{
    (void)state;
    char deep[] = "/svc/a/debug/pprof", short_[] = "/p", root[] = "";
    struct service s = {.path = deep};
    assert_plan_of(&s, "heap,fgprof=1", NULL,
                   "/svc/a/debug/pprof/heap > heap.pb.gz\n/svc/a/debug/fgprof?seconds=1 > fgprof.pb.gz\n");
    s.path = short_;
    assert_plan_of(&s, "heap,fgprof=1", NULL, "/p/heap > heap.pb.gz\n/fgprof?seconds=1 > fgprof.pb.gz\n");
    s.path = root;
    assert_plan_of(&s, "heap,fgprof=1", NULL, "/heap > heap.pb.gz\n/fgprof?seconds=1 > fgprof.pb.gz\n");
}

static void assert_kind_unknown(const char *words, const char *rows, const char *name, const char *hint)
{
    struct plan p = {.n = 77};
    struct err err = ERR_INIT;
    char *msg = format_text("unknown kind \"%s\"; nothing was fetched from this service", name);
    assert_refused(plan_with(&usual, words, rows, &p, &err), &err, ERR_USAGE, msg);
    assert_string_equal(err.hint, hint);
    assert_int_equal(p.n, 77);
    free(msg);
}

static void unknown_kinds_get_suggestions(void **state)
{
    (void)state;
    assert_kind_unknown("heap,haep", "heap 1,goroutine 2,profile 0,my-profile 1", "haep",
                        "did you mean \"heap\"? the target offers heap, goroutines, cpu, my-profile");
    assert_kind_unknown("my-profil", "heap 1,my-profile 1", "my-profil",
                        "did you mean \"my-profile\"? the target offers heap, my-profile");
    assert_kind_unknown("xyzzy", "heap 1", "xyzzy", "the target offers heap");
    assert_kind_unknown(
        "gorutines", NULL, "gorutines",
        "did you mean \"goroutines\"? the target has no index page to find other profiles by");
    assert_kind_unknown("xyzzy", NULL, "xyzzy", "the target has no index page to find other profiles by");
    /* A long index is cut in the hint, not in the message. */
    struct buf rows = BUF_INIT(100000);
    for (int i = 0; i < 1000; i++)
        buf_addf(&rows, "%sprofile-number-%d 1", i ? "," : "", i);
    struct plan p;
    struct err err = ERR_INIT;
    assert_int_equal(plan_with(&usual, "xyzzy", buf_str(&rows), &p, &err), -1);
    assert_contains(err.hint, "the target offers profile-number-0, profile-number-1, ");
    buf_release(&rows);
}

/* For any name, the file stays in its directory and the request is one line. */
static void file_names_of_hostile_kinds_are_safe(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"/../../etc/passwd", "etc-passwd"},
                                           {"/.", "profile"},
                                           {"/", "profile"},
                                           {"/---", "profile"},
                                           {"/a%2e%2e/b", "a-2e-2e-b"},
                                           {"/a/..", "a-.."},
                                           {"/;rm$(x)`y`|z", "rm--x--y--z"},
                                           {"/.hidden", "hidden"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct plan_item item = item_of(files[i][0]);
        assert_string_equal(item.request_target, files[i][0]);
        assert_string_equal(item.file, files[i][1]);
    }
    assert_plan("a%2e", "a%2e 1", "/debug/pprof/a%252e > a-2e.pb.gz\n");
    assert_plan("a?b&c", "a?b&c 1", "/debug/pprof/a%3Fb%26c > a-b-c.pb.gz\n");
}

static void file_names_of_long_kinds_are_cut(void **state)
{
    (void)state;
    char name[256], rows[256];
    struct plan p;
    struct err err = ERR_INIT;
    memset(name, '/', sizeof name);
    for (size_t i = 1; i < sizeof name; i += 2)
        name[i] = 'n';
    name[255] = '\0';
    assert_ok(plan_with(&usual, name, NULL, &p, &err), &err);
    assert_string_equal(p.items[0].request_target, name);
    assert_true(strlen(p.items[0].file) <= 130);
    plan_release(&p);
    /* The longest name of an index, with every second letter escaped. */
    snprintf(rows, sizeof rows, "%.127s 1", name + 1);
    name[128] = '\0';
    assert_ok(plan_with(&usual, name + 1, rows, &p, &err), &err);
    assert_int_equal(strlen(p.items[0].request_target), strlen("/debug/pprof/") + 64 + 63 * 3);
    plan_release(&p);
}

/* ---- estimates --------------------------------------------------------------------------------------- */

static uint64_t estimate_size(const char *word, const char *rows)
{
    struct plan p;
    struct err err = ERR_INIT;
    struct index_page page = {0};
    assert_ok(plan_with(&usual, word, rows, &p, &err), &err);
    if (rows)
        page = index_of(rows);
    uint64_t bytes = estimate_bytes(&p.items[0], rows ? &page : NULL);
    index_release(&page);
    plan_release(&p);
    return bytes;
}

/* The estimates have the magnitude of the bodies of node_exporter and caddy: 2.8 kB for 14 records, 3.2 kB
 * for 4 goroutines. */
static void estimates_follow_the_index(void **state)
{
    (void)state;
    assert_in_range(estimate_size("heap", "heap 14"), 1400, 5700);
    assert_in_range(estimate_size("mem", "heap 14"), 1400, 5700);
    assert_in_range(estimate_size("goroutines=text", "goroutine 4"), 1600, 6500);
    assert_in_range(estimate_size("goroutines=text", "goroutine 9000"), 3000000, 13000000);
    assert_in_range(estimate_size("goroutines=grouped", "goroutine 4"), 1400, 5600);
    assert_in_range(estimate_size("threadcreate=text", "threadcreate 4"), 1400, 5600);
    assert_in_range(estimate_size("symbol", NULL), 20, 20);
    assert_in_range(estimate_size("mine", "mine 100"), 5000, 30000);
    assert_true(estimate_size("heap", "heap 1000") > estimate_size("heap", "heap 100"));
    assert_true(estimate_size("trace=10", go_index) > estimate_size("trace=1", go_index));
    assert_true(estimate_size("trace=1", go_index) > estimate_size("cpu=10", go_index));
}

static void the_estimate_of_a_goroutine_profile_stops_growing(void **state)
{
    (void)state;
    assert_int_equal(estimate_size("goroutines=proto", "goroutine 1000"),
                     estimate_size("goroutines=proto", "goroutine 100000"));
}

static void sizes_are_estimated_without_an_index(void **state)
{
    (void)state;
    assert_in_range(estimate_size("heap", NULL), 1, 1000);
    assert_int_equal(estimate_size("cpu=30", NULL), estimate_size("cpu=30", go_index));
}

/* The counts of an index may be any numbers. */
static void estimates_stay_below_the_limit(void **state)
{
    (void)state;
    assert_int_equal(estimate_size("heap", "heap 9223372036854775807"), UINT64_C(512) << 20);
    assert_int_equal(estimate_size("goroutines=text", "goroutine 123456789012345678"), UINT64_C(512) << 20);
    assert_int_equal(estimate_size("trace=24h", go_index), UINT64_C(2048) << 20);
    assert_in_range(estimate_size("heap", "heap"), 1, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_and_form_has_its_path_and_file),
        cmocka_unit_test(each_item_has_the_form_of_its_request),
        cmocka_unit_test(a_profile_at_another_path_is_checked_as_a_profile),
        cmocka_unit_test(kinds_that_the_index_lacks_are_not_requested),
        cmocka_unit_test(the_second_of_a_pair_has_its_own_name),
        cmocka_unit_test(items_keep_the_users_arguments),
        cmocka_unit_test(intrusive_and_timed_kinds_come_last),
        cmocka_unit_test(sets_of_kinds_are_expanded),
        cmocka_unit_test(timed_paths_are_ordered_like_timed_profiles),
        cmocka_unit_test(each_request_is_planned_once),
        cmocka_unit_test(a_heap_profile_is_marked_if_one_with_gc_is_planned),
        cmocka_unit_test(file_names_of_a_plan_are_unique),
        cmocka_unit_test(many_goroutines_are_grouped),
        cmocka_unit_test(all_kinds_are_requested_without_an_index),
        cmocka_unit_test(kinds_are_planned_below_another_path),
        cmocka_unit_test(unknown_kinds_get_suggestions),
        cmocka_unit_test(file_names_of_hostile_kinds_are_safe),
        cmocka_unit_test(file_names_of_long_kinds_are_cut),
        cmocka_unit_test(estimates_follow_the_index),
        cmocka_unit_test(the_estimate_of_a_goroutine_profile_stops_growing),
        cmocka_unit_test(sizes_are_estimated_without_an_index),
        cmocka_unit_test(estimates_stay_below_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
