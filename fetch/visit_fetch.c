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
#include "fetch/verdict.h"
#include "fetch/visit.h"
#include "base/banned.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000

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
                               .index = w->at,
                               .n_items = w->visit->plan.n};
    observe_progress(w->visit->observe, w->visit->target, &p);
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
                                   .beside = w->beside,
                                   .progress_ctx = w,
                                   .progress = tell_progress};
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

/* Opens another session. If that fails there will be none for the next item either. */
static int renew(struct worker *w, struct fetch_item *item)
{
    struct visit *v = w->visit;
    struct err why = ERR_INIT;
    if (gateway_renew(v->gw, &why) == 0)
        return 0;
    pthread_mutex_lock(&v->mutex);
    if (v->stop.kind == ERR_NONE && why.kind != ERR_CANCELLED)
        err_set(&v->stop, ERR_LOST, "not fetched: the SSH session was lost, and another could not be opened");
    pthread_mutex_unlock(&v->mutex);
    size_t n = strlen(item->err.msg);
    snprintf(item->err.msg + n, sizeof item->err.msg - n, "; another could not be opened: %s", why.msg);
    return -1;
}

/* What the first attempt left is given up only for something that took its place. */
static void settle(const struct visit *v, struct fetch_item *first, struct fetch_item *again,
                   struct fetch_item *ret)
{
    bool kept = again->file[0] || !first->file[0];
    struct fetch_item *left = kept ? first : again;
    *ret = kept ? *again : *first;
    if (again->file[0])
        verdicts_add(&ret->verdicts, "renewed", NULL, NULL, NULL);
    if (kept && first->file[0] && strcmp(first->file, again->file) != 0) {
        char *path = file_join(v->grab->directory, first->file);
        if (path)
            file_remove(path, NULL);
        free(path);
    }
    fetch_item_release(left);
}

static void fetch_surely(struct worker *w, struct fetch_item *ret)
{
    struct fetch_item first, again;
    fetch_patiently(w, &first);
    if (first.err.kind != ERR_LOST || fd_cancelled(w->visit->grab->cancel_fd) || renew(w, &first) < 0) {
        *ret = first;
        return;
    }
    transfer_expect_new_connection(w->transfer);
    fetch_patiently(w, &again);
    settle(w->visit, &first, &again, ret);
}

/* ---- the later one of a pair --------------------------------------------------------------------------- */

/* Until it is as long ago as was asked for that the first one was. Cancelling ends it; then it is not fetched
 * (may_go_on). */
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

/* Whether to go on; otherwise err says why not. */
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

static void fetch_one(struct worker *w)
{
    struct visit *v = w->visit;
    struct fetch_item item;
    struct err stop = ERR_INIT;
    if (planned(w)->pair == 2)
        wait_for_pair(w);
    if (may_go_on(v, &stop)) {
        v->plan.items[w->at].began = clock_now();
        tell_progress(w, 0, 0);
        fetch_surely(w, &item);
        note(v, &item);
    } else {
        item_skip(planned(w), &stop, &item);
    }
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
    struct side *s = ctx;
    struct err err = ERR_INIT;
    struct fetch_item item;
    if (visit_connect(s->worker.visit, &s->worker.transfer, &err) == 0) {
        fetch_one(&s->worker);
        transfer_free(s->worker.transfer);
        return NULL;
    }
    item_skip(planned(&s->worker), &err, &item);
    observe_item(s->worker.visit->observe, s->worker.visit->target, &item);
    return NULL;
}

static void name_others(const struct visit *v, size_t first, size_t end, size_t own, char *dst, size_t cap)
{
    struct buf names = BUF_INIT(cap - 1);
    for (size_t i = first; i < end; i++)
        if (i != own)
            buf_addf(&names, "%s%.40s", names.len ? ", " : "", v->plan.items[i].kind);
    snprintf(dst, cap, "%s", buf_str(&names));
    buf_release(&names);
}

static void fetch_side_by_side(struct visit *v, size_t first, size_t end)
{
    size_t n = end - first;
    struct side *sides = calloc(n + 1, sizeof *sides);
    for (size_t i = 0; sides && i < n; i++) {
        struct side *s = &sides[i];
        s->worker = (struct worker){.visit = v, .at = first + i, .beside = s->beside};
        name_others(v, first, end, first + i, s->beside, sizeof s->beside);
        s->started = thread_start(&s->thread, run_side, s, NULL) == 0;
    }
    /* What found no thread is taken after the others. */
    for (size_t i = 0; sides && i < n; i++)
        if (sides[i].started)
            pthread_join(sides[i].thread, NULL);
    for (size_t i = 0; i < n; i++)
        if (!sides || !sides[i].started)
            fetch_one(&(struct worker){.visit = v, .transfer = v->transfer, .at = first + i});
    free(sides);
}

/* Those from `i` on that may be taken side by side end before this one. */
static size_t end_of_timed(const struct visit *v, size_t i)
{
    while (v->grab->concurrent && i < v->plan.n && v->plan.items[i].timed_ms > 0)
        i++;
    return i;
}

void visit_fetch(struct visit *v)
{
    for (size_t i = 0; i < v->plan.n;) {
        size_t end = end_of_timed(v, i);
        if (end > i + 1)
            fetch_side_by_side(v, i, end);
        else
            fetch_one(&(struct worker){.visit = v, .transfer = v->transfer, .at = i});
        i = end > i + 1 ? end : i + 1;
    }
}
