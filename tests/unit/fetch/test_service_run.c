/* The fetches of one service: items that fail, arrive damaged, wait for each other or were collected
 * before. The transfers are simulated. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "fetch/item.h"
#include "fetch/service_run.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* Longer than any of these tests takes. */
#define LONG_MS 3000

/* ---- simulated transfers ----------------------------------------------------------------------------- */

/* The simulated result of an attempt at an item. */
struct attempt {
    enum fetch_status status;
    size_t bytes;       /* of the file; 0: no file */
    enum err_kind kind; /* of the error; ERR_NONE: no error */
    bool cancels;       /* the attempt cancels the run */
};

static struct {
    pthread_mutex_t mutex; /* of members that side threads write */
    const struct attempt *attempts;
    size_t n_attempts;
    unsigned fetched;   /* number of attempts at items */
    unsigned connects;  /* connections besides the run's own */
    bool unreachable;   /* connecting fails */
    unsigned pages;     /* requests of the index page */
    int64_t page_ms;    /* duration of each request of the page */
    bool endless;       /* the page never ends */
    int cancel[2];      /* a pipe; readable: the run is cancelled */
    bool cancel_waits;  /* a waiting item cancels the run */
    const char *locked; /* a file that cannot be opened */
    unsigned waits;     /* number of waiting events */
    char items[2000];   /* the items that the observer got, one per line */
    char beside[400];   /* the concurrent kinds of each item that has some, each with a bar at its end */
    unsigned late;      /* number of late items */
    struct err last;    /* the error of the last item */
    char findings[400]; /* the rules of the findings on the last item */
} simulated;

static char a_transfer, another_transfer;
static struct transfer *const own = (void *)&a_transfer, *const others = (void *)&another_transfer;

int64_t __wrap_clock_jitter(int64_t ms);
int64_t __wrap_clock_jitter(int64_t ms)
{
    (void)ms;
    return 0;
}

int __wrap_service_run_connect(struct service_run *v, struct transfer **ret, struct err *err);
int __wrap_service_run_connect(struct service_run *v, struct transfer **ret, struct err *err)
{
    (void)v;
    pthread_mutex_lock(&simulated.mutex);
    simulated.connects++;
    pthread_mutex_unlock(&simulated.mutex);
    if (simulated.unreachable)
        return err_set(err, ERR_FAILED, "connection refused");
    *ret = others;
    return 0;
}

int __wrap_gateway_renew(struct gateway *gw, struct err *err);
int __wrap_gateway_renew(struct gateway *gw, struct err *err)
{
    (void)gw;
    (void)err;
    return 0;
}

void __wrap_transfer_free(struct transfer *t);
void __wrap_transfer_free(struct transfer *t)
{
    (void)t;
}

int __real_dir_open(const struct dir *dir, const char *path, struct err *err);
int __wrap_dir_open(const struct dir *dir, const char *path, struct err *err);
int __wrap_dir_open(const struct dir *dir, const char *path, struct err *err)
{
    return simulated.locked && strstr(path, simulated.locked)
               ? err_set(err, ERR_LOCAL_IO, "too many open files")
               : __real_dir_open(dir, path, err);
}

/* A body that begins with "secret" contains the service's secret. A body that begins with a question mark
 * cannot be read. */
int __wrap_transfer_find_secret(const struct transfer *t, int fd, bool *ret_has_secret);
int __wrap_transfer_find_secret(const struct transfer *t, int fd, bool *ret_has_secret)
{
    char beginning[8] = "";
    assert_non_null(t);
    assert_int_equal(pread(fd, beginning, 6, 0), 6);
    if (beginning[0] == '?')
        return -1;
    *ret_has_secret = strcmp(beginning, "secret") == 0;
    return 0;
}

void __wrap_transfer_expect_new_connection(struct transfer *t);
void __wrap_transfer_expect_new_connection(struct transfer *t)
{
    (void)t;
}

int64_t __wrap_transfer_round_trip(const struct transfer *t);
int64_t __wrap_transfer_round_trip(const struct transfer *t)
{
    (void)t;
    return 0;
}

/* The index page, the only request besides items. */
int __wrap_transfer_get(struct transfer *t, const char *target, const struct http_get *get,
                        struct http_response *ret, struct err *err);
int __wrap_transfer_get(struct transfer *t, const char *target, const struct http_get *get,
                        struct http_response *ret, struct err *err)
{
    static const char piece[65536];
    (void)t;
    (void)target;
    simulated.pages++;
    *ret = (struct http_response){.status = 200};
    fd_wait(-1, 0, clock_deadline(simulated.page_ms), -1, NULL);
    for (int i = 0; i < (simulated.endless ? 1000 : 1); i++)
        if (get->body(get->ctx, piece, sizeof piece, err) < 0)
            return -1;
    assert_false(simulated.endless);
    return 0;
}

static void store_body(const struct plan_item *plan, const struct item_context *context,
                       struct fetch_item *ret)
{
    char path[1200], *body = malloc(ret->bytes);
    assert_non_null(body);
    memset(body, 'x', ret->bytes);
    snprintf(ret->file, sizeof ret->file, "%s/%s%s", context->directory, plan->file,
             ret->status == FETCH_OK ? "" : ".damaged");
    snprintf(path, sizeof path, "%s/%s", context->work->name, ret->file);
    assert_int_equal(access(path, F_OK), -1);
    free(scratch_file(context->work->name, ret->file, body, ret->bytes));
    free(body);
}

void __wrap_item_fetch(struct transfer *t, const struct plan_item *plan, const struct item_context *context,
                       struct fetch_item *ret);
void __wrap_item_fetch(struct transfer *t, const struct plan_item *plan, const struct item_context *context,
                       struct fetch_item *ret)
{
    static const struct attempt good = {FETCH_OK, 10, ERR_NONE, false};
    assert_non_null(t);
    context->ready(context->progress_ctx);
    pthread_mutex_lock(&simulated.mutex);
    const struct attempt *a =
        simulated.fetched < simulated.n_attempts ? &simulated.attempts[simulated.fetched] : &good;
    simulated.fetched++;
    if (context->concurrent_kinds)
        snprintf(simulated.beside + strlen(simulated.beside),
                 sizeof simulated.beside - strlen(simulated.beside), "%s|", context->concurrent_kinds);
    *ret = (struct fetch_item){.status = a->status, .bytes = a->bytes, .pair = plan->pair};
    snprintf(ret->kind, sizeof ret->kind, "%s", plan->kind);
    ret->transient = a->status != FETCH_OK;
    if (a->kind != ERR_NONE)
        err_set(&ret->err, a->kind, "attempt %u failed", simulated.fetched);
    if (a->bytes > 0)
        store_body(plan, context, ret);
    if (a->cancels)
        fd_pipe_wake(simulated.cancel[1]);
    pthread_mutex_unlock(&simulated.mutex);
}

/* ---- observer ---------------------------------------------------------------------------------------- */

static void on_item(void *ctx, const struct target *target, const struct fetch_item *item)
{
    static const char *const words[] = {"ok", "damaged", "failed", "interrupted", "left out"};
    (void)ctx;
    (void)target;
    size_t n = strlen(simulated.items);
    snprintf(simulated.items + n, sizeof simulated.items - n, "%s%s: %s, %llu\n", item->kind,
             item->pair == 2 ? " later" : "", words[item->status], (unsigned long long)item->bytes);
    simulated.last = item->err;
    simulated.late += item->late;
    simulated.findings[0] = '\0';
    for (size_t i = 0; i < item->findings.n; i++) {
        n = strlen(simulated.findings);
        snprintf(simulated.findings + n, sizeof simulated.findings - n, "%s ",
                 item->findings.items[i].rule->id);
    }
}

static void on_progress(void *ctx, const struct target *target, const struct fetch_progress *p)
{
    (void)ctx;
    (void)target;
    simulated.waits += p->waiting != NULL;
    if (p->waiting && simulated.cancel_waits)
        fd_pipe_wake(simulated.cancel[1]);
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    (void)ctx;
    (void)host;
    (void)service;
    (void)step;
}

static bool is_not_collected(void *ctx, const struct target *target, const struct fetch_planned *item,
                             int64_t *ret_started)
{
    (void)ctx;
    (void)target;
    (void)item;
    (void)ret_started;
    return false;
}

/* ---- a run ------------------------------------------------------------------------------------------- */

static char usual_path[] = "/debug/pprof", usual_name[] = "p1", usual_host[] = "file-01";
static const struct host host = {.name = usual_host};
static const struct service service = {.name = usual_name, .path = usual_path};
static const struct target target = {&host, &service};
static const struct fetch_observer observer = {.item = on_item, .progress = on_progress, .step = on_step};

struct stage {
    struct service_run run;
    struct service_context context;
    struct dir work;
    struct fetch_job grab;
    struct fetch_observer observer;
    struct observe observe;
    struct sync sync;
    struct barrier_participant participant;
    struct budget budget;
    struct plan_item items[6];
};

/* Prepares a run below the directory. A test may change the options before it starts the run. */
static void stage_begin(struct stage *s, const char *directory)
{
    struct err err = ERR_INIT;
    *s = (struct stage){.grab = {.directory = &s->work, .access = {.cancel_fd = -1, .timeout_ms = 1000}}};
    s->work = (struct dir){.fd = dir_open_user_path(directory, &err), .name = directory};
    assert_ok(s->work.fd, &err);
    memset(&simulated, 0, sizeof simulated);
    pthread_mutex_init(&simulated.mutex, NULL);
    assert_ok(fd_pipe_nonblocking(simulated.cancel, &err), &err);
    s->grab.access.cancel_fd = simulated.cancel[0];
    s->grab.options.sync_deadline_ms = LONG_MS;
    s->observer = observer;
    observe_init(&s->observe, &s->observer, NULL);
    budget_init(&s->budget, &s->grab);
    s->context = (struct service_context){
        .grab = &s->grab, .observe = &s->observe, .sync = &s->sync, .budget = &s->budget};
    s->run = (struct service_run){.context = &s->context,
                                  .target = &target,
                                  .transfer = own,
                                  .plan.items = s->items,
                                  .directory = "file-01/p1"};
    pthread_mutex_init(&s->run.mutex, NULL);
    assert_ok(dir_mkdirs(&s->work, s->run.directory, &err), &err);
}

/* Sets --sync for this number of processes, one of which is this run. */
static void synchronize(struct stage *s, size_t processes)
{
    struct err err = ERR_INIT;
    s->grab.options.sync = true;
    assert_ok(sync_init(&s->sync, &s->grab, processes, &err), &err);
    s->participant.barrier = s->sync.barrier;
    s->context.participant = &s->participant;
}

/* Adds an item to the plan, and returns it. `timed_ms` 0: a snapshot. */
static struct plan_item *add_to_plan(struct stage *s, const char *kind, int64_t timed_ms)
{
    struct plan_item *item = &s->items[s->run.plan.n++];
    *item = (struct plan_item){.timed_ms = timed_ms, .format = BODY_RAW};
    snprintf(item->kind, sizeof item->kind, "%s", kind);
    snprintf(item->file, sizeof item->file, "%s.bin", kind);
    return item;
}

/* Plans a pair, and returns its second item. */
static struct plan_item *plan_pair(struct stage *s, const char *kind)
{
    size_t i = s->run.plan.n;
    struct plan_item *first = add_to_plan(s, kind, 0), *later = add_to_plan(s, kind, 0);
    snprintf(later->file, sizeof later->file, "%s.later.bin", kind);
    first->pair = 1;
    first->other_of_pair = i + 1;
    later->pair = 2;
    later->other_of_pair = i;
    return later;
}

static void assert_items(struct stage *s, const char *items)
{
    service_run_fetch(&s->run);
    assert_string_equal(simulated.items, items);
}

static void stage_end(struct stage *s)
{
    pthread_mutex_destroy(&s->run.mutex);
    budget_release(&s->budget);
    observe_release(&s->observe);
    if (s->grab.options.sync)
        sync_release(&s->sync);
    fd_close(&s->work.fd);
    fd_close(&simulated.cancel[0]);
    fd_close(&simulated.cancel[1]);
    pthread_mutex_destroy(&simulated.mutex);
}

#define ATTEMPTS(...)                                                                                        \
    do {                                                                                                     \
        static const struct attempt all_[] = {__VA_ARGS__};                                                  \
        simulated.attempts = all_;                                                                           \
        simulated.n_attempts = sizeof all_ / sizeof *all_;                                                   \
    } while (0)

/* The size of a file of the service; -1: it does not exist. */
static int64_t size_of(const struct stage *s, const char *name)
{
    char path[1200];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s/%s", s->work.name, s->run.directory, name);
    return lstat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static void write_file(const struct stage *s, const char *name, const char *text)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", s->run.directory, name);
    free(scratch_file(s->work.name, path, text, strlen(text)));
}

/* The number of the service's files. */
static size_t count_files(const struct stage *s)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", s->work.name, s->run.directory);
    return scratch_count(path);
}

/* ---- retries ----------------------------------------------------------------------------------------- */

static void the_larger_of_two_damaged_bodies_is_kept(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.retries = 1;
    add_to_plan(&s, "trace", 1000);
    ATTEMPTS({FETCH_DAMAGED, 400, ERR_FAILED, false}, {FETCH_DAMAGED, 10, ERR_FAILED, false});
    assert_items(&s, "trace: damaged, 400\n");
    assert_int_equal(size_of(&s, "trace.bin.damaged"), 400);
    assert_int_equal(count_files(&s), 1);
    assert_contains(simulated.last.msg, "attempt 1 failed; it failed 2 times");
    /* There is no finding `retried`, because the second attempt failed too. */
    assert_string_equal(simulated.findings, "");
    stage_end(&s);
}

static void a_later_larger_damaged_body_is_kept(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.retries = 2;
    add_to_plan(&s, "trace", 1000);
    ATTEMPTS({FETCH_DAMAGED, 10, ERR_FAILED, false}, {FETCH_FAILED, 0, ERR_TIMEOUT, false},
             {FETCH_DAMAGED, 400, ERR_FAILED, false});
    assert_items(&s, "trace: damaged, 400\n");
    assert_int_equal(size_of(&s, "trace.bin.damaged"), 400);
    assert_int_equal(count_files(&s), 1);
    assert_string_equal(simulated.findings, "retried ");
    stage_end(&s);
}

static void a_whole_body_replaces_a_larger_damaged_one(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.retries = 1;
    add_to_plan(&s, "trace", 1000);
    ATTEMPTS({FETCH_DAMAGED, 400, ERR_FAILED, false}, {FETCH_OK, 20, ERR_NONE, false});
    assert_items(&s, "trace: ok, 20\n");
    assert_int_equal(size_of(&s, "trace.bin"), 20);
    assert_int_equal(count_files(&s), 1);
    assert_string_equal(simulated.findings, "retried ");
    stage_end(&s);
}

static void a_new_session_keeps_the_larger_body_too(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    add_to_plan(&s, "trace", 1000);
    ATTEMPTS({FETCH_DAMAGED, 400, ERR_LOST, false}, {FETCH_INTERRUPTED, 10, ERR_CANCELLED, true});
    assert_items(&s, "trace: damaged, 400\n");
    assert_int_equal(size_of(&s, "trace.bin.damaged"), 400);
    assert_int_equal(count_files(&s), 1);
    assert_string_equal(simulated.findings, "");
    stage_end(&s);
}

static void each_attempt_uses_budgeted_time(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.retries = 3;
    s.grab.options.budget_ms = 70;
    add_to_plan(&s, "heap", 0);
    add_to_plan(&s, "cpu", 30);
    ATTEMPTS({FETCH_FAILED, 0, ERR_FAILED, false}, {FETCH_OK, 10, ERR_NONE, false},
             {FETCH_FAILED, 0, ERR_FAILED, false}, {FETCH_FAILED, 0, ERR_FAILED, false},
             {FETCH_FAILED, 0, ERR_FAILED, false});
    budget_apply(&s.budget, &s.run.plan, NULL);
    assert_items(&s, "heap: ok, 10\ncpu: failed, 0\n");
    assert_int_equal(simulated.fetched, 4);
    assert_string_equal(simulated.last.msg,
                        "attempt 4 failed; it failed 2 times; not tried again: the budget's 70ms of "
                        "profiling are used up");
    stage_end(&s);
}

static void a_new_session_uses_budgeted_time_too(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.budget_ms = 50;
    s.grab.options.retries = 1;
    add_to_plan(&s, "cpu", 30);
    ATTEMPTS({FETCH_FAILED, 0, ERR_LOST, false});
    budget_apply(&s.budget, &s.run.plan, NULL);
    assert_items(&s, "cpu: failed, 0\n");
    assert_int_equal(simulated.fetched, 1);
    assert_string_equal(simulated.last.msg,
                        "attempt 1 failed; not tried again: the budget's 50ms of profiling are used up");
    stage_end(&s);
}

/* ---- sync -------------------------------------------------------------------------------------------- */

static void one_parallel_item_waits_at_the_barrier_for_all(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    synchronize(&s, 1);
    s.grab.options.concurrent = true;
    snprintf(add_to_plan(&s, "cpu", 10)->left_out, 100, "left out: it is too long");
    add_to_plan(&s, "mutex", 10);
    add_to_plan(&s, "trace", 10);
    service_run_fetch(&s.run);
    assert_int_equal(simulated.fetched, 2);
    assert_int_equal(simulated.connects, 2);
    assert_int_equal(s.participant.n_rounds, 1);
    assert_int_equal(barrier_round(s.sync.barrier, 0).arrived, 1);
    assert_true(strcmp(simulated.beside, "trace|mutex|") == 0 ||
                strcmp(simulated.beside, "mutex|trace|") == 0);
    stage_end(&s);
}

/* The failed wait of one item counts for all parallel items. */
static void an_item_that_cannot_wait_begins_at_once(void **state)
{
    struct stage s;
    int pipe[2];
    struct err err = ERR_INIT;
    assert_ok(fd_pipe_nonblocking(pipe, &err), &err);
    fd_pipe_wake(pipe[1]);
    stage_begin(&s, *state);
    s.grab.access.cancel_fd = pipe[0];
    synchronize(&s, 2);
    s.grab.access.cancel_fd = simulated.cancel[0];
    s.grab.options.concurrent = true;
    add_to_plan(&s, "mutex", 10);
    add_to_plan(&s, "trace", 10);
    service_run_fetch(&s.run);
    assert_int_equal(simulated.fetched, 2);
    assert_int_equal(s.participant.n_rounds, 1);
    stage_end(&s);
    fd_close(&pipe[0]);
    fd_close(&pipe[1]);
}

static void a_collected_item_does_not_wait_at_the_barrier(void **state)
{
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        struct stage s;
        stage_begin(&s, *state);
        synchronize(&s, 2);
        s.grab.options.concurrent = concurrent;
        s.observer.is_collected = is_not_collected;
        add_to_plan(&s, "cpu", 10)->already_collected = true;
        add_to_plan(&s, "trace", 10)->already_collected = true;
        assert_items(&s, "");
        assert_int_equal(simulated.pages, 0);
        assert_int_equal(s.participant.n_rounds, 0);
        assert_true(s.participant.left);
        stage_end(&s);
    }
}

static void a_second_attempt_counts_as_late(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    synchronize(&s, 1);
    s.grab.options.retries = 1;
    add_to_plan(&s, "cpu", 10);
    add_to_plan(&s, "mutex", 10);
    add_to_plan(&s, "trace", 10);
    ATTEMPTS({FETCH_OK, 10, ERR_NONE, false}, {FETCH_FAILED, 0, ERR_BUSY, false},
             {FETCH_OK, 10, ERR_NONE, false}, {FETCH_FAILED, 0, ERR_TIMEOUT, false},
             {FETCH_OK, 10, ERR_NONE, false});
    assert_items(&s, "cpu: ok, 10\nmutex: ok, 10\ntrace: ok, 10\n");
    assert_int_equal(simulated.late, 2);
    assert_string_equal(simulated.findings, "retried sync-late ");
    stage_end(&s);
}

static void the_start_of_the_kept_attempt_counts(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    synchronize(&s, 1);
    s.grab.options.retries = 1;
    add_to_plan(&s, "trace", 10);
    ATTEMPTS({FETCH_DAMAGED, 400, ERR_FAILED, false}, {FETCH_DAMAGED, 10, ERR_FAILED, false});
    assert_items(&s, "trace: damaged, 400\n");
    assert_int_equal(simulated.late, 0);
    stage_end(&s);
}

static void only_a_small_quick_page_measures_the_round_trip_again(void **state)
{
    static const struct {
        int64_t page_ms; /* these three: see `simulated` */
        bool endless;
        unsigned pages;
    } cases[] = {{0, false, 3}, {300, false, 1}, {0, true, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stage s;
        char directory[600];
        snprintf(directory, sizeof directory, "%s/%zu", (char *)*state, i);
        assert_int_equal(mkdir(directory, 0700), 0);
        stage_begin(&s, directory);
        synchronize(&s, 1);
        simulated.page_ms = cases[i].page_ms;
        simulated.endless = cases[i].endless;
        add_to_plan(&s, "cpu", 10);
        assert_items(&s, "cpu: ok, 10\n");
        assert_int_equal(simulated.pages, cases[i].pages);
        stage_end(&s);
    }
}

/* ---- the second of a pair ---------------------------------------------------------------------------- */

static void the_second_of_a_pair_waits_for_its_interval(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.pair_ms = 30;
    plan_pair(&s, "heap");
    int64_t began = clock_now();
    assert_items(&s, "heap: ok, 10\nheap later: ok, 10\n");
    assert_true(clock_now() - began >= 30);
    assert_int_equal(simulated.waits, 1);
    stage_end(&s);
}

static void no_wait_precedes_an_item_that_is_not_fetched(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.pair_ms = LONG_MS;
    s.grab.options.budget_bytes = 1000;
    struct err err = ERR_INIT;
    snprintf(plan_pair(&s, "heap")->left_out, 100, "left out: it is too large");
    plan_pair(&s, "allocs");
    plan_pair(&s, "block");
    /* The first item of the second pair fails, so its second item does not wait. Later the budget is used
     * up. */
    ATTEMPTS({FETCH_OK, 10, ERR_NONE, false}, {FETCH_FAILED, 0, ERR_NOT_FOUND, false});
    s.run.plan.n = 4;
    assert_items(&s, "heap: ok, 10\nheap later: left out, 0\nallocs: failed, 0\nallocs later: ok, 10\n");
    assert_int_equal(simulated.waits, 0);
    assert_ok(budget_count_bytes(&s.budget, 1000, &err), &err);
    simulated.items[0] = '\0';
    s.items[4].began = clock_now();
    s.items[0] = s.items[5];
    s.run.plan.n = 1;
    assert_items(&s, "block later: left out, 0\n");
    assert_int_equal(simulated.waits, 0);
    stage_end(&s);
}

static void a_cancelled_run_does_not_wait_for_the_second_of_a_pair(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.pair_ms = LONG_MS;
    plan_pair(&s, "heap");
    ATTEMPTS({FETCH_OK, 10, ERR_NONE, true});
    assert_items(&s, "heap: ok, 10\nheap later: interrupted, 0\n");
    assert_int_equal(simulated.waits, 0);
    stage_end(&s);
}

static void the_wait_for_the_second_of_a_pair_ends_on_cancel(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.grab.options.pair_ms = LONG_MS;
    plan_pair(&s, "heap");
    simulated.cancel_waits = true;
    assert_items(&s, "heap: ok, 10\nheap later: interrupted, 0\n");
    assert_int_equal(simulated.waits, 1);
    stage_end(&s);
}

/* ---- files of an earlier run ------------------------------------------------------------------------- */

static int find_unrecorded(struct stage *s, const struct target *t, const struct fetch_planned *item,
                           struct fetch_item *ret, struct err *err)
{
    const struct fetch_unrecorded left = {
        .directory = &s->work, .target = t, .item = item, .cancel_fd = s->grab.access.cancel_fd};
    return fetch_find_unrecorded(&left, ret, err);
}

static void recovered_items_need_no_connection(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.observer.is_collected = is_not_collected;
    s.grab.options.concurrent = true;
    simulated.unreachable = true;
    add_to_plan(&s, "cpu", 10);
    add_to_plan(&s, "trace", 10);
    write_file(&s, "cpu.bin", "a whole one");
    write_file(&s, "trace.bin.damaged", "half of one");
    service_run_fetch(&s.run);
    assert_contains(simulated.items, "cpu: ok, 11\n");
    assert_contains(simulated.items, "trace: damaged, 11\n");
    assert_int_equal(simulated.fetched, 0);
    assert_int_equal(size_of(&s, "cpu.bin"), 11);
    assert_int_equal(size_of(&s, "trace.bin.damaged"), 11);
    stage_end(&s);
}

static void a_file_set_aside_before_the_kill_is_found(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.observer.is_collected = is_not_collected;
    add_to_plan(&s, "trace", 10);
    add_to_plan(&s, "vars", 0)->ending_by_type = true;
    snprintf(s.items[1].file, sizeof s.items[1].file, "vars");
    write_file(&s, "trace.bin.before", "most of one");
    write_file(&s, "trace.bin.part", "a bit of");
    write_file(&s, "vars.json.before", "most of it");
    ATTEMPTS({FETCH_FAILED, 0, ERR_NOT_FOUND, false}, {FETCH_FAILED, 0, ERR_NOT_FOUND, false});
    assert_items(&s, "trace: damaged, 11\nvars: damaged, 10\n");
    assert_int_equal(size_of(&s, "trace.bin.damaged"), 11);
    assert_int_equal(size_of(&s, "vars.bin.damaged"), 10);
    assert_int_equal(count_files(&s), 2);
    stage_end(&s);
}

static void a_file_with_the_secret_is_removed_and_an_unreadable_one_stays(void **state)
{
    struct stage s;
    stage_begin(&s, *state);
    s.observer.is_collected = is_not_collected;
    add_to_plan(&s, "cpu", 10);
    add_to_plan(&s, "mutex", 10);
    add_to_plan(&s, "trace", 10);
    write_file(&s, "cpu.bin.part", "secret, and more");
    write_file(&s, "mutex.bin.part", "? nobody knows");
    write_file(&s, "trace.bin.part", "half of one");
    simulated.locked = "trace.bin.part";
    ATTEMPTS({FETCH_FAILED, 0, ERR_NOT_FOUND, false}, {FETCH_FAILED, 0, ERR_NOT_FOUND, false},
             {FETCH_FAILED, 0, ERR_NOT_FOUND, false});
    assert_items(&s, "cpu: failed, 0\nmutex: failed, 0\ntrace: failed, 0\n");
    assert_int_equal(size_of(&s, "mutex.bin.part"), 14);
    assert_int_equal(size_of(&s, "trace.bin.part"), 11);
    assert_int_equal(count_files(&s), 2);
    stage_end(&s);
}

/* The service's directory becomes a link after the work directory was checked: the files behind the link are
 * not read, moved, removed or written. */
static void the_target_of_a_link_does_not_change(void **state)
{
    struct fetch_planned heap = {.kind = "heap", .argument = ""};
    struct fetch_item found;
    struct err err = ERR_INIT;
    struct stage s;
    stage_begin(&s, *state);
    char *outside = format_text("%s/outside", (char *)*state),
         *place = format_text("%s/file-01/p1", (char *)*state);
    static const char *const names[] = {"heap.pb.gz",        "heap.pb.gz.part",    "heap.pb.gz.damaged",
                                        "heap.pb.gz.before", "heap.pb.gz.earlier", "trace.bin.part"};
    assert_int_equal(mkdir(outside, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        free(scratch_file(outside, names[i], "precious", 8));
    assert_int_equal(rmdir(place), 0);
    assert_int_equal(symlink("../outside", place), 0);
    assert_int_equal(find_unrecorded(&s, &target, &heap, &found, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    s.observer.is_collected = is_not_collected;
    add_to_plan(&s, "trace", 10);
    ATTEMPTS({FETCH_FAILED, 0, ERR_NOT_FOUND, false});
    assert_items(&s, "trace: failed, 0\n");
    assert_int_equal(scratch_count(outside), sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = file_join(outside, names[i]);
        struct buf b = scratch_read(path);
        assert_string_equal(buf_str(&b), "precious");
        buf_release(&b);
        free(path);
    }
    stage_end(&s);
    free(outside);
    free(place);
}

static void a_cancelled_check_does_not_change_the_file(void **state)
{
    struct fetch_planned heap = {.kind = "heap", .argument = ""};
    struct fetch_item found;
    struct err err = ERR_INIT;
    struct stage s;
    int pipe_fds[2];
    stage_begin(&s, *state);
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    int cancel_fd = s.grab.access.cancel_fd;
    s.grab.access.cancel_fd = pipe_fds[0];
    write_file(&s, "heap.pb.gz", "a whole one");
    assert_int_equal(find_unrecorded(&s, &target, &heap, &found, &err), -1);
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_int_equal(size_of(&s, "heap.pb.gz"), 11);
    assert_int_equal(count_files(&s), 1);
    s.grab.access.cancel_fd = cancel_fd;
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    stage_end(&s);
}

/* For a service with a secret, a file that was set aside was checked for the secret; an incomplete body was
 * not. */
static void checked_files_are_recovered_without_the_host(void **state)
{
    struct service secret = service;
    struct target closed = {&host, &secret};
    struct fetch_planned heap = {.kind = "heap", .argument = ""}, cpu = {.kind = "cpu", .argument = "30s"};
    struct fetch_item found;
    struct err err = ERR_INIT;
    struct stage s;
    stage_begin(&s, *state);
    secret.auth.secret.kind = SECRET_ENV;
    write_file(&s, "heap.pb.gz.earlier", "most of one");
    write_file(&s, "cpu.pb.gz.part", "nobody looked at it");
    assert_ok(find_unrecorded(&s, &closed, &heap, &found, &err), &err);
    assert_int_equal(found.status, FETCH_DAMAGED);
    assert_int_equal(found.bytes, 11);
    fetch_item_release(&found);
    assert_int_equal(size_of(&s, "heap.pb.gz.damaged"), 11);
    assert_int_equal(find_unrecorded(&s, &closed, &cpu, &found, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_int_equal(size_of(&s, "cpu.pb.gz.part"), 19);
    /* For a service without a secret, both are kept. */
    secret.auth.secret.kind = SECRET_NONE;
    assert_ok(find_unrecorded(&s, &closed, &cpu, &found, &err), &err);
    assert_int_equal(found.bytes, 19);
    fetch_item_release(&found);
    stage_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(the_larger_of_two_damaged_bodies_is_kept),
        SCRATCH(a_later_larger_damaged_body_is_kept),
        SCRATCH(a_whole_body_replaces_a_larger_damaged_one),
        SCRATCH(a_new_session_keeps_the_larger_body_too),
        SCRATCH(each_attempt_uses_budgeted_time),
        SCRATCH(a_new_session_uses_budgeted_time_too),
        SCRATCH(one_parallel_item_waits_at_the_barrier_for_all),
        SCRATCH(an_item_that_cannot_wait_begins_at_once),
        SCRATCH(a_collected_item_does_not_wait_at_the_barrier),
        SCRATCH(a_second_attempt_counts_as_late),
        SCRATCH(the_start_of_the_kept_attempt_counts),
        SCRATCH(only_a_small_quick_page_measures_the_round_trip_again),
        SCRATCH(the_second_of_a_pair_waits_for_its_interval),
        SCRATCH(no_wait_precedes_an_item_that_is_not_fetched),
        SCRATCH(a_cancelled_run_does_not_wait_for_the_second_of_a_pair),
        SCRATCH(the_wait_for_the_second_of_a_pair_ends_on_cancel),
        SCRATCH(recovered_items_need_no_connection),
        SCRATCH(a_file_set_aside_before_the_kill_is_found),
        SCRATCH(a_file_with_the_secret_is_removed_and_an_unreadable_one_stays),
        SCRATCH(the_target_of_a_link_does_not_change),
        SCRATCH(a_cancelled_check_does_not_change_the_file),
        SCRATCH(checked_files_are_recovered_without_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
