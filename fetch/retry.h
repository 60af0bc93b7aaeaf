/*
 * Trying again what failed for a reason that may pass: a host that could not be opened, a service that did
 * not answer, an item. An attempt that is followed by another is no failure, but a step; what came of the
 * last one counts.
 */
#ifndef FETCH_RETRY_H
#define FETCH_RETRY_H

#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/observe.h"

/* Zeroed but for what is known beforehand; the last two are retry_again's. */
struct retry {
    const struct fetch_grab *grab;
    struct observe *observe;
    const struct target *target; /* one of a whole host's, if it is that */
    const char *what;            /* "heap"; NULL: all of it */
    bool whole_host;
    struct budget *budget; /* that another attempt has to fit in; NULL: none */
    int64_t timed_ms;      /* for which it profiles the process each time */
    unsigned attempts;     /* that failed and were followed by another */
    char before[120];      /* why the first of them failed */
};

/* Whether there may be no such failure the next time: nobody answered, the way was lost, the service is busy
 * or in trouble (5xx). Never where somebody said no. `http_status` is 0 where there was no answer. */
bool retry_passes(const struct err *why, int http_status);

/*
 * After a failure that passes: says that it is tried again, and waits a little, longer each time. False if
 * there are no more attempts, the budget has no time for one, or the run was cancelled meanwhile; then `why`
 * says so, and how many there were.
 */
bool retry_again(struct retry *r, struct err *why);

/* What is to be said of something that came only when it was tried again: adds it, if so. `what` is the
 * beginning of that sentence. */
void retry_note(const struct retry *r, const char *what, struct verdicts *l);

#endif
