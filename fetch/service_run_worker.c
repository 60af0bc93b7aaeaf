#include "fetch/service_run_worker.h"

#include "base/banned.h"

const struct plan_item *worker_planned(const struct worker *w)
{
    return &w->run->plan.items[w->at];
}

void worker_report_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms)
{
    const struct worker *w = ctx;
    const struct plan_item *item = worker_planned(w);
    struct fetch_progress p = {.kind = item->kind,
                               .bytes = bytes,
                               .elapsed_ms = elapsed_ms,
                               .timed_ms = item->timed_ms,
                               .cost = item->cost,
                               .waiting = w->waiting,
                               .usual = w->meeting,
                               .index = w->at,
                               .n_items = w->run->plan.n};
    observe_progress(w->run->context->observe, w->run->target, &p);
}
