#include "fetch/retry.h"

#include <stdio.h>
#include <string.h>

#include "fetch/finding.h"
#include "base/banned.h"

/* The first pause, and the upper limit of its doubling. */
#define PAUSE_MS 1000
#define PAUSE_MAX_MS 30000

bool retry_is_transient(const struct err *why, int http_status)
{
    switch (why->kind) {
    case ERR_TIMEOUT:
    case ERR_LOST:
    case ERR_BUSY:
        return true;
    case ERR_FAILED:
        return http_status == 0 || (http_status >= 500 && http_status != 501);
    default:
        return false;
    }
}

static int64_t get_pause(unsigned attempts)
{
    int64_t pause = PAUSE_MS;
    for (unsigned i = 0; i < attempts && pause < PAUSE_MAX_MS; i++)
        pause *= 2;
    return clock_jitter(clock_min(pause, PAUSE_MAX_MS));
}

static void report_retry(const struct retry *r, const struct err *why, int64_t pause)
{
    char text[32];
    struct fetch_step step = {.kind = FETCH_STEP_RETRY, .always_print = true};
    snprintf(step.detail, sizeof step.detail, "%.60s%sagain in %s: %.300s", r->subject ? r->subject : "",
             r->subject ? ": " : "", text_duration(text, sizeof text, pause), why->msg);
    observe_step(r->observe, r->target->host, r->whole_host ? NULL : r->target->service, &step);
}

/* Ends the retries. `reason`: the reason to skip the remaining retries; NULL: none remains. */
static bool give_up(const struct retry *r, const char *reason, struct err *why)
{
    if (r->attempts > 0)
        err_append(why, "; it failed %u times", r->attempts + 1);
    if (reason)
        err_append(why, "; %s", reason);
    return false;
}

static bool give_up_interrupted(const struct retry *r, struct err *why)
{
    struct err reason = ERR_INIT;
    give_up(r, NULL, why);
    err_set(&reason, ERR_CANCELLED, "interrupted");
    deadline_explain(r->observe->deadline, &reason);
    err_append(why, "; then %s", reason.msg);
    return false;
}

bool retry_wait(struct retry *r, struct err *why)
{
    struct err reason = ERR_INIT;
    if (r->attempts >= r->grab->options.retries)
        return give_up(r, NULL, why);
    if (fd_cancelled(r->grab->access.cancel_fd))
        return give_up_interrupted(r, why);
    if (r->budget && budget_count_attempt(r->budget, r->timed_ms, &reason) < 0)
        return give_up(r, reason.msg, why);
    if (r->attempts == 0)
        snprintf(r->first_error, sizeof r->first_error, "%.*s", (int)sizeof r->first_error - 1, why->msg);
    int64_t pause = get_pause(r->attempts);
    report_retry(r, why, pause);
    fd_wait(-1, 0, clock_deadline(pause), r->grab->access.cancel_fd, &reason);
    if (reason.kind != ERR_TIMEOUT)
        return give_up_interrupted(r, why);
    r->attempts++;
    return true;
}

void retry_add_finding(const struct retry *r, const char *subject, struct findings *findings)
{
    char text[160];
    snprintf(text, sizeof text, "%.80s at attempt %u", subject, r->attempts + 1);
    if (r->attempts > 0)
        fetch_finding_add(findings, FETCH_FINDING_RETRIED, text, r->first_error, NULL);
}
