/* Comparisons of profiles: two sides, two snapshots, hosts of one service. All figures were computed by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <jansson.h>

#include "page/data.h"
#include "findings/rules.h"
#include "tests/unit/profile_make.h"
#include "tests/unit/profile_stacks.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

/* ---- helpers ----------------------------------------------------------------------------------------- */

static int64_t sum_of(const struct profile *p, size_t type)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n_samples; i++)
        sum += p->values[i * p->n_sample_types + type];
    return sum;
}

static const struct finding *find_finding(const struct findings *findings, const char *rule)
{
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->items[i].rule->id, rule) == 0)
            return &findings->items[i];
    return NULL;
}

static void assert_finding(const struct findings *findings, const char *rule, const char *text,
                           const char *look)
{
    const struct finding *found = find_finding(findings, rule);
    if (!found)
        fail_msg("there is no finding of the rule %s", rule);
    assert_string_equal(found->text, text);
    assert_string_equal(found->look_at ? found->look_at : "", look);
}

/* ---- two sides --------------------------------------------------------------------------------------- */

/* Adds the profile to one side and frees it. */
static void add_profile(struct comparison *s, enum comparison_side side, struct profile *p)
{
    struct err err = ERR_INIT;
    assert_ok(comparison_add(s, side, p, &err), &err);
    profile_free(p);
}

static void finish_comparison(struct comparison *s)
{
    struct err err = ERR_INIT;
    assert_ok(comparison_finish(s, &err), &err);
}

static struct findings findings_of_comparison(const struct comparison *s, const char *kind)
{
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    struct finding_subject subject = {.host = "file-03",
                                      .service = "gitaly",
                                      .kind = kind,
                                      .file = "f",
                                      .target = "file-03",
                                      .baseline = "file-07"};
    assert_ok(findings_add_comparison(&findings, s, &subject, &err), &err);
    return findings;
}

static void a_function_with_a_larger_share_is_found(void **state)
{
    struct comparison s = {0};
    (void)state;
    add_profile(&s, COMPARISON_TARGET, hot_profile(410, 1000));
    add_profile(&s, COMPARISON_BASELINE, hot_profile(30, 1000));
    finish_comparison(&s);
    assert_int_equal(s.n_types, 2);
    assert_int_equal(comparison_basis_of(&s, 1), COMPARISON_SHARE);
    /* Without labels, samples of the same stack are one. */
    assert_int_equal(s.all->n_samples, 2);
    assert_int_equal(sum_of(s.all, comparison_column(&s, 0, COMPARISON_TARGET)), 1000);
    assert_int_equal(sum_of(s.all, comparison_column(&s, 0, COMPARISON_BASELINE)), 1000);
    assert_true(comparison_scale(&s, 0, COMPARISON_TARGET) == 0.001);
    struct findings findings = findings_of_comparison(&s, "cpu");
    assert_finding(&findings, "against-cpu",
                   "file-03 spends 41 % of the CPU time in main.hot, file-07 3.0 %; CPU was 100 % and 100 % "
                   "busy (100 % is "
                   "one core)",
                   "main.hot");
    assert_null(find_finding(&findings, "against-alike"));
    findings_release(&findings);
    comparison_release(&s);
}

/* Shares of 41 % and 25 % may differ by chance if they are of 50 samples, but not if they are of 2,000. */
static void differences_within_chance_are_not_found(void **state)
{
    (void)state;
    for (int64_t n = 50; n <= 2000; n *= 40) {
        struct comparison s = {0};
        add_profile(&s, COMPARISON_TARGET, hot_profile(n * 41 / 100, n));
        add_profile(&s, COMPARISON_BASELINE, hot_profile(n * 25 / 100, n));
        finish_comparison(&s);
        struct findings findings = findings_of_comparison(&s, "cpu");
        assert_int_equal(find_finding(&findings, "against-cpu") != NULL, n == 2000);
        assert_int_equal(find_finding(&findings, "against-alike") != NULL, n == 50);
        findings_release(&findings);
        comparison_release(&s);
    }
}

/* Makes a CPU profile with `n_stacks` different stacks, at most 2^18, which is more than a side can take.
 * Each stack has three of the functions main.f0 to main.f63. */
static struct profile *large_profile(size_t n_stacks)
{
    struct err err = ERR_INIT;
    struct profile *p = cpu_profile();
    for (uint32_t i = 0; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof name, "main.f%u", i);
        add_cpu_samples(p, name, 1);
    }
    for (uint32_t i = 0; i < n_stacks; i++) {
        const uint32_t stack[] = {i % 64, i / 64 % 64, i / 4096};
        assert_ok(
            profile_add_sample(
                p, &(struct profile_new_sample){stack, 3, (const int64_t[]){1, 10000000}, NULL, 0}, &err),
            &err);
    }
    return p;
}

/* A full side does not affect later profiles of the other side, which has its own limit. */
static void a_full_side_does_not_limit_the_other(void **state)
{
    struct comparison s = {0};
    (void)state;
    add_profile(&s, COMPARISON_TARGET, large_profile(1 << 18));
    const struct profile *whole = NULL;
    for (int i = 0; i < 3; i++) {
        struct err err = ERR_INIT;
        struct profile *p = hot_profile(410, 1000);
        assert_int_equal(comparison_add(&s, COMPARISON_TARGET, p, &err), -1);
        assert_int_equal(err.kind, ERR_FAILED);
        profile_free(p);
        /* The full side is not merged again for each profile. */
        if (whole)
            assert_ptr_equal(s.sides[COMPARISON_TARGET].parts[COMPARISON_PARTS - 1], whole);
        whole = s.sides[COMPARISON_TARGET].parts[COMPARISON_PARTS - 1];
        assert_non_null(whole);
    }
    add_profile(&s, COMPARISON_BASELINE, hot_profile(30, 1000));
    finish_comparison(&s);
    assert_int_equal(s.sides[COMPARISON_TARGET].n_processes, 1);
    assert_true(comparison_has_both(&s));
    comparison_release(&s);
}

/* Makes a CPU profile. If `busier`, main.serve has 42 % of the CPU time instead of 30 %, and main.read, which
 * it calls, has 29.7 % instead of 20 %. */
static struct profile *served_profile(bool busier)
{
    struct profile *p = cpu_profile();
    add_cpu_samples(p, "main.read main.serve main.main", busier ? 297000 : 200000);
    add_cpu_samples(p, "main.serve main.main", busier ? 123000 : 100000);
    add_cpu_samples(p, "main.cold main.main", busier ? 580000 : 700000);
    return p;
}

/* A callee below the threshold does not hide its caller. */
static void a_caller_of_small_functions_is_found(void **state)
{
    struct comparison s = {0};
    (void)state;
    add_profile(&s, COMPARISON_TARGET, served_profile(true));
    add_profile(&s, COMPARISON_BASELINE, served_profile(false));
    finish_comparison(&s);
    struct findings findings = findings_of_comparison(&s, "cpu");
    assert_non_null(find_finding(&findings, "against-cpu"));
    assert_string_equal(find_finding(&findings, "against-cpu")->look_at, "main.serve");
    assert_null(find_finding(&findings, "against-alike"));
    findings_release(&findings);
    comparison_release(&s);
}

/* A hostile profile may have any values. */
static void extreme_values_give_no_negative_figures(void **state)
{
    struct comparison s = {0};
    (void)state;
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        struct profile *p = heap_profile(1);
        int64_t n = side == COMPARISON_TARGET ? INT64_MAX : 1;
        add_sample(p, "main.a", (const int64_t[]){n, n, n, n}, NULL);
        add_profile(&s, (enum comparison_side)side, p);
    }
    finish_comparison(&s);
    struct findings findings = findings_of_comparison(&s, "heap");
    assert_non_null(find_finding(&findings, "against-heap"));
    assert_null(strstr(find_finding(&findings, "against-heap")->text, " -"));
    findings_release(&findings);
    comparison_release(&s);
}

/* Makes a profile of 1000 waits of one second each, of which `locked` are in main.lock. */
static struct profile *delay_profile(int64_t locked)
{
    struct profile *p =
        profile_with_types((const char *const[]){"contentions", "count", "delay", "nanoseconds", NULL});
    add_sample(p, "main.lock main.main", (const int64_t[]){locked, locked * SECOND}, NULL);
    add_sample(p, "main.other main.main", (const int64_t[]){1000 - locked, (1000 - locked) * SECOND}, NULL);
    return p;
}

static void block_and_mutex_profiles_are_reported_by_name(void **state)
{
    static const char *const kinds[] = {"mutex", "block"};
    struct findings all = FINDINGS_INIT;
    struct err err = ERR_INIT;
    (void)state;
    for (int64_t i = 0; i < 2; i++) {
        struct comparison s = {0};
        struct finding_subject subject = {
            .host = "a", .service = "s", .kind = kinds[i], .file = "f", .target = "a", .baseline = "b"};
        add_profile(&s, COMPARISON_TARGET, delay_profile(900 - i * 10));
        add_profile(&s, COMPARISON_BASELINE, delay_profile(100));
        finish_comparison(&s);
        assert_ok(findings_add_comparison(&all, &s, &subject, &err), &err);
        comparison_release(&s);
    }
    assert_ok(findings_finish(&all, &err), &err);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.items[0].text,
                        "a waited 90 % of all waiting time in main.lock, b 10 % (mutex profile)");
    assert_string_equal(all.items[1].text,
                        "a waited 89 % of all waiting time in main.lock, b 10 % (block profile)");
    findings_release(&all);
}

/* The difference of two heaps is not a heap. */
static void differences_of_heaps_are_not_compared_as_heaps(void **state)
{
    struct comparison s = {0};
    (void)state;
    for (int side = COMPARISON_TARGET; side <= COMPARISON_BASELINE; side++) {
        struct profile *p = heap_profile(1);
        add_heap_sample(p, "main.keep main.main", 2000, side == COMPARISON_TARGET ? 1000 : 10);
        p->duration_ns = 30 * SECOND;
        add_profile(&s, (enum comparison_side)side, p);
    }
    finish_comparison(&s);
    assert_int_equal(comparison_basis_of(&s, 3), COMPARISON_SECOND);
    struct findings findings = findings_of_comparison(&s, "heap");
    assert_null(find_finding(&findings, "against-heap"));
    findings_release(&findings);
    comparison_release(&s);
}

/* Three healthy processes count as one process: each has the weight of a third. */
static void several_processes_of_a_side_count_as_one(void **state)
{
    struct comparison s = {0};
    struct profile *p = heap_profile(1);
    (void)state;
    add_heap_sample(p, "main.keep main.main", 2000, 1000);
    add_profile(&s, COMPARISON_TARGET, p);
    for (int i = 0; i < 3; i++) {
        p = heap_profile(1);
        add_heap_sample(p, "main.keep main.main", 2000, 100);
        add_heap_sample(p, "main.other main.main", 10, 5);
        add_profile(&s, COMPARISON_BASELINE, p);
    }
    finish_comparison(&s);
    assert_int_equal(s.sides[COMPARISON_BASELINE].n_processes, 3);
    assert_int_equal(comparison_basis_of(&s, 3), COMPARISON_PROCESS);
    assert_int_equal(comparison_basis_of(&s, 1), COMPARISON_SHARE);
    assert_int_equal(sum_of(s.all, comparison_column(&s, 2, COMPARISON_BASELINE)), 315);
    struct findings findings = findings_of_comparison(&s, "heap");
    assert_finding(
        &findings, "against-heap",
        "file-03 holds 1000MB of memory from main.keep, file-07 100MB (of 1000MB and 105MB in use)",
        "main.keep");
    findings_release(&findings);
    comparison_release(&s);
}

static void profiles_of_different_types_are_not_compared(void **state)
{
    struct comparison s = {0};
    struct err err = ERR_INIT;
    struct profile *p = heap_profile(1);
    (void)state;
    add_profile(&s, COMPARISON_TARGET, hot_profile(5, 10));
    add_heap_sample(p, "main.keep", 1, 1);
    assert_int_equal(comparison_add(&s, COMPARISON_BASELINE, p, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    profile_free(p);
    finish_comparison(&s);
    assert_false(comparison_has_both(&s));
    struct findings findings = findings_of_comparison(&s, "cpu");
    assert_int_equal(findings.n, 0);
    findings_release(&findings);
    comparison_release(&s);
}

static void each_side_has_its_own_limit(void **state)
{
    struct comparison s = {0};
    struct err err = ERR_INIT;
    struct profile *p = hot_profile(1, 2);
    (void)state;
    add_profile(&s, COMPARISON_TARGET, large_profile(150000));
    /* The same stacks again take no space. */
    add_profile(&s, COMPARISON_TARGET, large_profile(150000));
    add_profile(&s, COMPARISON_TARGET, large_profile(1 << 18));
    assert_int_equal(comparison_add(&s, COMPARISON_TARGET, p, &err), -1);
    assert_int_equal(err.kind, ERR_FAILED);
    assert_ok(comparison_add(&s, COMPARISON_BASELINE, p, &err), &err);
    finish_comparison(&s);
    assert_int_equal(s.sides[COMPARISON_TARGET].n_processes, 3);
    assert_int_equal(s.sides[COMPARISON_BASELINE].n_processes, 1);
    profile_free(p);
    comparison_release(&s);
}

static void many_profiles_are_merged_without_loss(void **state)
{
    struct comparison s = {0};
    (void)state;
    for (int64_t i = 1; i <= 37; i++)
        add_profile(&s, COMPARISON_TARGET, hot_profile(i, 100));
    add_profile(&s, COMPARISON_BASELINE, hot_profile(1, 100));
    finish_comparison(&s);
    assert_int_equal(s.sides[COMPARISON_TARGET].n_processes, 37);
    assert_int_equal(s.all->n_samples, 2);
    assert_int_equal(sum_of(s.all, comparison_column(&s, 0, COMPARISON_TARGET)), 3700);
    assert_int_equal(sum_of(s.all, comparison_column(&s, 0, COMPARISON_BASELINE)), 100);
    comparison_release(&s);
}

static json_t *parse_json(struct buf *b)
{
    json_t *root = json_loadb(buf_str(b), b->len, 0, NULL);
    assert_non_null(root);
    buf_release(b);
    return root;
}

/* Values of both sides are at the same nodes, without values of labels. */
static void the_page_has_values_of_both_sides(void **state)
{
    struct comparison s = {0};
    struct err err = ERR_INIT;
    struct buf b = BUF_INIT(1 << 20);
    long long sum = 0;
    (void)state;
    add_profile(&s, COMPARISON_TARGET, hot_profile(40, 100));
    add_profile(&s, COMPARISON_BASELINE, hot_profile(0, 300));
    finish_comparison(&s);
    assert_ok(page_data_comparison(&s, &b, &err), &err);
    assert_null(strstr(buf_str(&b), "carol"));
    json_t *root = parse_json(&b), *nodes = json_object_get(root, "nodes");
    const json_t *there = json_array_get(json_object_get(nodes, "there"), 0);
    assert_int_equal(json_array_size(json_object_get(root, "types")), 2);
    assert_int_equal(json_array_size(there), json_array_size(json_object_get(nodes, "depth")));
    for (size_t i = 0; i < json_array_size(there); i++)
        sum += json_integer_value(json_array_get(there, i));
    assert_int_equal(sum, 300);
    json_decref(root);
    comparison_release(&s);
}

/* ---- two snapshots ----------------------------------------------------------------------------------- */

static struct growth growth_between(struct profile *before, struct profile *now)
{
    struct growth g;
    struct err err = ERR_INIT;
    assert_ok(growth_make(&g, before, now, &err), &err);
    profile_free(before);
    profile_free(now);
    return g;
}

static struct findings findings_of_growth(const struct growth *g)
{
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    struct finding_subject subject = {.host = "file-03", .service = "gitaly", .kind = "heap", .file = "f"};
    assert_ok(findings_add_growth(&findings, g, &subject, &err), &err);
    return findings;
}

/* Only allocations between the snapshots count; memory in use may shrink. */
static void growth_of_a_heap_is_found(void **state)
{
    struct profile *before = heap_profile(SECOND), *now = heap_profile(61 * SECOND);
    (void)state;
    add_heap_sample(before, "main.leak main.main", 100, 100);
    add_heap_sample(before, "main.cache main.main", 80, 50);
    add_heap_sample(now, "main.leak main.main", 400, 400);
    add_heap_sample(now, "main.cache main.main", 90, 40);
    struct growth g = growth_between(before, now);
    assert_int_equal(g.between_ns, 60 * SECOND);
    assert_null(growth_find_restart(&g));
    struct findings findings = findings_of_growth(&g);
    assert_finding(
        &findings, "heap-growth",
        "memory from main.leak has grown by 300MB (300 objects) within 1m, 17.58GB an hour at that "
        "rate: a leak, "
        "or a cache that is still filling; heap in use was 150MB, then 440MB",
        "main.leak");
    assert_finding(&findings, "allocated-between",
                   "310MB allocated within 1m, 5.17MB a second: main.leak 97 % of it", "main.leak");
    assert_null(find_finding(&findings, "heap-between"));
    findings_release(&findings);
    growth_subtract(&g);
    assert_int_equal(g.merged->n_sample_types, 4);
    assert_int_equal(g.merged->duration_ns, 60 * SECOND);
    assert_int_equal(sum_of(g.merged, 1), 310 * MB);
    assert_int_equal(sum_of(g.merged, 3), 290 * MB);
    growth_release(&g);
}

/* Growth within chance, and equal growth everywhere, are not leaks. */
static void growth_within_chance_is_not_a_leak(void **state)
{
    struct profile *before = heap_profile(SECOND), *now = heap_profile(61 * SECOND);
    (void)state;
    add_heap_sample(before, "main.a main.main", 100, 100);
    add_heap_sample(now, "main.a main.main", 101, 101);
    struct growth g = growth_between(before, now);
    struct findings findings = findings_of_growth(&g);
    assert_null(find_finding(&findings, "heap-growth"));
    assert_finding(&findings, "heap-between",
                   "heap in use went from 100MB to 101MB within 1m; main.a has grown most, by 1MB", "main.a");
    findings_release(&findings);
    growth_release(&g);

    before = heap_profile(SECOND);
    now = heap_profile(61 * SECOND);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "main.f%d", i);
        add_heap_sample(before, name, 100, 100);
        add_heap_sample(now, name, 200, 200);
    }
    g = growth_between(before, now);
    findings = findings_of_growth(&g);
    assert_null(find_finding(&findings, "heap-growth"));
    findings_release(&findings);
    growth_release(&g);
}

/* Counters that are smaller in all or many stacks show a restart. A slight decrease by rounding does not. */
static void a_restart_is_detected(void **state)
{
    /* `a` and `b` are the objects that main.a and main.b have allocated at the second snapshot. Both have
     * allocated 100 at the first. */
    static const struct {
        int64_t a, b;
        bool restarted;
    } cases[] = {{100, 100, false}, {50, 20, true}, {300, 0, true}, {99, 100, false}, {98, 110, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct profile *before = heap_profile(SECOND), *now = heap_profile(2 * SECOND);
        add_heap_sample(before, "main.a", 100, 10);
        add_heap_sample(before, "main.b", 100, 10);
        add_heap_sample(now, "main.a", cases[i].a, 10);
        add_heap_sample(now, "main.b", cases[i].b, 10);
        struct growth g = growth_between(before, now);
        assert_int_equal(growth_find_restart(&g) != NULL, cases[i].restarted);
        growth_subtract(&g);
        for (size_t k = 0; k < g.merged->n_samples; k++)
            assert_true(g.merged->values[k * 4 + 1] >= 0);
        growth_release(&g);
    }
}

static void set_build(struct profile *p, const char *id)
{
    struct err err = ERR_INIT;
    struct profile_mapping m = {.id = 1, .limit = 4096, .file = intern(p, "/app"), .build_id = intern(p, id)};
    assert_ok(profile_add_mapping(p, &m, &err), &err);
}

static void another_build_is_a_restart(void **state)
{
    struct profile *before = heap_profile(SECOND), *now = heap_profile(2 * SECOND);
    (void)state;
    add_heap_sample(before, "main.a", 1, 1);
    add_heap_sample(now, "main.a", 100, 1);
    set_build(before, "one");
    set_build(now, "two");
    struct growth g = growth_between(before, now);
    assert_string_equal(growth_find_restart(&g), "the second snapshot is of another build");
    growth_release(&g);
}

/* A hostile profile may have any numbers. */
static void extreme_growth_is_limited_to_64_bits(void **state)
{
    struct profile *before = heap_profile(SECOND), *now = heap_profile(2 * SECOND);
    (void)state;
    add_sample(before, "main.a", (const int64_t[]){INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX}, NULL);
    add_sample(now, "main.a", (const int64_t[]){INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN}, NULL);
    struct growth g = growth_between(before, now);
    struct findings findings = findings_of_growth(&g);
    findings_release(&findings);
    growth_subtract(&g);
    assert_true(g.merged->values[0] == INT64_MAX && g.merged->values[3] == INT64_MIN);
    growth_release(&g);
}

static void growth_within_one_nanosecond_is_not_negative(void **state)
{
    struct profile *before = heap_profile(SECOND), *now = heap_profile(SECOND + 1);
    (void)state;
    add_sample(before, "main.a", (const int64_t[]){1, 1, 1, 1}, NULL);
    add_sample(now, "main.a", (const int64_t[]){INT64_MAX, INT64_MAX, 1, 1}, NULL);
    struct growth g = growth_between(before, now);
    struct findings findings = findings_of_growth(&g);
    assert_non_null(find_finding(&findings, "allocated-between"));
    assert_null(strchr(find_finding(&findings, "allocated-between")->text, '-'));
    findings_release(&findings);
    growth_release(&g);
}

/* ---- hosts ------------------------------------------------------------------------------------------- */

static void add_profile_of_host(struct fleet *fleet, const char *name, struct profile *p)
{
    struct err err = ERR_INIT;
    assert_ok(fleet_add(fleet, &(struct fleet_origin){name, false, "file"}, p, &err), &err);
    profile_free(p);
}

static size_t count_outliers(const struct fleet *fleet)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->n; i++)
        n += fleet->rows[i].difference.outlier;
    return n;
}

static struct findings findings_of_fleet(struct fleet *fleet)
{
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    assert_ok(fleet_compare(fleet, &err), &err);
    assert_ok(findings_add_fleet(&findings, fleet, &(struct finding_subject){.service = "gitaly"}, &err),
              &err);
    return findings;
}

static void one_host_of_five_differs(void **state)
{
    static const char *const names[] = {"file-01", "file-02", "file-03", "file-04", "file-05"};
    static const int64_t hot[] = {30, 28, 410, 33, 25};
    struct fleet fleet = {0};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_profile_of_host(&fleet, names[i], hot_profile(hot[i], 1000));
    struct findings findings = findings_of_fleet(&fleet);
    assert_int_equal(count_outliers(&fleet), 1);
    assert_true(fleet.rows[2].difference.outlier && fleet.rows[2].difference.kind == FLEET_CPU);
    assert_true(fleet.rows[2].difference.share == 0.41 && fleet.rows[2].difference.median == 0.03);
    assert_true(fleet.median[FLEET_CPU] == 1);
    assert_finding(
        &findings, "host-differs",
        "file-03 differs from 4 other hosts: 41 % of its CPU time is in main.hot, 3.0 % at the median",
        "main.hot");
    findings_release(&findings);
    fleet_release(&fleet);
}

/* A share that more than half of the hosts have is the median, even if the others have none of it. */
static void a_difference_of_most_hosts_is_no_outlier(void **state)
{
    static const char *const names[] = {"file-01", "file-02", "file-03", "file-04", "file-05"};
    struct fleet fleet = {0};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_profile_of_host(&fleet, names[i], hot_profile(i < 3 ? 300 : 0, 1000));
    struct findings findings = findings_of_fleet(&fleet);
    for (size_t i = 0; i < 5; i++) {
        bool is_hot = i < 3;
        assert_int_equal(fleet.rows[i].difference.known, !is_hot);
        assert_true(is_hot ||
                    (fleet.rows[i].difference.share == 0 && fleet.rows[i].difference.median == 0.3));
    }
    findings_release(&findings);
    fleet_release(&fleet);
}

static void a_caller_that_differs_is_found(void **state)
{
    static const char *const names[] = {"file-01", "file-02", "file-03", "file-04", "file-05"};
    struct fleet fleet = {0};
    (void)state;
    for (size_t i = 0; i < 5; i++)
        add_profile_of_host(&fleet, names[i], served_profile(i == 2));
    struct findings findings = findings_of_fleet(&fleet);
    assert_int_equal(count_outliers(&fleet), 1);
    assert_string_equal(find_finding(&findings, "host-differs")->look_at, "main.serve");
    findings_release(&findings);
    fleet_release(&fleet);
}

static void a_median_close_to_zero_is_reported(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const int64_t samples[] = {110000, 1, 0, 1};
    static const char *const texts[] = {"a differs from 3 other hosts: its CPU is busy with 110 cores, less "
                                        "than 0.01 cores at the median",
                                        "a differs from 3 other hosts: its CPU is busy with 110 cores, 1.2 "
                                        "cores at the median"};
    (void)state;
    for (int64_t round = 0; round < 2; round++) {
        struct fleet fleet = {0};
        for (size_t i = 0; i < 6; i++) {
            struct profile *p = i < 4 ? cpu_profile() : heap_profile(1);
            if (i < 4)
                add_cpu_samples(p, "main.hot main.main", i == 0 ? samples[0] : samples[i] + round * 1200);
            else
                add_heap_sample(p, "main.keep main.main", 10, 10);
            add_profile_of_host(&fleet, names[i], p);
        }
        struct findings findings = findings_of_fleet(&fleet);
        assert_finding(&findings, "host-exceeds", texts[round], "");
        findings_release(&findings);
        fleet_release(&fleet);
    }
}

/* Chance differences of similar hosts: with few samples and many, of three hosts and of thirty. */
static void similar_hosts_have_no_difference(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (size_t round = 0; round < 200; round++) {
        struct fleet fleet = {0};
        size_t n_hosts = 3 + round % 28, n_samples = 30 + (round * 37) % 900;
        for (size_t i = 0; i < n_hosts; i++) {
            char name[16];
            int64_t hot = 0;
            for (size_t k = 0; k < n_samples; k++)
                hot += random_below(&seed, 100) < 40;
            snprintf(name, sizeof name, "host%zu", i);
            add_profile_of_host(&fleet, name, hot_profile(hot, (int64_t)n_samples));
        }
        struct findings findings = findings_of_fleet(&fleet);
        assert_int_equal(count_outliers(&fleet), 0);
        findings_release(&findings);
        fleet_release(&fleet);
    }
}

/* A group whose hosts all differ has no outlier, and two hosts are no group. */
static void two_hosts_or_a_spread_have_no_outlier(void **state)
{
    static const int64_t spread[] = {100, 300, 500, 700, 900};
    struct fleet fleet = {0};
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "host%zu", i);
        add_profile_of_host(&fleet, name, hot_profile(spread[i], 1000));
    }
    struct findings findings = findings_of_fleet(&fleet);
    assert_int_equal(count_outliers(&fleet), 0);
    findings_release(&findings);
    fleet_release(&fleet);
    add_profile_of_host(&fleet, "a", hot_profile(10, 1000));
    add_profile_of_host(&fleet, "b", hot_profile(990, 1000));
    findings = findings_of_fleet(&fleet);
    assert_int_equal(count_outliers(&fleet), 0);
    assert_int_equal(findings.n, 0);
    findings_release(&findings);
    fleet_release(&fleet);
}

/* A difference of two heaps shows an allocation rate, not memory in use. If a host has several heaps, the
 * last one is compared. */
static void differences_of_heaps_are_not_compared_with_heaps(void **state)
{
    struct fleet fleet = {0};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        char name[16];
        struct profile *p = heap_profile(1);
        snprintf(name, sizeof name, "host%zu", i % 3);
        add_heap_sample(p, "main.keep main.main", 60, i < 3 ? 7 : 100);
        p->duration_ns = i < 3 ? 30 * SECOND : 0;
        add_profile_of_host(&fleet, name, p);
    }
    struct findings findings = findings_of_fleet(&fleet);
    assert_true(fleet.median[FLEET_HEAP] == (double)(100 * MB));
    assert_true(fleet.median[FLEET_ALLOCATED] == (double)(2 * MB));
    assert_int_equal(fleet.n_known[FLEET_ALLOCATED], 3);
    findings_release(&findings);
    fleet_release(&fleet);
}

/* One host may differ in more than one figure. */
static void one_host_exceeds_the_others_in_two_figures(void **state)
{
    struct fleet fleet = {0};
    struct err err = ERR_INIT;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char name[16];
        struct profile *p = heap_profile(1),
                       *q = profile_with_types((const char *const[]){"goroutine", "count", NULL});
        snprintf(name, sizeof name, "host%zu", i);
        add_heap_sample(p, "main.keep main.main", 5000, i == 3 ? 4000 : 100);
        add_sample(q, "main.wait main.main", (const int64_t[]){i == 3 ? 9000 : 10}, NULL);
        add_profile_of_host(&fleet, name, p);
        add_profile_of_host(&fleet, name, q);
    }
    struct findings findings = findings_of_fleet(&fleet);
    assert_ok(findings_finish(&findings, &err), &err);
    size_t n = 0;
    for (size_t i = 0; i < findings.n; i++)
        n += strcmp(findings.items[i].rule->id, "host-exceeds") == 0;
    assert_int_equal(n, 2);
    findings_release(&findings);
    fleet_release(&fleet);
}

/* The host does the same work with more memory. */
static void one_host_exceeds_the_others(void **state)
{
    struct fleet fleet = {0};
    struct buf b = BUF_INIT(1 << 20);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char name[16];
        struct profile *p = heap_profile(1);
        snprintf(name, sizeof name, "host%zu", i);
        add_heap_sample(p, "main.keep main.main", 5000, i == 3 ? 4000 : 100 + (int64_t)i);
        add_profile_of_host(&fleet, name, p);
    }
    struct findings findings = findings_of_fleet(&fleet);
    assert_finding(
        &findings, "host-exceeds",
        "host3 differs from 3 other hosts: it holds 3.91GB of heap in use, 101.50MB of heap in use "
        "at the median",
        "");
    page_data_fleet(&(struct page_named_fleet){"gitaly", &fleet}, &b);
    json_t *root = parse_json(&b);
    const json_t *row = json_array_get(json_object_get(root, "hosts"), 3);
    assert_true(json_is_true(json_object_get(json_object_get(row, "heap"), "exceeds")));
    json_decref(root);
    findings_release(&findings);
    fleet_release(&fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_with_a_larger_share_is_found),
        cmocka_unit_test(differences_within_chance_are_not_found),
        cmocka_unit_test(a_full_side_does_not_limit_the_other),
        cmocka_unit_test(a_caller_of_small_functions_is_found),
        cmocka_unit_test(extreme_values_give_no_negative_figures),
        cmocka_unit_test(block_and_mutex_profiles_are_reported_by_name),
        cmocka_unit_test(differences_of_heaps_are_not_compared_as_heaps),
        cmocka_unit_test(several_processes_of_a_side_count_as_one),
        cmocka_unit_test(profiles_of_different_types_are_not_compared),
        cmocka_unit_test(each_side_has_its_own_limit),
        cmocka_unit_test(many_profiles_are_merged_without_loss),
        cmocka_unit_test(the_page_has_values_of_both_sides),
        cmocka_unit_test(growth_of_a_heap_is_found),
        cmocka_unit_test(growth_within_chance_is_not_a_leak),
        cmocka_unit_test(a_restart_is_detected),
        cmocka_unit_test(another_build_is_a_restart),
        cmocka_unit_test(extreme_growth_is_limited_to_64_bits),
        cmocka_unit_test(growth_within_one_nanosecond_is_not_negative),
        cmocka_unit_test(one_host_of_five_differs),
        cmocka_unit_test(a_difference_of_most_hosts_is_no_outlier),
        cmocka_unit_test(a_caller_that_differs_is_found),
        cmocka_unit_test(a_median_close_to_zero_is_reported),
        cmocka_unit_test(similar_hosts_have_no_difference),
        cmocka_unit_test(two_hosts_or_a_spread_have_no_outlier),
        cmocka_unit_test(one_host_exceeds_the_others),
        cmocka_unit_test(one_host_exceeds_the_others_in_two_figures),
        cmocka_unit_test(differences_of_heaps_are_not_compared_with_heaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
