/* The comparison of a bundle's profiles, independent of the page's limit, and children that draw pages. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "page/builder_compare.h"
#include "tests/unit/profile_stacks.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

#define HEAD "{\"format\":\"profgrab-bundle\",\"version\":1,"

static int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static struct manifest *read_manifest(const char *text)
{
    struct manifest *manifest = NULL;
    struct err err = ERR_INIT;
    assert_ok(manifest_read(text, strlen(text), &manifest, &err), &err);
    return manifest;
}

static void begin_page(struct page_builder *d, const struct page_limits *limits,
                       const struct manifest *manifest, struct buf *page)
{
    struct err err = ERR_INIT;
    assert_ok(
        page_builder_init(d, limits, manifest, &(struct page_output){.sink = add_bytes, .ctx = page}, &err),
        &err);
}

static void end_page(struct page_builder *d, struct page_bundle *b)
{
    struct err err = ERR_INIT;
    assert_ok(page_builder_compare_finish(d, &err), &err);
    assert_ok(page_builder_finish(d, b, &err), &err);
}

static const char *finding_text(const struct page_builder *d, const char *rule)
{
    for (size_t i = 0; i < d->findings.n; i++)
        if (strcmp(d->findings.items[i].rule->id, rule) == 0)
            return d->findings.items[i].text;
    fail_msg("there is no finding of the rule %s", rule);
    return NULL;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void draw_profile(struct page_builder *d, size_t i, struct profile *p)
{
    struct err err = ERR_INIT;
    struct buf bytes = BUF_INIT(1 << 20);
    assert_ok(profile_write(p, add_bytes, &bytes, &err), &err);
    assert_ok(page_builder_draw(d, &d->files[i], &bytes, &err), &err);
    buf_release(&bytes);
    profile_free(p);
}

#define CPU_OF(host, against)                                                                                \
    "{\"name\":\"" host "\",\"against\":" against ",\"services\":[{\"name\":\"gitaly\",\"items\":[{"         \
    "\"kind\":\"cpu\",\"status\":\"ok\",\"file\":\"" host "/cpu\",\"profile\":{}}]}]}"

/* The last host does not fit on the page, but counts as healthy. A host with an unreadable profile is counted
 * as left out. */
static void a_full_page_has_both_sides(void **state)
{
    static const char text[] =
        HEAD "\"hosts\":[" CPU_OF("sick-1", "false") "," CPU_OF("sick-2", "false") "," CPU_OF(
            "well-1", "true") "," CPU_OF("well-2", "true") "," CPU_OF("well-3", "true") "]}";
    static const struct page_limits no_room = {4000000, 8, "too large"};
    struct manifest *manifest = read_manifest(text);
    struct page_builder d;
    struct page_bundle b = {0};
    struct buf page = BUF_INIT(16 << 20), broken = BUF_INIT(100);
    struct err err = ERR_INIT;
    (void)state;
    begin_page(&d, &no_room, manifest, &page);
    draw_profile(&d, 0, hot_profile(410, 1000));
    draw_profile(&d, 1, hot_profile(410, 1000));
    draw_profile(&d, 2, hot_profile(30, 1000));
    buf_adds(&broken, "no profile");
    assert_ok(page_builder_draw(&d, &d.files[3], &broken, &err), &err);
    draw_profile(&d, 4, hot_profile(30, 1000));
    end_page(&d, &b);
    assert_has(finding_text(&d, "against-cpu"),
               "sick-1, sick-2 spend 41 % of the CPU time in main.hot, well-1, "
               "well-3 (1 left out) 3.0 %");
    assert_has(buf_str(&page), "\"gitaly cpu: sick-1, sick-2 against well-1, well-3 (1 left out)\"");
    page_builder_release(&d);
    manifest_free(manifest);
    buf_release(&page);
    buf_release(&broken);
}

#define HEAP_OF(pair)                                                                                        \
    "{\"kind\":\"heap\",\"status\":\"ok\",\"pair\":" pair ",\"file\":\"" pair "\",\"profile\":{}}"

/* If `swapped`, the first item of the pair failed and resume fetched it, so it is the later snapshot. */
static void snapshots_of_a_pair_are_ordered_by_time(void **state)
{
    static const char text[] =
        HEAD "\"hosts\":[{\"name\":\"file-03\",\"services\":[{\"name\":\"gitaly\",\"items\":[" HEAP_OF(
            "1") "," HEAP_OF("2") "]}]}]}";
    (void)state;
    for (int64_t swapped = 0; swapped < 2; swapped++) {
        struct manifest *manifest = read_manifest(text);
        struct page_builder d;
        struct page_bundle b = {0};
        struct buf page = BUF_INIT(16 << 20);
        begin_page(&d, &page_limits_on_request, manifest, &page);
        for (int64_t i = 0; i < 2; i++) {
            int64_t when = swapped ? 1 - i : i;
            struct profile *p = heap_profile((1 + when * 60) * SECOND);
            add_heap_sample(p, "main.leak main.main", when ? 400 : 100, when ? 400 : 100);
            draw_profile(&d, (size_t)i, p);
        }
        end_page(&d, &b);
        assert_has(finding_text(&d, "heap-growth"),
                   "memory from main.leak has grown by 300MB (300 objects) within 1m");
        page_builder_release(&d);
        manifest_free(manifest);
        buf_release(&page);
    }
}

/* Another program may write such a manifest. */
static void a_text_dump_of_a_second_snapshot_is_reported(void **state)
{
    static const char text[] =
        HEAD "\"hosts\":[{\"name\":\"file-03\",\"services\":[{\"name\":\"gitaly\",\"items\":[{\"kind\":"
             "\"goroutines\",\"status\":\"ok\",\"pair\":2,\"file\":\"g.txt\"}]}]}]}";
    static const char dump[] = "goroutine 1 [chan receive]:\nmain.main()\n\t/src/main.go:7 +0x1d\n\n";
    struct manifest *manifest = read_manifest(text);
    struct page_builder d;
    struct page_bundle b = {0};
    struct buf page = BUF_INIT(16 << 20), bytes = BUF_INIT(1000);
    struct err err = ERR_INIT;
    (void)state;
    begin_page(&d, &page_limits_on_request, manifest, &page);
    buf_adds(&bytes, dump);
    assert_ok(page_builder_draw(&d, &d.files[0], &bytes, &err), &err);
    end_page(&d, &b);
    finding_text(&d, "goroutine-states");
    page_builder_release(&d);
    manifest_free(manifest);
    buf_release(&page);
    buf_release(&bytes);
}

/* Passes two members to the visitor. Reading the second one kills the process. */
static int visit_deadly(const struct bundle_preview *bundle, const struct bundle_visitor *v, struct err *err)
{
    static const char *const paths[] = {"a.txt", "b.txt"};
    static const char dump[] = "goroutine 1 [running]:\nmain.f(...)\n\t/a.go:1 +0x1\n";
    (void)bundle;
    for (size_t i = 0; i < 2; i++) {
        const struct bundle_member member = {.path = paths[i], .size = sizeof dump - 1};
        struct buf bytes = BUF_INIT(sizeof dump);
        if (!v->filter(v->ctx, &member))
            continue;
        if (i == 1)
            raise(SIGKILL);
        buf_add(&bytes, dump, sizeof dump - 1);
        int rc = v->receive(v->ctx, &member, &bytes, err);
        buf_release(&bytes);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void a_copy_leaves_out_a_file_that_kills_the_child(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "\"name\":\"b\",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"items\":["
             "{\"kind\":\"goroutines\",\"status\":\"ok\",\"file\":\"a.txt\"},"
             "{\"kind\":\"goroutines\",\"status\":\"ok\",\"file\":\"b.txt\"}]}]}]}";
    struct manifest *manifest = read_manifest(text);
    const struct bundle_preview preview = {
        .manifest = manifest, .bytes = 1, .cancel_fd = -1, .fd = -1, .visit = visit_deadly};
    struct err err = ERR_INIT;
    FILE *spool = tmpfile();
    char before[8] = "";
    assert_non_null(spool);
    int fd = fileno(spool);
    assert_int_equal(write(fd, "before", 6), 6);
    assert_ok(page_build_copy(&preview, fd, &err), &err);
    /* The bytes before the page are there, followed by one page. */
    assert_int_equal(pread(fd, before, 6, 0), 6);
    assert_string_equal(before, "before");
    off_t size = lseek(fd, 0, SEEK_END);
    char *page = calloc(1, (size_t)size + 1);
    assert_non_null(page);
    assert_int_equal(pread(fd, page, (size_t)size, 0), size);
    const char *first = strstr(page, "<!doctype html>");
    assert_non_null(first);
    assert_ptr_equal(first, page + 6);
    assert_null(strstr(first + 1, "<!doctype html>"));
    free(page);
    fclose(spool);
    manifest_free(manifest);
}

/* Exceeds a limit after all files were read, if it is the first child. */
static int exceed_at_end(void *ctx, struct buf *ret, struct err *err)
{
    struct page_progress *progress = ctx;
    (void)err;
    if (!progress->without_end) {
        progress->at_end = true;
        raise(SIGKILL);
    }
    buf_addf(ret, "without %u", progress->without);
    return 0;
}

static void keep_note(void *ctx, const char *line)
{
    buf_adds(ctx, line);
}

static void a_second_child_leaves_out_costly_comparisons_and_findings(void **state)
{
    struct page_progress *progress = NULL;
    struct err err = ERR_INIT;
    struct buf notes = BUF_INIT(1000), result = BUF_INIT(1000);
    struct proc_fork_limits limits = confined_limits(1, -1);
    (void)state;
    assert_ok(page_progress_new(&progress, &err), &err);
    limits.max_result = 1000;
    const struct page_attempts attempts = {"b.tar.gz", limits, progress, -1,
                                           &(const struct page_notes){keep_note, &notes}};
    assert_ok(page_attempt(&attempts, exceed_at_end, progress, &result, &err), &err);
    assert_string_equal(buf_str(&result), "without 0");
    assert_has(buf_str(&notes), "b.tar.gz: ");
    assert_has(buf_str(&notes), "; going on without comparisons and findings");
    buf_release(&notes);
    buf_release(&result);
    page_progress_free(progress);
}

/* The page of the second child has every file, and an entry that says what is missing. */
static void a_page_without_its_end_has_all_files(void **state)
{
    static const char text[] = HEAD "\"hosts\":[" CPU_OF("sick-1", "false") "," CPU_OF(
        "sick-2", "false") "," CPU_OF("sick-3", "false") "," CPU_OF("well-1", "true") "]}";
    struct page_progress progress = {.without_end = true};
    struct manifest *manifest = read_manifest(text);
    struct page_builder d;
    struct buf page = BUF_INIT(16 << 20);
    struct err err = ERR_INIT;
    (void)state;
    begin_page(&d, &page_limits_on_request, manifest, &page);
    page_builder_apply_progress(&d, &progress);
    for (size_t i = 0; i < 4; i++)
        draw_profile(&d, i, hot_profile(410, 1000));
    assert_ok(page_builder_finish_bundle(&d, &err), &err);
    assert_int_equal(d.findings.n, 0);
    assert_has(buf_str(&page), "\"id\":\"data-3\",\"form\":\"profile\"");
    assert_null(strstr(buf_str(&page), "\"data-4\""));
    assert_has(buf_str(&page),
               "\"title\":\"comparisons and findings\",\"why\":\"making them exceeds the limit");
    assert_has(buf_str(&page), "\"summary\":[],\n\"data\":[");
    page_builder_release(&d);
    manifest_free(manifest);
    buf_release(&page);
}

/* ---- time ---------------------------------------------------------------------------------------------- */

static bool children_are_idle;

static int wait_for_ever(void *ctx, struct buf *ret, struct err *err)
{
    (void)ctx, (void)ret, (void)err;
    while (pause() < 0)
        ;
    return 0;
}

/* If children_are_idle, the child uses no processor time and never ends, and its limit of wall time is 50 ms,
 * if it has one. */
int __real_proc_run_confined(proc_confined_fn *run, void *ctx, const struct proc_fork_limits *limits,
                             struct buf *ret, struct err *err);
int __wrap_proc_run_confined(proc_confined_fn *run, void *ctx, const struct proc_fork_limits *limits,
                             struct buf *ret, struct err *err);
int __wrap_proc_run_confined(proc_confined_fn *run, void *ctx, const struct proc_fork_limits *limits,
                             struct buf *ret, struct err *err)
{
    if (!children_are_idle)
        return __real_proc_run_confined(run, ctx, limits, ret, err);
    struct proc_fork_limits shorter = *limits;
    assert_true(limits->wall_ms > 0 && limits->wall_ms <= CONFINED_TIME_MS);
    shorter.wall_ms = 50;
    return __real_proc_run_confined(wait_for_ever, NULL, &shorter, ret, err);
}

static void an_idle_child_ends_at_its_limit(void **state)
{
    static const char manifest[] =
        HEAD "\"name\":\"b\",\"tool\":{},\"collector\":{},\"files\":[],\"hosts\":[]}";
    struct manifest *m = read_manifest(manifest);
    const struct bundle_preview preview = {
        .manifest = m, .bytes = 1, .cancel_fd = -1, .fd = -1, .visit = visit_deadly};
    struct err err = ERR_INIT;
    struct workdir *w = NULL;
    struct confined_budget budget;
    FILE *spool = tmpfile();
    assert_non_null(spool);
    children_are_idle = true;
    assert_int_equal(page_build_copy(&preview, fileno(spool), &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);

    err = (struct err)ERR_INIT;
    assert_ok(workdir_new(*state, "h", 0, &w, &err), &err);
    confined_budget_init(1, &budget);
    assert_int_equal(page_build_workdir(m, w, &budget, -1, &err), -1);
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_false(dir_exists(workdir_files(w), BUNDLE_REPORT));
    children_are_idle = false;
    manifest_free(m);
    workdir_remove(w);
    workdir_free(w);
    fclose(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_idle_child_ends_at_its_limit, scratch_setup, scratch_teardown),
        cmocka_unit_test(a_copy_leaves_out_a_file_that_kills_the_child),
        cmocka_unit_test(a_second_child_leaves_out_costly_comparisons_and_findings),
        cmocka_unit_test(a_page_without_its_end_has_all_files),
        cmocka_unit_test(a_full_page_has_both_sides),
        cmocka_unit_test(snapshots_of_a_pair_are_ordered_by_time),
        cmocka_unit_test(a_text_dump_of_a_second_snapshot_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
