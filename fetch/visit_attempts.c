/*
 * One item until it has come or there is nothing more to try: a profiler that somebody else holds is waited
 * for, a session that is lost is opened again, once for each attempt, and what may pass is tried again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/holder.h"
#include "fetch/item.h"
#include "fetch/retry.h"
#include "fetch/verdict.h"
#include "fetch/visit_worker.h"
#include "base/banned.h"

#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 2000

/* Over the length of a profile: whoever began theirs, of the same length, in the same moment is done by then.
 */
#define TURN_SLACK_MS 2000

/* ---- a profiler that is in use ------------------------------------------------------------------------- */

/* Somebody else has held it for longer than our own profile would have taken: enough is enough. */
static void give_up(struct worker *w, int64_t waited_ms, struct fetch_item *item)
{
    char who[200], waited[32];
    size_t n = strlen(item->err.msg);
    snprintf(item->err.msg + n, sizeof item->err.msg - n, "; still so after %s",
             text_duration(waited, sizeof waited, waited_ms));
    bool trace = visit_planned(w)->rank == RANK_TRACE;
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
    int64_t timed = visit_planned(w)->timed_ms, now = clock_now(), pause = timed / 10;
    if (now - began >= timed + TURN_SLACK_MS)
        return false;
    if (pause < RETRY_MIN_MS)
        pause = RETRY_MIN_MS;
    if (pause > RETRY_MAX_MS)
        pause = RETRY_MAX_MS;
    w->waiting = "another profile is being taken";
    visit_tell_progress(w, 0, now - began);
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
                                   .progress = visit_tell_progress,
                                   .ready = visit_await_start};
    int64_t began = clock_now();
    for (;;) {
        item_fetch(w->transfer, visit_planned(w), &context, item);
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
    if (rc == 0 && budget_repeat(v->budget, visit_planned(w)->timed_ms, &why) == 0)
        return 0;
    item->passing &= rc < 0;
    size_t n = strlen(item->err.msg);
    snprintf(item->err.msg + n, sizeof item->err.msg - n, "; %s", why.msg);
    return -1;
}

/* Gives an item's file another ending, unless that name is taken. */
static void rename_kept(const struct visit *v, struct fetch_item *item, const char *from, const char *to)
{
    char file[sizeof item->file];
    size_t n = strlen(item->file), end = strlen(from);
    if (n < end || strcmp(item->file + n - end, from) != 0)
        return;
    snprintf(file, sizeof file, "%.*s%s", (int)(n - end), item->file, to);
    if (beneath_rename_new(v->grab->directory, item->file, file, NULL) == 0)
        snprintf(item->file, sizeof item->file, "%s", file);
}

static void remove_kept(const struct visit *v, const struct fetch_item *item)
{
    if (item->file[0])
        beneath_remove(v->grab->directory, item->file, NULL);
}

/* Whether what there is of it came when it was asked for the last time. */
static bool came_last(const struct worker *w, const struct fetch_item *item)
{
    return item->file[0] && w->counts == w->sent;
}

/* That it was ended is said of what is kept in its place. */
static void note_end(const struct visit *v, const struct fetch_item *again, struct fetch_item *item)
{
    struct err over = again->err;
    size_t n = strlen(item->err.msg);
    if (over.kind != ERR_CANCELLED)
        return;
    deadline_explain(v->observe->deadline, &over);
    snprintf(item->err.msg + n, sizeof item->err.msg - n, "; then %s", over.msg);
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
        note_end(v, &again, item);
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

void visit_attempts(struct worker *w, struct fetch_item *ret)
{
    struct visit *v = w->visit;
    struct retry retry = {.grab = v->grab,
                          .observe = v->observe,
                          .target = v->target,
                          .what = visit_planned(w)->kind,
                          .budget = v->budget,
                          .timed_ms = visit_planned(w)->timed_ms};
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
