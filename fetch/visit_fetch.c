/*
 * Fetches the items of one service in order over one connection: all items should belong to one process, and
 * simultaneous profiles distort each other. On request, timed items run side by side.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fetch/item.h"
#include "fetch/leftover.h"
#include "fetch/verdict.h"
#include "fetch/visit_worker.h"
#include "base/banned.h"

const struct plan_item *visit_planned(const struct worker *w)
{
    return &w->visit->plan.items[w->at];
}

void visit_tell_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms)
{
    const struct worker *w = ctx;
    const struct plan_item *item = visit_planned(w);
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

/* ---- the later one of a pair --------------------------------------------------------------------------- */

/* Waits until the first of the pair is `pair_ms` old. Cancelling ends the wait; the caller checks for it. */
static void wait_for_pair(struct worker *w)
{
    const struct visit *v = w->visit;
    int64_t began = v->plan.items[visit_planned(w)->other].began, due = began + v->grab->pair_ms;
    if (began == 0 || clock_now() >= due)
        return;
    w->waiting = "the second of the pair comes later";
    visit_tell_progress(w, 0, clock_now() - began);
    w->waiting = NULL;
    fd_wait(-1, 0, due, v->grab->cancel_fd, NULL);
}

/* ---- one after the other ------------------------------------------------------------------------------- */

/* Whether to go on fetching; otherwise err has the reason. */
static bool may_go_on(struct visit *v, struct err *err)
{
    pthread_mutex_lock(&v->mutex);
    if (v->stop.kind == ERR_NONE && fd_cancelled(v->grab->cancel_fd))
        err_set(&v->stop, ERR_CANCELLED, "interrupted before it was fetched");
    *err = v->stop;
    pthread_mutex_unlock(&v->mutex);
    return err->kind == ERR_NONE;
}

static void note_result(struct visit *v, struct fetch_item *item)
{
    pthread_mutex_lock(&v->mutex);
    verdict_build(item, v->build_id);
    /* If this workstation's disk fails, further profiles would be lost too. */
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
        visit_tell_progress(w, 0, 0);
    visit_attempts(w, item);
    if (!item->file[0]) /* no file for the later one to be compared with */
        v->plan.items[w->at].began = 0;
    /* A repeated request began after the other targets. */
    w->start.late |= w->counts > 1;
    sync_note(v->sync, &w->start, visit_planned(w), v->has_clock_skew ? v->clock_skew_ms : 0, item);
    note_result(v, item);
}

/* Whether to fetch it; otherwise `item` has the reason. */
static bool may_fetch(struct worker *w, struct fetch_item *item)
{
    struct visit *v = w->visit;
    struct err stop = ERR_INIT;
    if (visit_planned(w)->absent)
        item_absent(visit_planned(w), item);
    else if (visit_planned(w)->left_out[0])
        item_leave_out(visit_planned(w), visit_planned(w)->left_out, item);
    else if (w->unreachable.kind != ERR_NONE)
        item_skip(visit_planned(w), &w->unreachable, item);
    else if (!may_go_on(v, &stop))
        item_skip(visit_planned(w), &stop, item);
    else if (budget_check(v->budget, &stop) < 0)
        item_leave_out(visit_planned(w), stop.msg, item);
    else
        return true;
    return false;
}

/* Waits for the other targets or for the pair, if the item needs it. */
static void wait_for_others(struct worker *w)
{
    struct fetch_item none;
    bool meets_them = w->start.at == 0 && !w->beside_others && visit_meets(w->visit, w->at);
    if (visit_planned(w)->pair != 2 && !meets_them)
        return;
    if (!may_fetch(w, &none)) {
        fetch_item_release(&none);
        return;
    }
    if (visit_planned(w)->pair == 2)
        wait_for_pair(w);
    if (meets_them)
        visit_meet(w);
}

static void fetch_one(struct worker *w)
{
    struct visit *v = w->visit;
    struct fetch_item item;
    struct item_context place = {.work = v->grab->directory, .directory = v->directory};
    const struct transfer *told = w->transfer ? w->transfer : v->transfer;
    if (visit_planned(w)->had)
        return;
    if (v->grab->have && leftover_take(visit_planned(w), &place, told, &item)) {
        v->plan.items[w->at].began = clock_now(); /* time unknown: see mark_had */
        note_result(v, &item);
        observe_item(v->observe, v->target, &item);
        fetch_item_release(&item);
        return;
    }
    wait_for_others(w);
    if (may_fetch(w, &item))
        fetch_now(w, &item);
    if (v->grab->have)
        leftover_settle(visit_planned(w), &place, &item);
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
    if (!visit_planned(w)->had && !visit_planned(w)->left_out[0] &&
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
    /* One thread waits for the other targets, for all. */
    while (before.at < end && !visit_meets(v, before.at))
        before.at++;
    if (before.at < end)
        wait_for_others(&before);
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
    /* Items without a thread of their own are fetched after the others. */
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

/* The timed items from `i` on that may run side by side end before this one. */
static size_t end_of_timed(const struct visit *v, size_t i)
{
    while (v->grab->concurrent && i < v->plan.n && v->plan.items[i].timed_ms > 0)
        i++;
    return i;
}

/* Leave the barrier when no more items begin together. */
static void leave_in_time(struct visit *v, size_t i)
{
    while (i < v->plan.n && !visit_meets(v, i))
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
