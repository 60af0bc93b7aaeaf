#include "fetch/budget.h"

#include <stdio.h>

#include "fetch/estimate.h"
#include "base/banned.h"

void budget_init(struct budget *b, const struct fetch_job *grab)
{
    *b = (struct budget){.grab = grab};
    pthread_mutex_init(&b->mutex, NULL);
    check_limit_init(&b->check);
}

void budget_release(struct budget *b)
{
    pthread_mutex_destroy(&b->mutex);
    check_limit_release(&b->check);
}

/* Returns whether the budget has time for the item. If not, stores the reason in the item. */
static bool fits_time(const struct budget *b, struct plan_item *item)
{
    char needed[32], remaining[32], total[32];
    int64_t limit = b->grab->options.budget_ms, rest = limit - b->profiled_ms;
    if (limit == 0 || item->timed_ms <= rest)
        return true;
    snprintf(item->left_out, sizeof item->left_out,
             "left out: it needs %s of profiling, and of the budget's %s only %s remain",
             text_duration(needed, sizeof needed, item->timed_ms), text_duration(total, sizeof total, limit),
             text_duration(remaining, sizeof remaining, rest));
    return false;
}

/* Returns whether the budget has `bytes` bytes for the item. If not, stores the reason in the item. */
static bool fits_bytes(const struct budget *b, struct plan_item *item, uint64_t bytes)
{
    char needed[32], remaining[32], total[32];
    uint64_t limit = b->grab->options.budget_bytes, used = b->received + b->expected;
    uint64_t rest = used < limit ? limit - used : 0;
    if (limit == 0 || bytes <= rest)
        return true;
    snprintf(item->left_out, sizeof item->left_out,
             "left out: it needs about %s, and of the budget's %s only %s remain",
             text_bytes(needed, sizeof needed, bytes), text_bytes(total, sizeof total, limit),
             text_bytes(remaining, sizeof remaining, rest));
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
    char total[32];
    uint64_t limit = b->grab->options.budget_bytes;
    if (limit == 0)
        return 0;
    pthread_mutex_lock(&b->mutex);
    bool fits = n <= limit - b->received;
    b->received += fits ? n : limit - b->received;
    pthread_mutex_unlock(&b->mutex);
    if (fits)
        return 0;
    err_set(err, ERR_FAILED, "its body is larger than the rest of the budget of %s: the rest was not read",
            text_bytes(total, sizeof total, limit));
    return err_hint(err, "--budget bytes=SIZE sets another limit");
}

int budget_count_attempt(struct budget *b, int64_t timed_ms, struct err *err)
{
    char total[32];
    int64_t limit = b->grab->options.budget_ms;
    if (limit == 0 || timed_ms == 0)
        return 0;
    pthread_mutex_lock(&b->mutex);
    bool fits = timed_ms <= limit - b->profiled_ms;
    b->profiled_ms += fits ? timed_ms : 0;
    pthread_mutex_unlock(&b->mutex);
    return fits ? 0
                : err_set(err, ERR_FAILED, "not tried again: the budget's %s of profiling are used up",
                          text_duration(total, sizeof total, limit));
}

int budget_check(struct budget *b, struct err *err)
{
    char total[32];
    uint64_t limit = b->grab->options.budget_bytes;
    pthread_mutex_lock(&b->mutex);
    bool has_left = limit == 0 || b->received < limit;
    pthread_mutex_unlock(&b->mutex);
    if (has_left)
        return 0;
    return err_set(err, ERR_FAILED, "left out: earlier items used all of the budget's %s",
                   text_bytes(total, sizeof total, limit));
}
