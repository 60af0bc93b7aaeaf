/* Budgets, retries, the run's deadline, and the skew of profiles begun together. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "fetch/budget.h"
#include "fetch/deadline.h"
#include "fetch/retry.h"
#include "fetch/sync.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- budgets ----------------------------------------------------------------------------------------- */

static char usual_path[] = "/debug/pprof";
static const struct service usual = {.path = usual_path};

static struct plan plan_of(const char *words)
{
    struct strlist l = {0};
    struct request_list requests;
    struct plan p;
    struct err err = ERR_INIT;
    assert_ok(strlist_split(&l, words, &err), &err);
    assert_ok(request_parse(&l, &requests, &err), &err);
    assert_ok(plan_make(&usual, &requests, NULL, &p, &err), &err);
    request_release(&requests);
    strlist_release(&l);
    return p;
}

/* Compares the items that the budget leaves out of this plan, each with its reason on a line. */
static void assert_left_out(struct budget *b, const char *words, const char *expected)
{
    struct plan p = plan_of(words);
    struct buf out = BUF_INIT(4096);
    budget_apply(b, &p, NULL);
    for (size_t i = 0; i < p.n; i++)
        if (p.items[i].left_out[0])
            buf_addf(&out, "%s: %s\n", p.items[i].kind, p.items[i].left_out);
    assert_string_equal(buf_str(&out), expected);
    buf_release(&out);
    plan_release(&p);
}

static void a_time_budget_is_used_in_the_plans_order(void **state)
{
    (void)state;
    struct fetch_job grab = {.options.budget_ms = 12000};
    struct budget b;
    budget_init(&b, &grab);
    assert_left_out(&b, "cpu=10,trace=5,mutex=1,heap",
                    "trace: left out: it needs 5s of profiling, and of the budget's 12s only 1s remain\n");
    /* Time already used by the process counts, also for its other services. */
    assert_left_out(&b, "cpu=2,trace=1,heap",
                    "cpu: left out: it needs 2s of profiling, and of the budget's 12s only 1s remain\n");
    assert_left_out(&b, "trace=0.5",
                    "trace: left out: it needs 500ms of profiling, and of the budget's 12s only 0s remain\n");
    budget_release(&b);
}

/* Each attempt profiles the process again; an item already collected costs nothing. */
static void each_attempt_uses_the_time_budget(void **state)
{
    (void)state;
    struct fetch_job grab = {.options.budget_ms = 12000};
    struct budget b;
    struct err err = ERR_INIT;
    struct plan p = plan_of("cpu=5,trace=5");
    budget_init(&b, &grab);
    p.items[0].already_collected = true;
    budget_apply(&b, &p, NULL);
    assert_string_equal(p.items[1].left_out, "");
    assert_ok(budget_count_attempt(&b, 5000, &err), &err);
    assert_ok(budget_count_attempt(&b, 0, &err), &err);
    assert_refused(budget_count_attempt(&b, 5000, &err), &err, ERR_FAILED,
                   "not tried again: the budget's 12s of profiling are used up");
    assert_ok(budget_count_attempt(&b, 2000, &err), &err);
    plan_release(&p);
    budget_release(&b);
}

static void bytes_are_estimated_before_the_fetch(void **state)
{
    (void)state;
    struct fetch_job grab = {.options.budget_bytes = 3000000};
    struct budget b;
    struct err err = ERR_INIT;
    budget_init(&b, &grab);
    assert_left_out(
        &b, "heap,cpu=1,trace=5",
        "trace: left out: it needs about 5.0 MB, and of the budget's 3.0 MB only 3.0 MB remain\n");
    assert_ok(budget_count_bytes(&b, 2500000, &err), &err);
    /* Now the received bytes count, not the estimate. */
    assert_left_out(
        &b, "heap,trace=1",
        "trace: left out: it needs about 1.0 MB, and of the budget's 3.0 MB only 499.5 kB remain\n");
    budget_release(&b);
}

static void bytes_are_counted_as_they_arrive(void **state)
{
    (void)state;
    struct fetch_job grab = {.options.budget_bytes = 1000};
    struct budget b;
    struct err err = ERR_INIT;
    budget_init(&b, &grab);
    assert_ok(budget_count_bytes(&b, 999, &err), &err);
    assert_ok(budget_check(&b, &err), &err);
    assert_ok(budget_count_bytes(&b, 1, &err), &err);
    assert_refused(budget_check(&b, &err), &err, ERR_FAILED,
                   "left out: earlier items used all of the budget's 1.0 kB");
    assert_refused(budget_count_bytes(&b, 1, &err), &err, ERR_FAILED,
                   "its body is larger than the rest of the budget of 1.0 kB: the rest was not read");
    budget_release(&b);
}

static void a_cut_item_uses_the_whole_budget(void **state)
{
    (void)state;
    struct fetch_job grab = {.options.budget_bytes = 1000};
    struct budget b;
    struct err err = ERR_INIT;
    budget_init(&b, &grab);
    assert_int_equal(budget_count_bytes(&b, UINT64_MAX, &err), -1);
    assert_int_equal(budget_check(&b, &err), -1);
    budget_release(&b);
}

static void without_a_budget_there_is_no_limit(void **state)
{
    (void)state;
    struct fetch_job grab = {0};
    struct budget b;
    struct err err = ERR_INIT;
    budget_init(&b, &grab);
    assert_left_out(&b, "heap,cpu=1h,trace=1h", "");
    assert_ok(budget_count_bytes(&b, UINT64_MAX, &err), &err);
    assert_ok(budget_count_bytes(&b, UINT64_MAX, &err), &err);
    assert_ok(budget_check(&b, &err), &err);
    budget_release(&b);
}

/* Each attempt profiles the process again. */
static void a_retry_uses_the_budget_too(void **state)
{
    (void)state;
    struct fetch_job grab = {.options.budget_ms = 30000}, unbounded = {0};
    struct budget b;
    struct err err = ERR_INIT;
    budget_init(&b, &grab);
    assert_left_out(&b, "cpu=10", "");
    assert_ok(budget_count_attempt(&b, 10000, &err), &err);
    assert_ok(budget_count_attempt(&b, 10000, &err), &err);
    assert_refused(budget_count_attempt(&b, 1, &err), &err, ERR_FAILED,
                   "not tried again: the budget's 30s of profiling are used up");
    assert_ok(budget_count_attempt(&b, 0, &err), &err);
    assert_left_out(&b, "trace=1",
                    "trace: left out: it needs 1s of profiling, and of the budget's 30s only 0s remain\n");
    budget_release(&b);
    budget_init(&b, &unbounded);
    assert_ok(budget_count_attempt(&b, INT64_MAX, &err), &err);
    assert_ok(budget_count_attempt(&b, INT64_MAX, &err), &err);
    budget_release(&b);
}

/* ---- retries ----------------------------------------------------------------------------------------- */

static bool is_retried(enum err_kind kind, int http_status)
{
    struct err err = {.kind = kind};
    return retry_is_transient(&err, http_status);
}

static void transient_errors_are_retried(void **state)
{
    (void)state;
    assert_true(is_retried(ERR_TIMEOUT, 0));
    assert_true(is_retried(ERR_TIMEOUT, 200));
    assert_true(is_retried(ERR_LOST, 0));
    assert_true(is_retried(ERR_BUSY, 500));
    assert_true(is_retried(ERR_FAILED, 0)); /* connection refused */
    assert_true(is_retried(ERR_FAILED, 500));
    assert_true(is_retried(ERR_FAILED, 503));
    assert_true(is_retried(ERR_FAILED, 504));
}

static void permanent_errors_are_not_retried(void **state)
{
    (void)state;
    static const enum err_kind never[] = {ERR_NONE,      ERR_USAGE,       ERR_CANCELLED,
                                          ERR_NOT_FOUND, ERR_EXISTS,      ERR_LOCAL_IO,
                                          ERR_DENIED,    ERR_UNSUPPORTED, ERR_HOST_KEY};
    static const int statuses[] = {200, 302, 400, 401, 403, 404, 405, 429, 501};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        assert_false(is_retried(never[i], 0));
        assert_false(is_retried(never[i], 503));
    }
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        assert_false(is_retried(ERR_FAILED, statuses[i]));
}

static void wake_at_step(void *ctx, const struct host *host, const struct service *service,
                         const struct fetch_step *step)
{
    (void)host;
    (void)service;
    (void)step;
    /* The pause begins. */
    if (ctx)
        fd_pipe_wake(*(int *)ctx);
}

/* Asserts the message of an item that got a 503 and is given up after `attempts` retries. `wake_fd`, unless
 * NULL, cancels the run at the start of the pause. */
static void assert_given_up(struct fetch_job *grab, struct deadline *d, int *wake_fd, unsigned attempts,
                            const char *msg)
{
    struct fetch_observer observer = {.ctx = wake_fd, .step = wake_at_step};
    static const struct target target = {0};
    struct observe observe;
    struct err err = ERR_INIT;
    observe_init(&observe, &observer, d);
    struct retry retry = {.grab = grab, .observe = &observe, .target = &target, .attempts = attempts};
    err_set(&err, ERR_FAILED, "HTTP 503");
    assert_false(retry_wait(&retry, &err));
    assert_string_equal(err.msg, msg);
    assert_int_equal(err.kind, ERR_FAILED);
    observe_release(&observe);
}

static void the_reason_for_no_retry_is_reported(void **state)
{
    (void)state;
    int fds[2];
    struct deadline d;
    struct err err = ERR_INIT;
    assert_ok(fd_pipe_nonblocking(fds, &err), &err);
    struct fetch_job grab = {.access.cancel_fd = fds[0], .options.retries = 2}, within;
    assert_given_up(&grab, NULL, NULL, 2, "HTTP 503; it failed 3 times");
    assert_given_up(&grab, NULL, &fds[1], 1, "HTTP 503; it failed 2 times; then interrupted");
    assert_given_up(&grab, NULL, NULL, 0, "HTTP 503; then interrupted");
    /* Without another attempt there was nothing to interrupt. */
    assert_given_up(&grab, NULL, NULL, 2, "HTTP 503; it failed 3 times");
    fd_close(&fds[0]);
    fd_close(&fds[1]);
    grab = (struct fetch_job){.access.cancel_fd = -1, .options = {.retries = 2, .deadline_ms = 20}};
    assert_ok(deadline_init(&d, &grab, &within, &err), &err);
    assert_given_up(&within, &d, NULL, 0, "HTTP 503; then the run's deadline of 20ms was over");
    assert_given_up(&within, &d, NULL, 1,
                    "HTTP 503; it failed 2 times; then the run's deadline of 20ms was over");
    deadline_release(&d);
}

/* ---- the run's deadline ------------------------------------------------------------------------------ */

static struct err explain_error(struct deadline *d, enum err_kind kind, const char *msg)
{
    struct err err = ERR_INIT;
    err_set(&err, kind, "%s", msg);
    deadline_explain(d, &err);
    return err;
}

static void a_deadline_does_not_count_as_an_interruption(void **state)
{
    (void)state;
    struct fetch_job grab = {.access.cancel_fd = -1, .options.deadline_ms = 50}, within;
    struct deadline d;
    struct err err = ERR_INIT;
    assert_ok(deadline_init(&d, &grab, &within, &err), &err);
    assert_int_equal(fd_wait(within.access.cancel_fd, POLLIN, clock_deadline(20000), -1, &err), 0);
    assert_true(deadline_is_over(&d));
    err_set(&err, ERR_CANCELLED, "interrupted");
    err_append(&err, " before it was opened");
    err_wrap(&err, "interrupted host");
    deadline_explain(&d, &err);
    assert_string_equal(err.msg,
                        "interrupted host: the run's deadline of 50ms was over before it was opened");
    assert_int_equal(err.kind, ERR_TIMEOUT);
    err = explain_error(&d, ERR_CANCELLED, "the gateway was closed");
    assert_string_equal(err.msg, "the run's deadline of 50ms was over");
    err = explain_error(&d, ERR_FAILED, "interrupted");
    assert_string_equal(err.msg, "interrupted");
    deadline_release(&d);
}

static void an_interruption_does_not_count_as_a_deadline(void **state)
{
    (void)state;
    int fds[2];
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(fds, &err), &err);
    struct fetch_job grab = {.access.cancel_fd = fds[0], .options.deadline_ms = 60000}, within;
    struct deadline d;
    assert_ok(deadline_init(&d, &grab, &within, &err), &err);
    assert_false(fd_cancelled(within.access.cancel_fd));
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(fd_wait(within.access.cancel_fd, POLLIN, clock_deadline(20000), -1, &err), 0);
    assert_false(deadline_is_over(&d));
    err = explain_error(&d, ERR_CANCELLED, "interrupted");
    assert_string_equal(err.msg, "interrupted");
    deadline_release(&d);
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

static void without_a_deadline_nothing_changes(void **state)
{
    (void)state;
    struct fetch_job grab = {.access.cancel_fd = 7}, within;
    struct deadline d;
    struct err err = ERR_INIT;
    assert_ok(deadline_init(&d, &grab, &within, &err), &err);
    assert_int_equal(within.access.cancel_fd, 7);
    assert_false(deadline_is_over(&d));
    deadline_release(&d);
    err = explain_error(NULL, ERR_CANCELLED, "interrupted");
    assert_int_equal(err.kind, ERR_CANCELLED);
}

static int answer_late(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    (void)ret;
    *(int64_t *)ctx = q->deadline;
    fd_wait(-1, 0, q->deadline, -1, NULL);
    return err_set(err, ERR_TIMEOUT, "nobody answered");
}

static void a_question_ends_at_the_deadline_of_the_run(void **state)
{
    (void)state;
    int64_t asked_until = 0;
    struct fetch_job grab = {.access = {.cancel_fd = -1, .ask = answer_late, .ask_ctx = &asked_until},
                             .options.deadline_ms = 50};
    struct fetch_job within;
    struct deadline d;
    struct err err = ERR_INIT;
    struct question q = {.kind = ASK_HIDDEN, .deadline = clock_deadline(60000)};
    assert_ok(deadline_init(&d, &grab, &within, &err), &err);
    assert_int_equal(within.access.ask(within.access.ask_ctx, &q, NULL, &err), -1);
    assert_true(asked_until < q.deadline);
    assert_int_equal(err.kind, ERR_CANCELLED);
    deadline_release(&d);
}

/* ---- number of descriptors --------------------------------------------------------------------------- */

static size_t count_descriptors(const char *words, bool concurrent)
{
    static const struct host host;
    struct target items[] = {{&host, &usual}};
    struct targets targets = {.items = items, .n = 1};
    struct strlist kinds = {0};
    struct err err = ERR_INIT;
    assert_ok(strlist_split(&kinds, words, &err), &err);
    struct fetch_job grab = {
        .targets = &targets, .kinds = &kinds, .options = {.parallel = 1, .concurrent = concurrent}};
    size_t n = fetch_count_descriptors(&grab);
    assert_int_equal(fetch_affordable_hosts(&grab, n), 1);
    strlist_release(&kinds);
    return n;
}

static void each_parallel_item_needs_its_own_descriptors(void **state)
{
    (void)state;
    size_t one = count_descriptors("cpu", false), per_item = count_descriptors("cpu", true) - one;
    assert_true(per_item >= 6);
    assert_int_equal(count_descriptors("cpu,trace,mutex=5,heap,allocs", false), one);
    assert_int_equal(count_descriptors("cpu,trace,mutex=5,heap,allocs", true), one + 3 * per_item);
}

/* ---- sync -------------------------------------------------------------------------------------------- */

static const int64_t instant = INT64_C(1760000000000);

/* Records an item that began this much later than the instant. */
static struct fetch_item record_item(struct sync *s, enum kind_rank rank, int64_t later_ms,
                                     int64_t clock_skew_ms)
{
    struct sync_start start = {.at = 1, .utc = instant};
    struct plan_item plan = {.rank = rank};
    struct fetch_item item = {.has_profile = true, .profile.duration_ns = INT64_C(5000000000)};
    item.profile.time_ns = (instant + later_ms) * 1000000;
    sync_record(s, &start, &plan, clock_skew_ms, &item);
    return item;
}

static struct sync make_sync(void)
{
    struct fetch_job grab = {.access.cancel_fd = -1, .options = {.sync = true, .sync_deadline_ms = 1000}};
    struct sync s;
    struct err err = ERR_INIT;
    assert_ok(sync_init(&s, &grab, 1, &err), &err);
    return s;
}

static void the_skew_is_read_from_the_profile(void **state)
{
    (void)state;
    struct sync s = make_sync();
    assert_int_equal(record_item(&s, RANK_CPU, 7, 0).sync_skew_ms, 7);
    assert_int_equal(record_item(&s, RANK_CPU, -7, 900).sync_skew_ms, -7);
    /* A delta profile states the time of its end. */
    assert_int_equal(record_item(&s, RANK_DELTA, 5003, 0).sync_skew_ms, 3);
    /* The clock is a minute ahead: its error is subtracted from the skew, and the item is not counted. */
    assert_int_equal(record_item(&s, RANK_CPU, 60120, 60000).sync_skew_ms, 120);
    assert_int_equal(s.n, 3);
    sync_release(&s);
}

static void percentiles_of_the_skew_are_computed(void **state)
{
    (void)state;
    struct sync s = make_sync();
    struct fetch_outcome o = {0};
    for (int i = 1; i <= 20; i++)
        record_item(&s, RANK_CPU, i % 2 ? i : -i, 0);
    sync_summarize(&s, &o);
    assert_int_equal(o.sync_measured, 20);
    assert_int_equal(o.sync_p50_ms, 10);
    assert_int_equal(o.sync_p95_ms, 19);
    assert_int_equal(o.sync_max_ms, 20);
    sync_release(&s);
}

static void an_item_without_a_time_has_no_skew(void **state)
{
    (void)state;
    struct sync s = make_sync();
    struct sync_start start = {.at = 1, .utc = instant}, none = {0};
    struct plan_item plan = {.rank = RANK_TRACE};
    struct fetch_item item = {.has_profile = false};
    struct fetch_outcome o = {0};
    sync_record(&s, &start, &plan, 0, &item);
    assert_false(item.has_sync_skew);
    item = (struct fetch_item){.has_profile = true, .profile.time_ns = instant * 1000000};
    sync_record(&s, &none, &plan, 0, &item);
    assert_false(item.has_sync_skew);
    item.profile.time_ns = -1;
    sync_record(&s, &start, &plan, 0, &item);
    item.profile = (struct profile_summary){.time_ns = 5, .duration_ns = INT64_MAX};
    sync_record(&s, &start, &plan, 0, &item);
    assert_false(item.has_sync_skew);
    sync_summarize(&s, &o);
    assert_int_equal(o.sync_measured, 0);
    sync_release(&s);
}

static void a_late_target_is_marked_and_not_counted(void **state)
{
    (void)state;
    struct sync s = make_sync();
    struct sync_start start = {.at = 1, .utc = instant, .late = true};
    struct plan_item plan = {.rank = RANK_CPU};
    struct fetch_item item = {.has_profile = true, .file = "x"};
    item.profile.time_ns = (instant + 4000) * 1000000;
    sync_record(&s, &start, &plan, 0, &item);
    assert_true(item.late);
    assert_int_equal(item.sync_skew_ms, 4000);
    assert_int_equal(item.findings.n, 1);
    assert_string_equal(item.findings.items[0].rule->id, "sync-late");
    assert_int_equal(s.n, 0);
    fetch_item_release(&item);
    sync_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_budget_is_used_in_the_plans_order),
        cmocka_unit_test(each_attempt_uses_the_time_budget),
        cmocka_unit_test(bytes_are_estimated_before_the_fetch),
        cmocka_unit_test(bytes_are_counted_as_they_arrive),
        cmocka_unit_test(a_cut_item_uses_the_whole_budget),
        cmocka_unit_test(without_a_budget_there_is_no_limit),
        cmocka_unit_test(a_retry_uses_the_budget_too),
        cmocka_unit_test(transient_errors_are_retried),
        cmocka_unit_test(permanent_errors_are_not_retried),
        cmocka_unit_test(the_reason_for_no_retry_is_reported),
        cmocka_unit_test(a_deadline_does_not_count_as_an_interruption),
        cmocka_unit_test(an_interruption_does_not_count_as_a_deadline),
        cmocka_unit_test(without_a_deadline_nothing_changes),
        cmocka_unit_test(a_question_ends_at_the_deadline_of_the_run),
        cmocka_unit_test(each_parallel_item_needs_its_own_descriptors),
        cmocka_unit_test(the_skew_is_read_from_the_profile),
        cmocka_unit_test(percentiles_of_the_skew_are_computed),
        cmocka_unit_test(an_item_without_a_time_has_no_skew),
        cmocka_unit_test(a_late_target_is_marked_and_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
