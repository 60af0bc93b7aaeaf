/*
 * The items of one service: one after the other over one connection, since they should come from one process
 * and profiles taken together distort each other. A profiler that somebody else holds is waited for; a
 * session that is lost is opened again, once for each item.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/holder.h"
#include "fetch/item.h"
#include "fetch/leftover.h"
#include "fetch/retry.h"
#include "fetch/verdict.h"
#include "fetch/visit.h"
#include "base/banned.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000

#define SAMPLES_OF_THE_WAY 3
#define SLOW_PAGE_MS 250

/* Over the length of a profile: whoever began theirs, of the same length, in the same moment is done by then.
 */
#define TURN_SLACK_MS 2000

/* One item under way, by the thread that fetches it. */
struct worker {
    struct visit *visit;
    struct transfer *transfer;
    size_t at; /* of the plan */
    const char *beside;
    const char *waiting; /* for what; NULL: it does not */
    bool meeting;        /* it waits for the other targets */
    struct sync_start start;
    bool beside_others;     /* whoever began all of them has waited for the other targets */
    unsigned sent;          /* how often it was asked for */
    unsigned counts;        /* which of these times brought what there is of it */
    int64_t way_ms;         /* of a request */
    bool session_gone;      /* it was lost, and another could not be opened */
    struct err unreachable; /* why there is no connection to ask over; ERR_NONE: there is */
};

static const struct plan_item *planned(const struct worker *w)
{
    return &w->visit->plan.items[w->at];
}

static void tell_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms)
{
    const struct worker *w = ctx;
    const struct plan_item *item = planned(w);
    struct fetch_progress p = {.kind = item->kind,
                               .bytes = bytes,
                               .elapsed_ms = elapsed_ms,
                               .timed_ms = item->timed_ms,
                               .cost = item->cost,
                               .waiting = w->waiting,
                               .usual = w->meeting,
                               .index = w->at,
                               .n_items = w->visit->plan.n};
    observe_progress(w->visit->observe, w->visit->target, &p);
}

/* Until it is time to send what is to begin in step with others. */
static void wait_for_start(void *ctx)
{
    struct worker *w = ctx;
    w->sent++;
    if (w->start.at > 0)
        fd_wait(-1, 0, w->start.at - w->way_ms, w->visit->grab->cancel_fd, NULL);
}

/* ---- a profiler that is in use ------------------------------------------------------------------------- */

/* Somebody else has held it for longer than our own profile would have taken: enough is enough. */
static void give_up(struct worker *w, int64_t waited_ms, struct fetch_item *item)
{
    char who[200], waited[32];
    size_t n = strlen(item->err.msg);
    snprintf(item->err.msg + n, sizeof item->err.msg - n, "; still so after %s",
             text_duration(waited, sizeof waited, waited_ms));
    bool trace = planned(w)->rank == RANK_TRACE;
    if (*holder_find(w->transfer, w->visit->target->service, trace, VISIT_PAGE_LIMIT(w->visit->grab), who,
                     sizeof who))
        err_hint(&item->err, "held by %s: wait for it, or have it stopped", who);
    else
        err_hint(&item->err, "somebody else (a colleague, a continuous profiler) is at it in this process: "
                             "wait and repeat");
}

/* Waits a little: false when it was cancelled meanwhile, or the time is over. */
static bool wait_for_turn(struct worker *w, int64_t began)
{
    int64_t timed = planned(w)->timed_ms, now = clock_now(), pause = timed / 10;
    if (now - began >= timed + TURN_SLACK_MS)
        return false;
    if (pause < RETRY_MIN_MS)
        pause = RETRY_MIN_MS;
    if (pause > RETRY_MAX_MS)
        pause = RETRY_MAX_MS;
    w->waiting = "another profile is being taken";
    tell_progress(w, 0, now - began);
    struct err err = ERR_INIT;
    fd_wait(-1, 0, clock_deadline(clock_jitter(pause)), w->visit->grab->cancel_fd, &err);
    w->waiting = NULL;
    return err.kind == ERR_TIMEOUT;
}

static void fetch_patiently(struct worker *w, struct fetch_item *item)
{
    const struct visit *v = w->visit;
    struct item_context context = {.work = v->grab->directory,
                                   .directory = v->directory,
                                   .max_bytes = v->grab->max_bytes,
                                   .budget = v->budget,
                                   .beside = w->beside,
                                   .progress_ctx = w,
                                   .progress = tell_progress,
                                   .ready = wait_for_start};
    int64_t began = clock_now();
    for (;;) {
        item_fetch(w->transfer, planned(w), &context, item);
        if (item->err.kind != ERR_BUSY)
            return;
        if (!wait_for_turn(w, began))
            break;
        context.waited_ms = clock_now() - began;
        fetch_item_release(item);
    }
    if (!fd_cancelled(v->grab->cancel_fd)) {
        give_up(w, clock_now() - began, item);
        return;
    }
    item->status = FETCH_INTERRUPTED;
    err_set(&item->err, ERR_CANCELLED, "interrupted while somebody else held the profiler");
}

/* ---- a session that is lost ---------------------------------------------------------------------------- */

/* Also if there is no time for the item in the budget then: others need a session, too. */
static int renew(struct worker *w, struct fetch_item *item)
{
    const struct visit *v = w->visit;
    struct err why = ERR_INIT;
    int rc = gateway_renew(v->gw, &why);
    w->session_gone = rc < 0 && why.kind != ERR_CANCELLED;
    if (rc < 0)
        err_wrap(&why, "another could not be opened");
    else
        transfer_expect_new_connection(w->transfer);
    if (rc == 0 && budget_repeat(v->budget, planned(w)->timed_ms, &why) == 0)
        return 0;
    item->passing &= rc < 0;
    size_t n = strlen(item->err.msg);
    snprintf(item->err.msg + n, sizeof item->err.msg - n, "; %s", why.msg);
    return -1;
}

/* Gives an item's file another ending, unless there is no memory for it. */
static void rename_kept(const struct visit *v, struct fetch_item *item, const char *from, const char *to)
{
    char *old = NULL, *new = NULL, file[sizeof item->file];
    size_t n = strlen(item->file), end = strlen(from);
    if (n < end || strcmp(item->file + n - end, from) != 0)
        return;
    snprintf(file, sizeof file, "%.*s%s", (int)(n - end), item->file, to);
    old = file_join(v->grab->directory, item->file);
    new = file_join(v->grab->directory, file);
    if (old && new &&file_rename_new(old, new, NULL) == 0)
        snprintf(item->file, sizeof item->file, "%s", file);
    free(old);
    free(new);
}

static void remove_kept(const struct visit *v, const struct fetch_item *item)
{
    char *path = item->file[0] ? file_join(v->grab->directory, item->file) : NULL;
    if (path)
        file_remove(path, NULL);
    free(path);
}

/* Whether what there is of it came when it was asked for the last time. */
static bool came_last(const struct worker *w, const struct fetch_item *item)
{
    return item->file[0] && w->counts == w->sent;
}

/* Once more. What the attempt before left is given up only for something better: a whole one, or one with no
 * less of it. It is out of the way meanwhile. */
static void fetch_again(struct worker *w, struct fetch_item *item)
{
    const struct visit *v = w->visit;
    struct fetch_item again;
    rename_kept(v, item, ".damaged", ".before");
    fetch_patiently(w, &again);
    if (again.status == FETCH_OK || !item->file[0] || (again.file[0] && again.bytes >= item->bytes)) {
        remove_kept(v, item);
        fetch_item_release(item);
        *item = again;
        w->counts = w->sent;
    } else {
        remove_kept(v, &again);
        rename_kept(v, item, ".before", ".damaged");
        item->passing = again.passing;
        fetch_item_release(&again);
    }
}

/* A session that is lost is opened again, once. */
static void fetch_surely(struct worker *w, struct fetch_item *item)
{
    if (item->err.kind != ERR_LOST || fd_cancelled(w->visit->grab->cancel_fd) || renew(w, item) < 0)
        return;
    fetch_again(w, item);
    if (came_last(w, item))
        verdicts_add(&item->verdicts, "renewed", NULL, NULL, NULL);
}

static void fetch_in_the_end(struct worker *w, struct fetch_item *ret)
{
    struct visit *v = w->visit;
    struct retry retry = {.grab = v->grab,
                          .observe = v->observe,
                          .target = v->target,
                          .what = planned(w)->kind,
                          .budget = v->budget,
                          .timed_ms = planned(w)->timed_ms};
    fetch_patiently(w, ret);
    w->counts = w->sent;
    fetch_surely(w, ret);
    while (ret->status != FETCH_OK && ret->passing && retry_again(&retry, &ret->err)) {
        fetch_again(w, ret);
        fetch_surely(w, ret);
    }
    if (came_last(w, ret))
        retry_note(&retry, "it came", &ret->verdicts);
    if (ret->err.kind != ERR_LOST || !w->session_gone)
        return;
    /* There will be none for the next item either. */
    pthread_mutex_lock(&v->mutex);
    if (v->stop.kind == ERR_NONE)
        err_set(&v->stop, ERR_LOST, "not fetched: the SSH session was lost, and another could not be opened");
    pthread_mutex_unlock(&v->mutex);
}

/* ---- in step with others ------------------------------------------------------------------------------- */

/* No more than of the page itself. */
static int take_a_page(void *ctx, const void *p, size_t n, struct err *err)
{
    size_t *left = ctx;
    (void)p;
    if (n > *left)
        return err_set(err, ERR_FAILED, "the page does not end");
    *left -= n;
    return 0;
}

/* How long a request is on its way: half of the least that something small took, since anything may keep one
 * of them waiting. A page that takes long says nothing of the way, and others wait for us. */
static int64_t way_ms(struct worker *w)
{
    const struct visit *v = w->visit;
    char target[512];
    int64_t took = 0;
    snprintf(target, sizeof target, "%s/", v->target->service->path);
    for (int i = 0; i < SAMPLES_OF_THE_WAY && took < SLOW_PAGE_MS; i++) {
        size_t left = VISIT_PAGE_MAX;
        struct transfer_response response;
        struct transfer_request request = {
            .target = target, .body = take_a_page, .ctx = &left, .limit_ms = VISIT_PAGE_LIMIT(v->grab)};
        int64_t began = clock_now();
        /* A page that is refused tells as much. */
        if (transfer_get(w->transfer, &request, &response, NULL) < 0 &&
            (response.status == 0 || response.status == 200))
            break;
        took = clock_now() - began;
    }
    int64_t round_trip = transfer_round_trip(w->transfer);
    return round_trip > 0 ? round_trip / 2 : 0;
}

/* Waits for the others. Who cannot begins at once. */
static void meet(struct worker *w)
{
    const struct visit *v = w->visit;
    struct sync_start start = {0};
    w->way_ms = way_ms(w);
    w->waiting = "the others are not ready yet";
    w->meeting = true;
    tell_progress(w, 0, 0);
    int rc = barrier_arrive(v->seat, w->way_ms, &start.at, &start.late, NULL);
    w->waiting = NULL;
    w->meeting = false;
    if (rc < 0)
        return;
    start.utc = clock_utc() - clock_now() + start.at;
    w->start = start;
    w->way_ms -= start.late ? 0 : barrier_turn_ms(v->seat);
    /* Now, and not when every moment counts. */
    tell_progress(w, 0, 0);
}

/* Whether something from item i on is to begin when the others' does. */
static bool meets(const struct visit *v, size_t i)
{
    const struct plan_item *item = &v->plan.items[i];
    return v->seat && item->timed_ms > 0 && !item->left_out[0] && !item->had;
}

/* ---- the later one of a pair --------------------------------------------------------------------------- */

/* Until it is as long ago as was asked for that the first one was. Cancelling ends it; whoever waited looks
 * again whether to go on. */
static void wait_for_pair(struct worker *w)
{
    const struct visit *v = w->visit;
    int64_t began = v->plan.items[planned(w)->other].began, due = began + v->grab->pair_ms;
    if (began == 0 || clock_now() >= due)
        return;
    w->waiting = "the second of the pair comes later";
    tell_progress(w, 0, clock_now() - began);
    w->waiting = NULL;
    fd_wait(-1, 0, due, v->grab->cancel_fd, NULL);
}

/* ---- one after the other ------------------------------------------------------------------------------- */

/* Whether to fetch anything more; otherwise err says why not. */
static bool may_go_on(struct visit *v, struct err *err)
{
    pthread_mutex_lock(&v->mutex);
    if (v->stop.kind == ERR_NONE && fd_cancelled(v->grab->cancel_fd))
        err_set(&v->stop, ERR_CANCELLED, "interrupted before it was fetched");
    *err = v->stop;
    pthread_mutex_unlock(&v->mutex);
    return err->kind == ERR_NONE;
}

static void note(struct visit *v, struct fetch_item *item)
{
    pthread_mutex_lock(&v->mutex);
    verdict_build(item, v->build_id);
    /* With the workstation's own disk failing, more profiles would be taken for nothing. */
    if (item->err.kind == ERR_LOCAL_IO && v->stop.kind == ERR_NONE)
        err_set(&v->stop, ERR_LOCAL_IO,
                "not fetched, since this workstation could not store what came before");
    pthread_mutex_unlock(&v->mutex);
}

static void fetch_now(struct worker *w, struct fetch_item *item)
{
    struct visit *v = w->visit;
    v->plan.items[w->at].began = clock_now();
    if (w->start.at == 0 || w->beside)
        tell_progress(w, 0, 0);
    fetch_in_the_end(w, item);
    if (!item->file[0]) /* nothing that a later one could be held against */
        v->plan.items[w->at].began = 0;
    /* Whoever asked a second time did so behind the others. */
    w->start.late |= w->counts > 1;
    sync_note(v->sync, &w->start, planned(w), v->has_clock_skew ? v->clock_skew_ms : 0, item);
    note(v, item);
}

/* Whether to fetch it; otherwise `item` says why not. */
static bool may_fetch(struct worker *w, struct fetch_item *item)
{
    struct visit *v = w->visit;
    struct err stop = ERR_INIT;
    if (planned(w)->left_out[0])
        item_leave_out(planned(w), planned(w)->left_out, item);
    else if (w->unreachable.kind != ERR_NONE)
        item_skip(planned(w), &w->unreachable, item);
    else if (!may_go_on(v, &stop))
        item_skip(planned(w), &stop, item);
    else if (budget_check(v->budget, &stop) < 0)
        item_leave_out(planned(w), stop.msg, item);
    else
        return true;
    return false;
}

/* What has to be waited for before it is fetched, if it is. */
static void wait_for_others(struct worker *w)
{
    struct fetch_item none;
    bool meets_them = w->start.at == 0 && !w->beside_others && meets(w->visit, w->at);
    if (planned(w)->pair != 2 && !meets_them)
        return;
    if (!may_fetch(w, &none)) {
        fetch_item_release(&none);
        return;
    }
    if (planned(w)->pair == 2)
        wait_for_pair(w);
    if (meets_them)
        meet(w);
}

static void fetch_one(struct worker *w)
{
    struct visit *v = w->visit;
    struct fetch_item item;
    struct item_context place = {.work = v->grab->directory, .directory = v->directory};
    const struct transfer *told = w->transfer ? w->transfer : v->transfer;
    if (planned(w)->had)
        return;
    if (v->grab->have && leftover_take(planned(w), &place, told, &item)) {
        v->plan.items[w->at].began = clock_now(); /* it is not known; as in mark_had */
        note(v, &item);
        observe_item(v->observe, v->target, &item);
        fetch_item_release(&item);
        return;
    }
    wait_for_others(w);
    if (may_fetch(w, &item))
        fetch_now(w, &item);
    if (v->grab->have)
        leftover_settle(planned(w), &place, &item);
    observe_item(v->observe, v->target, &item);
    fetch_item_release(&item);
}

/* ---- side by side -------------------------------------------------------------------------------------- */

struct side {
    struct worker worker;
    pthread_t thread;
    bool started;
    char beside[160];
};

static void *run_side(void *ctx)
{
    struct worker *w = &((struct side *)ctx)->worker;
    if (!planned(w)->had && !planned(w)->left_out[0] &&
        visit_connect(w->visit, &w->transfer, &w->unreachable) < 0)
        w->transfer = NULL;
    fetch_one(w);
    transfer_free(w->transfer);
    return NULL;
}

static void name_others(const struct visit *v, size_t first, size_t end, size_t own, char *dst, size_t cap)
{
    struct buf names = BUF_INIT(cap - 1);
    for (size_t i = first; i < end; i++)
        if (i != own && !v->plan.items[i].had && !v->plan.items[i].left_out[0])
            buf_addf(&names, "%s%.40s", names.len ? ", " : "", v->plan.items[i].kind);
    snprintf(dst, cap, "%s", buf_str(&names));
    buf_release(&names);
}

static void fetch_side_by_side(struct visit *v, size_t first, size_t end)
{
    size_t n = end - first;
    struct side *sides = calloc(n + 1, sizeof *sides);
    struct worker before = {.visit = v, .transfer = v->transfer, .at = first};
    /* One of them waits for the other targets, for all. */
    while (before.at < end && !meets(v, before.at))
        before.at++;
    if (before.at < end)
        meet(&before);
    for (size_t i = 0; sides && i < n; i++) {
        struct side *s = &sides[i];
        s->worker = (struct worker){.visit = v,
                                    .at = first + i,
                                    .beside = s->beside,
                                    .beside_others = true,
                                    .start = before.start,
                                    .way_ms = before.way_ms};
        name_others(v, first, end, first + i, s->beside, sizeof s->beside);
        s->started = thread_start(&s->thread, run_side, s, NULL) == 0;
    }
    /* What found no thread is taken after the others. */
    for (size_t i = 0; sides && i < n; i++)
        if (sides[i].started)
            pthread_join(sides[i].thread, NULL);
    for (size_t i = 0; i < n; i++)
        if (!sides || !sides[i].started)
            fetch_one(&(struct worker){.visit = v,
                                       .transfer = v->transfer,
                                       .at = first + i,
                                       .beside_others = true,
                                       .start = before.start,
                                       .way_ms = before.way_ms});
    free(sides);
}

/* Those from `i` on that may be taken side by side end before this one. */
static size_t end_of_timed(const struct visit *v, size_t i)
{
    while (v->grab->concurrent && i < v->plan.n && v->plan.items[i].timed_ms > 0)
        i++;
    return i;
}

/* Nobody need wait for us once there is nothing more to begin together. */
static void leave_in_time(struct visit *v, size_t i)
{
    while (i < v->plan.n && !meets(v, i))
        i++;
    if (v->seat && i == v->plan.n)
        barrier_leave(v->seat);
}

void visit_fetch(struct visit *v)
{
    for (size_t i = 0; i < v->plan.n;) {
        leave_in_time(v, i);
        size_t end = end_of_timed(v, i);
        if (end > i + 1)
            fetch_side_by_side(v, i, end);
        else
            fetch_one(&(struct worker){.visit = v, .transfer = v->transfer, .at = i});
        i = end > i + 1 ? end : i + 1;
    }
}
