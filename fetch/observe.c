#include "fetch/observe.h"

#include "base/banned.h"

void observe_init(struct observe *o, const struct fetch_observer *observer, struct deadline *deadline)
{
    static const struct fetch_observer none = {0};
    o->observer = observer ? observer : &none;
    o->deadline = deadline;
    pthread_mutex_init(&o->mutex, NULL);
}

void observe_release(struct observe *o)
{
    pthread_mutex_destroy(&o->mutex);
}

/* Copies the error, and names the deadline in the copy if the deadline is the cause. Returns the copy, or
 * NULL if `failure` is NULL. */
static const struct err *explain_failure(struct observe *o, const struct err *failure, struct err *copy)
{
    if (!failure)
        return NULL;
    *copy = *failure;
    deadline_explain(o->deadline, copy);
    return copy;
}

void observe_opening(struct observe *o, const struct host *host)
{
    if (!o->observer->opening)
        return;
    pthread_mutex_lock(&o->mutex);
    o->observer->opening(o->observer->ctx, host);
    pthread_mutex_unlock(&o->mutex);
}

void observe_host(struct observe *o, const struct host *host, const struct gateway *gw,
                  const struct err *failure)
{
    struct err why;
    failure = explain_failure(o, failure, &why);
    if (!o->observer->host)
        return;
    pthread_mutex_lock(&o->mutex);
    o->observer->host(o->observer->ctx, host, gw, failure);
    pthread_mutex_unlock(&o->mutex);
}

void observe_service(struct observe *o, const struct target *target, const struct fetch_service_report *s)
{
    struct err why;
    struct fetch_service_report explained = *s;
    explained.failure = explain_failure(o, s->failure, &why);
    if (!o->observer->service)
        return;
    pthread_mutex_lock(&o->mutex);
    o->observer->service(o->observer->ctx, target, &explained);
    pthread_mutex_unlock(&o->mutex);
}

static void call_save(struct observe *o, bool before_timed_item)
{
    if (o->observer->save)
        o->observer->save(o->observer->ctx, before_timed_item);
}

void observe_item(struct observe *o, const struct target *target, struct fetch_item *item)
{
    deadline_explain(o->deadline, &item->err);
    if (item->status == FETCH_INTERRUPTED && item->err.kind != ERR_CANCELLED)
        item->status = item->file[0] ? FETCH_DAMAGED : FETCH_FAILED;
    if (o->observer->item) {
        pthread_mutex_lock(&o->mutex);
        o->observer->item(o->observer->ctx, target, item);
        pthread_mutex_unlock(&o->mutex);
    }
    call_save(o, false);
}

void observe_progress(struct observe *o, const struct target *target, const struct fetch_progress *p)
{
    call_save(o, p->elapsed_ms == 0 && p->timed_ms > 0);
    if (!o->observer->progress)
        return;
    pthread_mutex_lock(&o->mutex);
    o->observer->progress(o->observer->ctx, target, p);
    pthread_mutex_unlock(&o->mutex);
}

void observe_step(struct observe *o, const struct host *host, const struct service *service,
                  const struct fetch_step *step)
{
    struct err why;
    struct fetch_step explained = *step;
    explained.failure = explain_failure(o, step->failure, &why);
    if (!o->observer->step)
        return;
    pthread_mutex_lock(&o->mutex);
    o->observer->step(o->observer->ctx, host, service, &explained);
    pthread_mutex_unlock(&o->mutex);
}

const char *fetch_step_name(enum fetch_step_kind kind)
{
    static const char *const names[] = {[FETCH_STEP_CONFIG] = "configuration",
                                        [FETCH_STEP_SHARED] = "session",
                                        [FETCH_STEP_VIA] = "via",
                                        [FETCH_STEP_CONNECT] = "connection",
                                        [FETCH_STEP_HANDSHAKE] = "handshake",
                                        [FETCH_STEP_HOST_KEY] = "host key",
                                        [FETCH_STEP_AUTH] = "authentication",
                                        [FETCH_STEP_DIAL] = "dial",
                                        [FETCH_STEP_INDEX] = "index",
                                        [FETCH_STEP_EXPOSURE] = "exposure",
                                        [FETCH_STEP_REQUEST] = "request",
                                        [FETCH_STEP_RETRY] = "retry"};
    return names[kind];
}

bool observe_is_resuming(const struct observe *o)
{
    return o->observer->is_collected;
}

bool observe_is_collected(struct observe *o, const struct target *target, const struct fetch_planned *item,
                          int64_t *ret_started)
{
    pthread_mutex_lock(&o->mutex);
    bool collected =
        o->observer->is_collected && o->observer->is_collected(o->observer->ctx, target, item, ret_started);
    pthread_mutex_unlock(&o->mutex);
    return collected;
}
