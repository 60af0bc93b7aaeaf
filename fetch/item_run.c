/* One item in progress: its progress, and its start together with the other targets. */
#include "fetch/item_run.h"

#include <stdio.h>

#include "base/banned.h"

#define ONE_WAY_SAMPLES 3
#define SLOW_PAGE_MS 250

const struct plan_item *item_run_planned(const struct item_run *r)
{
    return &r->run->plan.items[r->index];
}

void item_run_report_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms)
{
    const struct item_run *r = ctx;
    const struct plan_item *item = item_run_planned(r);
    struct fetch_progress p = {.kind = item->kind,
                               .bytes = bytes,
                               .elapsed_ms = elapsed_ms,
                               .timed_ms = item->timed_ms,
                               .cost = item->cost,
                               .waiting = r->waiting,
                               .wait_is_usual = r->at_barrier,
                               .index = r->index,
                               .n_items = r->run->plan.n};
    observe_progress(r->run->context->observe, r->run->target, &p);
}

/* ---- the common start ---------------------------------------------------------------------------------- */

/* Discards the page. Fails if it is too large. */
static int skip_page(void *ctx, const void *p, size_t n, struct err *err)
{
    size_t *left = ctx;
    (void)p;
    if (n > *left)
        return err_set(err, ERR_FAILED, "the page does not end");
    *left -= n;
    return 0;
}

/* Measures the one-way time of a request: half the time of the shortest of several small requests, because
 * any request may be delayed. Stops after a slow page, because its time does not measure the network, and
 * other targets wait. */
static int64_t measure_one_way(struct item_run *r)
{
    const struct service_run *run = r->run;
    char request_target[512];
    int64_t elapsed_ms = 0;
    snprintf(request_target, sizeof request_target, "%s/", run->target->service->path);
    for (int i = 0; i < ONE_WAY_SAMPLES && elapsed_ms < SLOW_PAGE_MS; i++) {
        size_t left = SERVICE_RUN_PAGE_BYTES;
        struct http_response response;
        struct http_get get = {
            .body = skip_page, .ctx = &left, .limit_ms = SERVICE_RUN_PAGE_MS(run->context->grab)};
        int64_t began = clock_now();
        /* An error page measures the time as well. */
        if (transfer_get(r->transfer, request_target, &get, &response, NULL) < 0 &&
            (response.status == 0 || response.status == 200))
            break;
        elapsed_ms = clock_now() - began;
    }
    int64_t round_trip = transfer_round_trip(r->transfer);
    return round_trip > 0 ? round_trip / 2 : 0;
}

void item_run_join_barrier(struct item_run *r)
{
    const struct service_run *run = r->run;
    struct sync_start start = {0};
    r->send_ahead_ms = measure_one_way(r);
    r->waiting = "other targets are not ready yet";
    r->at_barrier = true;
    item_run_report_progress(r, 0, 0);
    int rc = barrier_arrive(run->context->participant, r->send_ahead_ms, &start.at, &start.late, NULL);
    r->waiting = NULL;
    r->at_barrier = false;
    if (rc < 0)
        return;
    start.utc = clock_utc() - clock_now() + start.at;
    r->start = start;
    r->send_ahead_ms -= start.late ? 0 : barrier_offset_ms(run->context->participant);
    /* Report now, because the start must not be delayed. */
    item_run_report_progress(r, 0, 0);
}

bool service_run_starts_together(const struct service_run *run, size_t i)
{
    const struct plan_item *item = &run->plan.items[i];
    return run->context->participant && item->timed_ms > 0 && !item->left_out[0] && !item->already_collected;
}

void item_run_await_start(void *ctx)
{
    struct item_run *r = ctx;
    r->n_requests++;
    if (r->start.at > 0)
        fd_wait(-1, 0, r->start.at - r->send_ahead_ms, r->run->context->grab->access.cancel_fd, NULL);
}
