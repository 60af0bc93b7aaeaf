/*
 * Fetches the items of one service in order over one connection: all items should belong to one process, and
 * simultaneous profiles distort each other. On request, timed items run side by side.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fetch/item.h"
#include "fetch/recovered.h"
#include "fetch/finding.h"
#include "fetch/item_run.h"
#include "base/banned.h"

/* ---- the later one of a pair --------------------------------------------------------------------------- */

/* Waits until the first of the pair is `pair_ms` old. Cancelling ends the wait; the caller checks for it. */
static void wait_for_pair(struct item_run *r)
{
    const struct service_run *run = r->run;
    int64_t began = run->plan.items[item_run_planned(r)->other_of_pair].began,
            due = began + run->context->grab->options.pair_ms;
    if (began == 0 || clock_now() >= due)
        return;
    r->waiting = "the second of the pair comes later";
    item_run_report_progress(r, 0, clock_now() - began);
    r->waiting = NULL;
    fd_wait(-1, 0, due, run->context->grab->access.cancel_fd, NULL);
}

/* ---- one after the other ------------------------------------------------------------------------------- */

/* Returns whether to continue fetching; if not, err has the reason. */
static bool may_continue(struct service_run *run, struct err *err)
{
    pthread_mutex_lock(&run->mutex);
    if (run->stop.kind == ERR_NONE && fd_cancelled(run->context->grab->access.cancel_fd)) {
        err_set(&run->stop, ERR_CANCELLED, "interrupted");
        err_append(&run->stop, " before it was fetched");
    }
    *err = run->stop;
    pthread_mutex_unlock(&run->mutex);
    return err->kind == ERR_NONE;
}

static void record_result(struct service_run *run, struct fetch_item *item)
{
    pthread_mutex_lock(&run->mutex);
    fetch_finding_check_build(item, run->build_id);
    /* If this workstation's disk fails, further profiles would be lost too. */
    if (item->err.kind == ERR_LOCAL_IO && run->stop.kind == ERR_NONE)
        err_set(&run->stop, ERR_LOCAL_IO,
                "not fetched, since this workstation could not store an earlier item");
    pthread_mutex_unlock(&run->mutex);
}

static void fetch_now(struct item_run *r, struct fetch_item *item)
{
    struct service_run *run = r->run;
    run->plan.items[r->index].began = clock_now();
    if (r->start.at == 0 || r->concurrent_kinds)
        item_run_report_progress(r, 0, 0);
    item_run_with_retries(r, item);
    if (!item->file[0]) /* there is no file to compare the later item with */
        run->plan.items[r->index].began = 0;
    /* A repeated request began after the other targets. */
    r->start.late |= r->kept_attempt > 1;
    sync_record(run->context->sync, &r->start, item_run_planned(r), run->clock.known ? run->clock.skew_ms : 0,
                item);
    record_result(run, item);
}

/* Returns whether to fetch the item; if not, `item` has the reason. */
static bool may_fetch(struct item_run *r, struct fetch_item *item)
{
    struct service_run *run = r->run;
    struct err stop = ERR_INIT;
    if (item_run_planned(r)->absent)
        item_absent(item_run_planned(r), item);
    else if (item_run_planned(r)->left_out[0])
        item_leave_out(item_run_planned(r), item_run_planned(r)->left_out, item);
    else if (r->unreachable.kind != ERR_NONE)
        item_skip(item_run_planned(r), &r->unreachable, item);
    else if (!may_continue(run, &stop))
        item_skip(item_run_planned(r), &stop, item);
    else if (budget_check(run->context->budget, &stop) < 0)
        item_leave_out(item_run_planned(r), stop.msg, item);
    else
        return true;
    return false;
}

/* Waits for the other targets or for the pair, if the item needs it. */
static void wait_for_others(struct item_run *r)
{
    struct fetch_item skipped;
    bool joins_barrier =
        r->start.at == 0 && !r->group_has_waited && service_run_starts_together(r->run, r->index);
    if (item_run_planned(r)->pair != 2 && !joins_barrier)
        return;
    if (!may_fetch(r, &skipped)) {
        fetch_item_release(&skipped);
        return;
    }
    if (item_run_planned(r)->pair == 2)
        wait_for_pair(r);
    if (joins_barrier)
        item_run_join_barrier(r);
}

static void fetch_one(struct item_run *r)
{
    struct service_run *run = r->run;
    struct fetch_item item;
    struct item_context context = {.work = run->context->grab->directory,
                                   .directory = run->directory,
                                   .check = &run->context->budget->check,
                                   .cancel_fd = run->context->grab->access.cancel_fd};
    const struct transfer *transfer = r->transfer ? r->transfer : run->transfer;
    if (item_run_planned(r)->already_collected)
        return;
    if (observe_is_resuming(run->context->observe) &&
        recovered_adopt(item_run_planned(r), &context, transfer, &item)) {
        run->plan.items[r->index].began = clock_now(); /* time unknown: see mark_collected */
        record_result(run, &item);
        observe_item(run->context->observe, run->target, &item);
        fetch_item_release(&item);
        return;
    }
    wait_for_others(r);
    if (may_fetch(r, &item))
        fetch_now(r, &item);
    if (observe_is_resuming(run->context->observe))
        recovered_resolve(item_run_planned(r), &context, &item);
    observe_item(run->context->observe, run->target, &item);
    fetch_item_release(&item);
}

/* ---- side by side -------------------------------------------------------------------------------------- */

struct parallel_item {
    struct item_run item;
    pthread_t thread;
    bool started;
    char concurrent_kinds[160];
};

static void *run_parallel_item(void *ctx)
{
    struct item_run *r = &((struct parallel_item *)ctx)->item;
    if (!item_run_planned(r)->already_collected && !item_run_planned(r)->left_out[0] &&
        service_run_connect(r->run, &r->transfer, &r->unreachable) < 0)
        r->transfer = NULL;
    fetch_one(r);
    transfer_free(r->transfer);
    return NULL;
}

/* Sets concurrent_kinds: the kinds of the items from `first` on and before `end`, without this item's own. */
static void name_others(struct parallel_item *p, size_t first, size_t end)
{
    const struct service_run *run = p->item.run;
    struct buf names = BUF_INIT(sizeof p->concurrent_kinds - 1);
    for (size_t i = first; i < end; i++)
        if (i != p->item.index && !run->plan.items[i].already_collected && !run->plan.items[i].left_out[0])
            buf_addf(&names, "%s%.40s", names.len ? ", " : "", run->plan.items[i].kind);
    snprintf(p->concurrent_kinds, sizeof p->concurrent_kinds, "%s", buf_str(&names));
    buf_release(&names);
}

static void fetch_side_by_side(struct service_run *run, size_t first, size_t end)
{
    size_t n = end - first;
    struct parallel_item *parallel = calloc(n + 1, sizeof *parallel);
    struct item_run waiter = {.run = run, .transfer = run->transfer, .index = first};
    /* One thread waits for the other targets on behalf of all threads of this service. */
    while (waiter.index < end && !service_run_starts_together(run, waiter.index))
        waiter.index++;
    if (waiter.index < end)
        wait_for_others(&waiter);
    for (size_t i = 0; parallel && i < n; i++) {
        struct parallel_item *p = &parallel[i];
        p->item = (struct item_run){.run = run,
                                    .index = first + i,
                                    .concurrent_kinds = p->concurrent_kinds,
                                    .group_has_waited = true,
                                    .start = waiter.start,
                                    .send_ahead_ms = waiter.send_ahead_ms};
        name_others(p, first, end);
        p->started = thread_start(&p->thread, run_parallel_item, p, NULL) == 0;
    }
    /* Items without a thread of their own are fetched after the others. */
    for (size_t i = 0; parallel && i < n; i++)
        if (parallel[i].started)
            pthread_join(parallel[i].thread, NULL);
    for (size_t i = 0; i < n; i++)
        if (!parallel || !parallel[i].started)
            fetch_one(&(struct item_run){.run = run,
                                         .transfer = run->transfer,
                                         .index = first + i,
                                         .group_has_waited = true,
                                         .start = waiter.start,
                                         .send_ahead_ms = waiter.send_ahead_ms});
    free(parallel);
}

/* Returns the index after the timed items from `i` on that may run side by side; `i` if there are none. */
static size_t find_timed_end(const struct service_run *run, size_t i)
{
    while (run->context->grab->options.concurrent && i < run->plan.n && run->plan.items[i].timed_ms > 0)
        i++;
    return i;
}

/* Leaves the barrier when no later item begins together with other targets. */
static void leave_barrier_if_done(struct service_run *run, size_t i)
{
    while (i < run->plan.n && !service_run_starts_together(run, i))
        i++;
    if (run->context->participant && i == run->plan.n)
        barrier_leave(run->context->participant);
}

void service_run_fetch(struct service_run *run)
{
    for (size_t i = 0; i < run->plan.n;) {
        leave_barrier_if_done(run, i);
        size_t end = find_timed_end(run, i);
        if (end > i + 1)
            fetch_side_by_side(run, i, end);
        else
            fetch_one(&(struct item_run){.run = run, .transfer = run->transfer, .index = i});
        i = end > i + 1 ? end : i + 1;
    }
}
