/*
 * Retries after temporary failures: of opening a host, of a service that did not answer, of an item. A failed
 * attempt before a retry is reported as a step, not as a failure; only the last attempt counts.
 */
#ifndef FETCH_RETRY_H
#define FETCH_RETRY_H

#include "fetch/budget.h"
#include "fetch/fetch.h"
#include "fetch/observe.h"

/* The caller sets the members that apply and zeroes the rest; retry_wait sets the last two. */
struct retry {
    const struct fetch_job *grab;
    struct observe *observe;
    const struct target *target; /* for a whole host: one of its targets */
    const char *subject;         /* the item, such as "heap"; NULL: the whole target */
    bool whole_host;
    struct budget *budget; /* the limit for a retry; NULL: none */
    int64_t timed_ms;      /* the time for which each attempt profiles the process */
    unsigned attempts;     /* failed attempts that were retried */
    char first_error[120]; /* the reason of the first failure */
};

/* Returns whether a retry may succeed: no answer, a lost connection, a busy or failing service (5xx, but not
 * 501). False after a refusal. `http_status` is 0 if there was no answer. */
bool retry_is_transient(const struct err *why, int http_status);

/*
 * After a temporary failure: reports the retry, waits (longer each time), and returns true. Returns false if
 * no retries are left, the budget has no time for one, or the run was cancelled; then appends the reason and
 * the number of attempts to `why`.
 */
bool retry_wait(struct retry *r, struct err *why);

/* Adds a finding if the request succeeded only after a retry. `subject` begins the sentence. */
void retry_add_finding(const struct retry *r, const char *subject, struct findings *findings);

#endif
