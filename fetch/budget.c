#include "fetch/budget.h"

#include <stdio.h>

#include "fetch/estimate.h"
#include "base/banned.h"

void budget_init(struct budget *b, const struct fetch_grab *grab)
{
    *b = (struct budget){.grab = grab};
    pthread_mutex_init(&b->mutex, NULL);
}

void budget_release(struct budget *b)
{
    pthread_mutex_destroy(&b->mutex);
}

static bool fits_time(const struct budget *b, struct plan_item *item)
{
    char own[32], left[32], all[32];
    int64_t most = b->grab->options.budget_ms, rest = most - b->profiled_ms;
    if (most == 0 || item->timed_ms <= rest)
        return true;
    snprintf(item->left_out, sizeof item->left_out,
             "left out: it needs %s of profiling, and of the budget's %s only %s remain",
             text_duration(own, sizeof own, item->timed_ms), text_duration(all, sizeof all, most),
             text_duration(left, sizeof left, rest));
    return false;
}

static bool fits_bytes(const struct budget *b, struct plan_item *item, uint64_t bytes)
{
    char own[32], left[32], all[32];
    uint64_t most = b->grab->options.budget_bytes, used = b->received + b->expected;
    uint64_t rest = used < most ? most - used : 0;
    if (most == 0 || bytes <= rest)
        return true;
    snprintf(item->left_out, sizeof item->left_out,
             "left out: it needs about %s, and of the budget's %s only %s remain",
             text_bytes(own, sizeof own, bytes), text_bytes(all, sizeof all, most),
             text_bytes(left, sizeof left, rest));
    return false;
}

void budget_apply(struct budget *b, struct plan *plan, const struct index_page *index)
{
    pthread_mutex_lock(&b->mutex);
    /* No item of the previous plan remains to be fetched. */
    b->expected = 0;
    for (size_t i = 0; i < plan->n; i++) {
        struct plan_item *item = &plan->items[i];
        uint64_t bytes = estimate_bytes(item, index);
        if (item->already_collected || item->absent || !fits_time(b, item) || !fits_bytes(b, item, bytes))
            continue;
        b->profiled_ms += item->timed_ms;
        b->expected += bytes;
    }
    pthread_mutex_unlock(&b->mutex);
}

int budget_count_bytes(struct budget *b, uint64_t n, struct err *err)
{
    char most[32];
    uint64_t all = b->grab->options.budget_bytes;
    if (all == 0)
        return 0;
    pthread_mutex_lock(&b->mutex);
    bool fits = n <= all - b->received;
    b->received += fits ? n : all - b->received;
    pthread_mutex_unlock(&b->mutex);
    if (fits)
        return 0;
    err_set(err, ERR_FAILED, "its body is larger than the rest of the budget of %s: the rest was not read",
            text_bytes(most, sizeof most, all));
    return err_hint(err, "--budget bytes=SIZE sets another limit");
}

int budget_count_attempt(struct budget *b, int64_t timed_ms, struct err *err)
{
    char all[32];
    int64_t most = b->grab->options.budget_ms;
    if (most == 0 || timed_ms == 0)
        return 0;
    pthread_mutex_lock(&b->mutex);
    bool fits = timed_ms <= most - b->profiled_ms;
    b->profiled_ms += fits ? timed_ms : 0;
    pthread_mutex_unlock(&b->mutex);
    return fits ? 0
                : err_set(err, ERR_FAILED, "not tried again: the budget's %s of profiling are used up",
                          text_duration(all, sizeof all, most));
}

int budget_check(struct budget *b, struct err *err)
{
    char most[32];
    uint64_t all = b->grab->options.budget_bytes;
    pthread_mutex_lock(&b->mutex);
    bool left = all == 0 || b->received < all;
    pthread_mutex_unlock(&b->mutex);
    if (left)
        return 0;
    return err_set(err, ERR_FAILED, "left out: earlier items used all of the budget's %s",
                   text_bytes(most, sizeof most, all));
}
