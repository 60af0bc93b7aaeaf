#include "fetch/sync.h"

#include <stdlib.h>

#include "fetch/finding.h"
#include "base/banned.h"

/* The Date header, which is exact to about a second, corrects clock errors of this size or more. */
#define CLOCK_OFF_MS 2000

int sync_init(struct sync *s, const struct fetch_job *grab, size_t processes, struct err *err)
{
    *s = (struct sync){0};
    if (grab->options.sync &&
        barrier_new(processes, grab->options.sync_deadline_ms, grab->access.cancel_fd, &s->barrier, err) < 0)
        return -1;
    pthread_mutex_init(&s->mutex, NULL);
    return 0;
}

void sync_release(struct sync *s)
{
    barrier_free(s->barrier);
    free(s->abs_skews);
    pthread_mutex_destroy(&s->mutex);
}

/* Returns the start of the profile in UTC nanoseconds; 0: unknown. A delta profile contains the time of its
 * end. Source: runtime/pprof (newProfileBuilder) and net/http/pprof (serveDeltaProfile). */
static int64_t get_start_ns(const struct plan_item *plan, const struct profile_summary *p)
{
    bool at_end = plan->rank == RANK_DELTA;
    if (p->time_ns <= 0 || p->duration_ns < 0 || p->duration_ns >= p->time_ns)
        return 0;
    return p->time_ns - (at_end ? p->duration_ns : 0);
}

static void record_skew(struct sync *s, const struct sync_start *start, int64_t began_ns,
                        int64_t clock_skew_ms, struct fetch_item *item)
{
    bool has_clock_error = clock_skew_ms >= CLOCK_OFF_MS || clock_skew_ms <= -CLOCK_OFF_MS;
    item->has_sync_skew = true;
    item->sync_skew_ms = began_ns / 1000000 - start->utc - (has_clock_error ? clock_skew_ms : 0);
    if (has_clock_error || item->late)
        return;
    pthread_mutex_lock(&s->mutex);
    if (array_reserve((void **)&s->abs_skews, &s->cap, s->n + 1, sizeof *s->abs_skews, NULL) == 0)
        s->abs_skews[s->n++] = item->sync_skew_ms < 0 ? -item->sync_skew_ms : item->sync_skew_ms;
    pthread_mutex_unlock(&s->mutex);
}

void sync_record(struct sync *s, const struct sync_start *start, const struct plan_item *plan,
                 int64_t clock_skew_ms, struct fetch_item *item)
{
    if (start->at == 0)
        return;
    item->late = start->late;
    if (item->late && item->file[0])
        fetch_finding_add(&item->findings, FETCH_FINDING_SYNC_LATE, NULL, NULL, NULL);
    int64_t began_ns = item->has_profile ? get_start_ns(plan, &item->profile) : 0;
    if (began_ns > 0)
        record_skew(s, start, began_ns, clock_skew_ms, item);
}

static int compare_skews(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A percentile by nearest rank. */
static int64_t get_percentile(const struct sync *s, unsigned percent)
{
    return s->abs_skews[(s->n * percent + 99) / 100 - 1];
}

void sync_summarize(struct sync *s, struct fetch_outcome *ret)
{
    if (!s->barrier)
        return;
    struct barrier_round first = barrier_round(s->barrier, 0);
    ret->sync_at = first.at > 0 ? clock_utc() - clock_now() + first.at : 0;
    ret->sync_processes = first.arrived;
    ret->sync_late = first.late;
    ret->sync_measured = s->n;
    if (s->n == 0)
        return;
    qsort(s->abs_skews, s->n, sizeof *s->abs_skews, compare_skews);
    ret->sync_p50_ms = get_percentile(s, 50);
    ret->sync_p95_ms = get_percentile(s, 95);
    ret->sync_max_ms = get_percentile(s, 100);
}
