/*
 * Fetches one item until it succeeds or no attempts are left: waits while another client uses the profiler,
 * reconnects a lost session once for each attempt, and retries after temporary failures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/profiler_owner.h"
#include "fetch/item.h"
#include "fetch/retry.h"
#include "fetch/finding.h"
#include "fetch/item_run.h"
#include "base/banned.h"

#define BUSY_POLL_MIN_MS 100
#define BUSY_POLL_MAX_MS 2000

/* Added to the duration of our profile, so that another client's profile of this duration can end. */
#define BUSY_WAIT_EXTRA_MS 2000

/* ---- a profiler that is in use ------------------------------------------------------------------------- */

/* Appends how long the profiler stayed busy, and names the client that uses it. */
static void report_profiler_owner(struct item_run *r, int64_t waited_ms, struct fetch_item *item)
{
    char waited[32];
    err_append(&item->err, "; the profiler was still in use after %s",
               text_duration(waited, sizeof waited, waited_ms));
    bool trace = item_run_planned(r)->rank == RANK_TRACE;
    const char *client = profiler_owner_find(r->transfer, r->run->target->service, trace,
                                             SERVICE_RUN_PAGE_MS(r->run->context->grab));
    if (client)
        err_hint(&item->err, "in use by %s: wait for it, or have it stopped", client);
    else
        err_hint(&item->err,
                 "another client (a colleague, a continuous profiler) uses the profiler of this process: "
                 "wait and repeat");
}

/* Pauses before the next attempt while another client uses the profiler. Returns false after a cancellation,
 * or if the time for waiting is over. A timeout of fd_wait is the normal end of the pause. */
static bool wait_while_busy(struct item_run *r, int64_t began)
{
    int64_t timed = item_run_planned(r)->timed_ms, now = clock_now(), pause = timed / 10;
    if (now - began >= timed + BUSY_WAIT_EXTRA_MS)
        return false;
    if (pause < BUSY_POLL_MIN_MS)
        pause = BUSY_POLL_MIN_MS;
    if (pause > BUSY_POLL_MAX_MS)
        pause = BUSY_POLL_MAX_MS;
    r->waiting = "another profile is being taken";
    item_run_report_progress(r, 0, now - began);
    struct err err = ERR_INIT;
    fd_wait(-1, 0, clock_deadline(clock_jitter(pause)), r->run->context->grab->access.cancel_fd, &err);
    r->waiting = NULL;
    return err.kind == ERR_TIMEOUT;
}

static void fetch_when_free(struct item_run *r, struct fetch_item *item)
{
    const struct service_run *run = r->run;
    struct item_context context = {.work = run->context->grab->directory,
                                   .directory = run->directory,
                                   .max_bytes = run->context->grab->options.max_bytes,
                                   .budget = run->context->budget,
                                   .check = &run->context->budget->check,
                                   .concurrent_kinds = r->concurrent_kinds,
                                   .cancel_fd = run->context->grab->access.cancel_fd,
                                   .progress_ctx = r,
                                   .progress = item_run_report_progress,
                                   .ready = item_run_await_start};
    int64_t began = clock_now();
    for (;;) {
        item_fetch(r->transfer, item_run_planned(r), &context, item);
        if (item->err.kind != ERR_BUSY)
            return;
        if (!wait_while_busy(r, began))
            break;
        context.waited_ms = clock_now() - began;
        fetch_item_release(item);
    }
    if (!fd_cancelled(run->context->grab->access.cancel_fd)) {
        report_profiler_owner(r, clock_now() - began, item);
        return;
    }
    item->status = FETCH_INTERRUPTED;
    err_set(&item->err, ERR_CANCELLED, "interrupted");
    err_append(&item->err, " while another client used the profiler");
}

/* ---- a lost session ------------------------------------------------------------------------------------ */

/* Reconnects, even if the budget has no time for the item, because other items need a session too. Returns -1
 * if the item cannot be repeated. */
static int renew_session(struct item_run *r, struct fetch_item *item)
{
    const struct service_run *run = r->run;
    struct err why = ERR_INIT;
    int rc = gateway_renew(run->context->gw, &why);
    r->session_unrecoverable = rc < 0 && why.kind != ERR_CANCELLED;
    if (rc < 0)
        err_wrap(&why, "another could not be opened");
    else
        transfer_expect_new_connection(r->transfer);
    if (rc == 0 && budget_count_attempt(run->context->budget, item_run_planned(r)->timed_ms, &why) == 0)
        return 0;
    /* The session is open again, so only the budget forbids the item: do not retry. */
    item->transient &= rc < 0;
    return err_append(&item->err, "; %s", why.msg);
}

/* Replaces the ending of the item's file, unless a file with the new name exists. */
static void rename_item_file(const struct service_run *run, struct fetch_item *item, const char *from,
                             const char *to)
{
    char file[sizeof item->file];
    size_t n = strlen(item->file), n_from = strlen(from);
    if (n < n_from || strcmp(item->file + n - n_from, from) != 0)
        return;
    snprintf(file, sizeof file, "%.*s%s", (int)(n - n_from), item->file, to);
    if (dir_rename_new(run->context->grab->directory, item->file, file, NULL) == 0)
        snprintf(item->file, sizeof item->file, "%s", file);
}

static void remove_item_file(const struct service_run *run, const struct fetch_item *item)
{
    if (item->file[0])
        dir_remove(run->context->grab->directory, item->file, NULL);
}

/* Checks whether the last request produced the item's file. */
static bool is_from_last_request(const struct item_run *r, const struct fetch_item *item)
{
    return item->file[0] && r->kept_attempt == r->n_requests;
}

/* Appends the cancellation to the error of the attempt that is kept. */
static void append_cancellation(const struct service_run *run, const struct fetch_item *again,
                                struct fetch_item *item)
{
    struct err cancellation = again->err;
    if (cancellation.kind != ERR_CANCELLED)
        return;
    deadline_explain(run->context->observe->deadline, &cancellation);
    err_append(&item->err, "; then %s", cancellation.msg);
}

/* Repeats the fetch and keeps the better result: a complete one, else the larger. The old file is NAME.before
 * meanwhile. */
static void fetch_again(struct item_run *r, struct fetch_item *item)
{
    const struct service_run *run = r->run;
    struct fetch_item again;
    rename_item_file(run, item, ".damaged", ".before");
    fetch_when_free(r, &again);
    if (again.status == FETCH_OK || !item->file[0] || (again.file[0] && again.bytes >= item->bytes)) {
        remove_item_file(run, item);
        fetch_item_release(item);
        *item = again;
        r->kept_attempt = r->n_requests;
    } else {
        remove_item_file(run, &again);
        rename_item_file(run, item, ".before", ".damaged");
        item->transient = again.transient;
        append_cancellation(run, &again, item);
        fetch_item_release(&again);
    }
}

/* Reconnects a lost session once, and repeats the fetch. */
static void fetch_over_new_session(struct item_run *r, struct fetch_item *item)
{
    if (item->err.kind != ERR_LOST || fd_cancelled(r->run->context->grab->access.cancel_fd) ||
        renew_session(r, item) < 0)
        return;
    fetch_again(r, item);
    if (is_from_last_request(r, item))
        fetch_finding_add(&item->findings, FETCH_FINDING_RENEWED, NULL, NULL, NULL);
}

void item_run_with_retries(struct item_run *r, struct fetch_item *ret)
{
    struct service_run *run = r->run;
    struct retry retry = {.grab = run->context->grab,
                          .observe = run->context->observe,
                          .target = run->target,
                          .subject = item_run_planned(r)->kind,
                          .budget = run->context->budget,
                          .timed_ms = item_run_planned(r)->timed_ms};
    fetch_when_free(r, ret);
    r->kept_attempt = r->n_requests;
    fetch_over_new_session(r, ret);
    while (ret->status != FETCH_OK && ret->transient && retry_wait(&retry, &ret->err)) {
        fetch_again(r, ret);
        fetch_over_new_session(r, ret);
    }
    if (is_from_last_request(r, ret))
        retry_add_finding(&retry, "it was fetched", &ret->findings);
    if (ret->err.kind != ERR_LOST || !r->session_unrecoverable)
        return;
    /* The next items need a session too: skip them. */
    pthread_mutex_lock(&run->mutex);
    if (run->stop.kind == ERR_NONE)
        err_set(&run->stop, ERR_LOST,
                "not fetched: the SSH session was lost, and another could not be opened");
    pthread_mutex_unlock(&run->mutex);
}
