#include "capture/outcomes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

int outcomes_new(struct outcomes *t, const struct targets *targets, struct err *err)
{
    struct outcome *items = calloc(targets->n + 1, sizeof *items);
    if (!items)
        return err_nomem(err);
    for (size_t i = 0; i < targets->n; i++)
        items[i].target = &targets->items[i];
    *t = (struct outcomes){.targets = targets, .items = items};
    return 0;
}

void outcomes_release(struct outcomes *t)
{
    free(t->items);
    *t = (struct outcomes){0};
}

static struct outcome *find_target(struct outcomes *t, const struct target *target)
{
    return &t->items[target - t->targets->items];
}

static void add_failure(struct outcome *t, const char *what, const struct err *why)
{
    if (t->failures++ == 0)
        snprintf(t->why, sizeof t->why, "%.200s%s%s", what, *what ? ": " : "", why->msg);
}

void outcomes_record_opening(struct outcomes *t, const struct host *host)
{
    for (size_t i = 0; i < t->targets->n; i++)
        if (t->items[i].target->host == host)
            t->items[i].began = clock_now();
}

void outcomes_record_host(struct outcomes *t, const struct host *host, const struct err *failure)
{
    for (size_t i = 0; failure && i < t->targets->n; i++) {
        struct outcome *target = &t->items[i];
        if (target->target->host != host)
            continue;
        target->ended = clock_now();
        target->host_failed = true;
        add_failure(target, "", failure);
    }
}

void outcomes_record_service(struct outcomes *t, const struct target *target, const struct fetch_service *s)
{
    struct outcome *one = find_target(t, target);
    one->ended = clock_now();
    one->planned = !s->failure;
    one->n_requested = 0;
    for (size_t i = 0; i < s->n_items; i++)
        one->n_requested += !s->planned[i].already_collected;
    if (s->failure)
        add_failure(one, "", s->failure);
    one->unusable = s->failure && s->failure->kind == ERR_USAGE;
}

void outcomes_record_item(struct outcomes *t, const struct target *target, const struct fetch_item *item)
{
    struct outcome *one = find_target(t, target);
    char what[320];
    one->ended = clock_now();
    one->bytes += item->status == FETCH_OK ? item->bytes : 0;
    one->n_collected += item->status == FETCH_OK;
    snprintf(what, sizeof what, "%s%s%s", item->kind, *item->argument ? "=" : "", item->argument);
    /* The service lacks the profile, and an event has reported the reason already. */
    if (item->permanent && item->err.kind == ERR_NOT_FOUND && item->http_status == 0)
        add_failure(one, what, &(struct err){.kind = ERR_NOT_FOUND, .msg = "the service does not have it"});
    else if (item->status != FETCH_OK)
        add_failure(one, what, &item->err);
}

bool outcome_is_complete(const struct outcome *t)
{
    return t->planned && t->failures == 0 && t->n_collected >= t->n_requested;
}

int64_t outcome_duration(const struct outcome *t)
{
    return t->began && t->ended ? t->ended - t->began : 0;
}
