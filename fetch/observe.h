/* Locks the observer, so that threads report one at a time; only `save` runs without the lock. If the run's
 * deadline interrupted an item, the item's error names the deadline. */
#ifndef FETCH_OBSERVE_H
#define FETCH_OBSERVE_H

#include <pthread.h>

#include "fetch/deadline.h"
#include "fetch/fetch.h"

struct observe {
    const struct fetch_observer *observer;
    struct deadline *deadline; /* NULL: there is none */
    pthread_mutex_t mutex;
};

/* Prepares the observer's calls. `observer` may be NULL. */
void observe_init(struct observe *o, const struct fetch_observer *observer, struct deadline *deadline);
void observe_release(struct observe *o);
void observe_opening(struct observe *o, const struct host *host);
void observe_host(struct observe *o, const struct host *host, const struct gateway *gw,
                  const struct err *failure);
void observe_service(struct observe *o, const struct target *target, const struct fetch_service_report *s);
/* Names the deadline in the item's error if it is the cause, then reports the item. */
void observe_item(struct observe *o, const struct target *target, struct fetch_item *item);
void observe_step(struct observe *o, const struct host *host, const struct service *service,
                  const struct fetch_step *step);
/* observe_is_resuming returns whether the run resumes an earlier one, and observe_is_collected whether the
 * earlier run has recorded the item (fetch_observer.is_collected). */
bool observe_is_resuming(const struct observe *o);
bool observe_is_collected(struct observe *o, const struct target *target, const struct fetch_planned *item,
                          int64_t *ret_started);
void observe_progress(struct observe *o, const struct target *target, const struct fetch_progress *p);

#endif
