#include "capture/outcomes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

int outcomes_new(struct outcomes *o, const struct targets *targets, struct err *err)
{
    struct outcome *items = calloc(targets->n + 1, sizeof *items);
    if (!items)
        return err_nomem(err);
    for (size_t i = 0; i < targets->n; i++)
        items[i].target = &targets->items[i];
    *o = (struct outcomes){.targets = targets, .items = items};
    return 0;
}

void outcomes_release(struct outcomes *o)
{
    free(o->items);
    *o = (struct outcomes){0};
}

static struct outcome *find_outcome(struct outcomes *o, const struct target *target)
{
    return &o->items[target - o->targets->items];
}

/* Adds a failure. `item`: the name of the failed item; "": the host or service failed. */
static void add_failure(struct outcome *o, const char *item, const struct err *why)
{
    if (o->failures++ == 0)
        snprintf(o->why, sizeof o->why, "%.200s%s%s", item, *item ? ": " : "", why->msg);
}

void outcomes_record_opening(struct outcomes *o, const struct host *host)
{
    for (size_t i = 0; i < o->targets->n; i++)
        if (o->items[i].target->host == host)
            o->items[i].began = clock_now();
}

void outcomes_record_host(struct outcomes *o, const struct host *host, const struct err *failure)
{
    for (size_t i = 0; failure && i < o->targets->n; i++) {
        struct outcome *outcome = &o->items[i];
        if (outcome->target->host != host)
            continue;
        outcome->ended = clock_now();
        outcome->host_failed = true;
        add_failure(outcome, "", failure);
    }
}

void outcomes_record_service(struct outcomes *o, const struct target *target,
                             const struct fetch_service_report *s)
{
    struct outcome *outcome = find_outcome(o, target);
    outcome->ended = clock_now();
    outcome->planned = !s->failure;
    outcome->n_to_fetch = 0;
    for (size_t i = 0; i < s->n_items; i++)
        outcome->n_to_fetch += !s->planned[i].already_collected;
    if (s->failure)
        add_failure(outcome, "", s->failure);
    outcome->is_wrong_request = s->failure && s->failure->kind == ERR_USAGE;
}

void outcomes_record_item(struct outcomes *o, const struct target *target, const struct fetch_item *item)
{
    struct outcome *outcome = find_outcome(o, target);
    char name[320];
    outcome->ended = clock_now();
    outcome->bytes += item->status == FETCH_OK ? item->bytes : 0;
    outcome->n_collected += item->status == FETCH_OK;
    snprintf(name, sizeof name, "%s%s%s", item->kind, *item->argument ? "=" : "", item->argument);
    /* A short reason is enough: an event has already reported that the service lacks the profile. */
    if (item->permanent && item->err.kind == ERR_NOT_FOUND && item->http_status == 0)
        add_failure(outcome, name,
                    &(struct err){.kind = ERR_NOT_FOUND, .msg = "the service does not have it"});
    else if (item->status != FETCH_OK)
        add_failure(outcome, name, &item->err);
}

bool outcome_is_complete(const struct outcome *o)
{
    return o->planned && o->failures == 0 && o->n_collected >= o->n_to_fetch;
}

int64_t outcome_duration(const struct outcome *o)
{
    return o->began && o->ended ? o->ended - o->began : 0;
}
