/* fetch/finding.c: each rule adds its sentence if it applies, and nothing otherwise. */
#include "fetch/finding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct http_response ok_response = {.status = 200};

/* Returns the sentences of one item, each on a line as `rule: text`; valid until the next call. */
static const char *findings_text(const struct evidence *e)
{
    static char text[4000];
    struct findings l = {0};
    size_t n = 0;
    text[0] = '\0';
    fetch_finding_check(&l, e);
    for (size_t i = 0; i < l.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s: %s\n", l.items[i].rule->id, l.items[i].text);
    findings_release(&l);
    return text;
}

static struct fetch_item profile_item(const char *kind, const char *type, const char *unit, int64_t total)
{
    struct fetch_item item = {.status = FETCH_OK, .has_profile = true, .bytes = 100};
    snprintf(item.kind, sizeof item.kind, "%s", kind);
    snprintf(item.request, sizeof item.request, "GET /debug/pprof/%s", kind);
    item.profile.n_types = 1;
    item.profile.samples = 10;
    item.profile.types[0].total = total;
    snprintf(item.profile.types[0].type, sizeof item.profile.types[0].type, "%s", type);
    snprintf(item.profile.types[0].unit, sizeof item.profile.types[0].unit, "%s", unit);
    return item;
}

static struct evidence evidence_of(const struct fetch_item *item)
{
    static const struct plan_item plan = {.timed_ms = 0};
    return (struct evidence){.item = item, .plan = &plan, .response = &ok_response};
}

static void assert_item_findings(const struct fetch_item *item, const char *expected)
{
    struct evidence e = evidence_of(item);
    assert_string_equal(findings_text(&e), expected);
}

static void an_empty_contention_profile_is_explained(void **state)
{
    (void)state;
    struct fetch_item mutex = profile_item("mutex", "contentions", "count", 0);
    assert_item_findings(&mutex, "");
    mutex.profile.samples = 0;
    assert_item_findings(
        &mutex, "contention-off: the mutex profile is empty: mutex profiling is off in this process, or "
                "nothing waited\n");
    struct fetch_item block = profile_item("block", "contentions", "count", 0);
    block.profile.samples = 0;
    assert_item_findings(
        &block, "contention-off: the block profile is empty: block profiling is off in this process, or "
                "nothing waited\n");
}

static void the_share_of_cpu_is_reported(void **state)
{
    (void)state;
    struct fetch_item item = profile_item("cpu", "cpu", "nanoseconds", 300000000);
    assert_item_findings(&item, ""); /* without a duration, no share is known */
    item.profile.duration_ns = 10000000000;
    assert_item_findings(&item, "cpu-share: CPU was 3.0 % busy (100 % is one core)\n");
    item.profile.types[0].total = 35000000000;
    assert_item_findings(&item, "cpu-share: CPU was 350 % busy (100 % is one core)\n");
    snprintf(item.go_version, sizeof item.go_version, "1.17.3");
    assert_non_null(
        strstr(findings_text(&(struct evidence){
                   .item = &item, .plan = &(struct plan_item){.timed_ms = 0}, .response = &ok_response}),
               "cpu-undercounted: built with Go 1.17.3: before 1.18"));
    snprintf(item.go_version, sizeof item.go_version, "1.18");
    struct evidence newer = evidence_of(&item);
    assert_null(strstr(findings_text(&newer), "undercounted"));
    item.profile.samples = 0;
    item.go_version[0] = '\0';
    assert_item_findings(&item, "cpu-idle: the CPU profile has no samples: the process used almost no CPU\n");
}

static void a_profile_shorter_than_requested_is_reported(void **state)
{
    (void)state;
    struct fetch_item item = profile_item("cpu", "samples", "count", 5);
    struct plan_item plan = {.timed_ms = 30000};
    struct evidence e = {.item = &item, .plan = &plan, .response = &ok_response};
    item.profile.duration_ns = 29000000000;
    assert_string_equal(findings_text(&e), "");
    item.profile.duration_ns = 2100000000;
    assert_string_equal(findings_text(&e), "short-window: the profile covers 2.1s of the requested 30s\n");
}

static void a_heap_without_a_collection_is_reported(void **state)
{
    (void)state;
    struct fetch_item item = profile_item("heap", "inuse_space", "bytes", 100);
    assert_item_findings(
        &item, "heap-last-gc: memory in use is that of the last finished garbage collection; heap=gc would "
               "run one first\n");
    const struct plan_item beside_gc = {.plan_has_gc_heap = true};
    struct evidence e = {.item = &item, .plan = &beside_gc, .response = &ok_response};
    assert_string_equal(findings_text(&e),
                        "heap-last-gc: memory in use is that of the last finished garbage collection\n");
    const struct plan_item after_gc = {.form = FORM_GC, .plan_has_gc_heap = true};
    e.plan = &after_gc;
    assert_string_equal(findings_text(&e), "");
    const struct plan_item delta = {.form = FORM_DELTA, .timed_ms = 5000};
    e.plan = &delta;
    item.profile.types[0].total = -7;
    assert_string_equal(
        findings_text(&e),
        "delta-in-use: this is a difference over time: it shows how memory in use changed, which may be "
        "negative; take two snapshots instead\n"
        "negative: the sum of inuse_space is negative: this is a difference of two profiles\n");
}

static void cut_stacks_are_reported(void **state)
{
    (void)state;
    struct fetch_item item = profile_item("goroutines", "goroutine", "count", 10);
    item.profile.max_depth = 31;
    item.profile.samples_at_max = 4;
    assert_item_findings(&item, "");
    item.profile.max_depth = 32;
    assert_item_findings(
        &item, "stack-cut: 4 of 10 stacks have 32 frames, where Go stops: their outermost callers may be "
               "missing\n");
    struct fetch_item of_cpu = profile_item("cpu", "samples", "count", 10);
    of_cpu.profile.max_depth = 32;
    assert_item_findings(&of_cpu, "");
    of_cpu.profile.max_depth = 64;
    struct evidence e = evidence_of(&of_cpu);
    assert_non_null(strstr(findings_text(&e), "stack-cut: "));
}

static void old_versions_of_go_are_reported(void **state)
{
    (void)state;
    struct fetch_item item = profile_item("mutex", "contentions", "count", 10);
    static const struct {
        const char *version;
        bool old;
    } rows[] = {{"1.19.8", true},        {"1.19 or 1.20", true}, {"1.21", true},  {"1.22", false},
                {"1.23 or 1.24", false}, {">= 1.25", false},     {"devel", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(item.go_version, sizeof item.go_version, "%s", rows[i].version);
        struct evidence e = evidence_of(&item);
        const char *text = findings_text(&e);
        assert_non_null(strstr(text, "go-version: built with Go "));
        assert_int_equal(strstr(text, "mutex-old-go: ") != NULL, rows[i].old);
    }
}

static void circumstances_of_the_request_are_reported(void **state)
{
    (void)state;
    struct fetch_item item = {
        .status = FETCH_OK, .bytes = 10, .kind = "/debug/vars", .content_type = "text/html"};
    struct plan_item plan = {.timed_ms = 0};
    struct http_response again = {.status = 200, .reconnected = true};
    struct evidence e = {.item = &item,
                         .plan = &plan,
                         .response = &again,
                         .waited_ms = 3000,
                         .concurrent_kinds = "trace, block"};
    assert_string_equal(
        findings_text(&e),
        "html-page: this is an HTML page, perhaps a login page, not the requested answer\n"
        "reconnected: fetched over a new connection, since the one before had closed: it may come "
        "from another process than what came before\n"
        "waited: another client was profiling this process: this profile could begin only after 3s\n"
        "beside: taken at the same time as trace, block: each shows the other's work too\n");
    item.bytes = 0;
    item.status = FETCH_FAILED;
    assert_string_equal(findings_text(&e), "");
}

static void different_builds_in_one_target_are_reported(void **state)
{
    (void)state;
    char known[128] = "";
    struct fetch_item first = profile_item("heap", "inuse_space", "bytes", 1);
    struct fetch_item second = profile_item("cpu", "cpu", "nanoseconds", 1);
    fetch_finding_check_build(&first, known); /* one without a build id */
    assert_string_equal(known, "");
    snprintf(first.profile.build_id, sizeof first.profile.build_id, "aaaa");
    snprintf(second.profile.build_id, sizeof second.profile.build_id, "bbbb");
    fetch_finding_check_build(&first, known);
    fetch_finding_check_build(&first, known);
    assert_int_equal(first.findings.n, 0);
    fetch_finding_check_build(&second, known);
    assert_int_equal(second.findings.n, 1);
    assert_string_equal(second.findings.items[0].text,
                        "the program's build id changed from aaaa to bbbb between two "
                        "items: they come from different builds");
    findings_release(&second.findings);
}

static void a_wrong_clock_is_reported(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, NULL},
                {4999, NULL},
                {-4999, NULL},
                {12400, "its clock is 12s ahead of this workstation's"},
                {-61000, "its clock is 1m1s behind this workstation's"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings l = {0};
        fetch_finding_add_skew(&l, rows[i].ms);
        assert_int_equal(l.n, rows[i].text != NULL);
        if (rows[i].text)
            assert_string_equal(l.items[0].text, rows[i].text);
        findings_release(&l);
    }
}

/* Each finding that other code adds by its number has a row in the table. */
static void every_finding_has_a_text(void **state)
{
    (void)state;
    struct findings l = {0}, more = {0};
    for (int i = 1; i < FETCH_FINDING_END; i++)
        assert_int_equal(fetch_finding_add(i % 2 ? &l : &more, (enum fetch_finding)i, "one", "two", NULL), 0);
    assert_int_equal(fetch_finding_add(&l, FETCH_FINDING_END, NULL, NULL, NULL), -1);
    findings_move(&l, &more);
    assert_int_equal(l.n, FETCH_FINDING_END - 1);
    assert_int_equal(more.n, 0);
    for (size_t i = 0; i < l.n; i++)
        assert_null(strchr(l.items[i].text, '{'));
    findings_release(&l);
}

/* The documentation is made from the table. The table is complete, and repeats no name or number. */
static void the_table_of_findings_is_complete(void **state)
{
    (void)state;
    const struct finding_rule *a, *b;
    size_t n = 0;
    for (; (a = fetch_rule(n)); n++) {
        assert_true(a->id[0] && a->sentence[0] && a->evidence[0] && a->source[0]);
        assert_int_equal(a->topic, FINDING_TOPIC_BODY);
        assert_true((a->number == 0) == (a->apply != NULL));
        for (size_t i = 0; i < n; i++) {
            b = fetch_rule(i);
            assert_string_not_equal(a->id, b->id);
            assert_true(a->number == 0 || a->number != b->number);
        }
    }
    assert_true(n > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_contention_profile_is_explained),
        cmocka_unit_test(the_share_of_cpu_is_reported),
        cmocka_unit_test(a_profile_shorter_than_requested_is_reported),
        cmocka_unit_test(a_heap_without_a_collection_is_reported),
        cmocka_unit_test(cut_stacks_are_reported),
        cmocka_unit_test(old_versions_of_go_are_reported),
        cmocka_unit_test(different_builds_in_one_target_are_reported),
        cmocka_unit_test(a_wrong_clock_is_reported),
        cmocka_unit_test(circumstances_of_the_request_are_reported),
        cmocka_unit_test(every_finding_has_a_text),
        cmocka_unit_test(the_table_of_findings_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
