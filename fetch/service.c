#include "fetch/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/estimate.h"
#include "fetch/verdict.h"
#include "fetch/service_run.h"
#include "base/banned.h"

/* ---- the connection ------------------------------------------------------------------------------------ */

/* A discovery source gives its scrape address; the service may listen on loopback only. */
static void add_found_hint(const struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    if (!service->source || service->unix_path || address_is_loopback(service->host) ||
        !strstr(err->msg, "cannot connect to"))
        return;
    err_hint(err,
             "%s says %s; if the service listens on loopback alone, name under `service:` of the source a "
             "service that has `host: 127.0.0.1`",
             service->source->name, service->host);
}

/* Checks that the service accepts connections: a grab's first request shows it, a probe asks explicitly. */
static int check_connection(struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    struct destination to = service_run_destination(service);
    struct fetch_step step = {.kind = FETCH_STEP_DIAL};
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    int fd = -1, rc = gateway_dial(run->gw, &to, &fd, &why);
    step.duration_ms = clock_now() - began;
    if (rc < 0)
        add_found_hint(run, &why);
    step.failure = rc < 0 ? &why : NULL;
    if (service->unix_path)
        snprintf(step.detail, sizeof step.detail, "%s", service->unix_path);
    else
        snprintf(step.detail, sizeof step.detail, "%s port %u", service->host, service->port);
    observe_step(run->observe, run->target->host, service, &step);
    fd_close(&fd);
    if (rc < 0)
        *err = why;
    return rc;
}

/* ---- the index page ------------------------------------------------------------------------------------ */

static void note_skew(struct service_run *run, const struct transfer_response *response)
{
    if (!response->date)
        return;
    /* The header has whole seconds: add half a second as the best guess. */
    run->has_clock_skew = true;
    run->clock_skew_ms = response->date + 500 - response->date_at;
}

static void tell_index(struct service_run *run, const struct transfer_response *response,
                       const struct err *failure)
{
    struct fetch_step step = {
        .kind = FETCH_STEP_INDEX, .duration_ms = response->duration_ms, .failure = failure};
    if (!failure)
        snprintf(step.detail, sizeof step.detail, "%zu profiles", run->index.n);
    observe_step(run->observe, run->target->host, run->target->service, &step);
}

/* Retries once over another session if the session is lost. */
static bool ask_index(struct service_run *run, struct transfer_response *response, struct err *why)
{
    if (service_run_index(run, run->transfer, &run->index, response, why) == 0)
        return true;
    if (why->kind != ERR_LOST || gateway_renew(run->gw, why) < 0)
        return false;
    *response = (struct transfer_response){0};
    if (service_run_index(run, run->transfer, &run->index, response, why) < 0)
        return false;
    verdicts_add(&run->verdicts, "renewed", NULL, NULL, NULL);
    return true;
}

/* Reads the index page. A missing index is no failure if the target answers. */
static int read_index(struct service_run *run, struct err *err)
{
    struct transfer_response response = {0};
    struct err why = ERR_INIT;
    run->has_index = ask_index(run, &response, &why);
    note_skew(run, &response);
    tell_index(run, &response, run->has_index ? NULL : &why);
    run->no_index = why;
    run->index_status = response.status;
    if (run->has_index || (response.status != 0 && why.kind != ERR_CANCELLED))
        return 0;
    *err = why;
    return -1;
}

static int reach_once(struct service_run *run, struct err *err)
{
    if (run->grab->probe && check_connection(run, err) < 0)
        return -1;
    if (!run->transfer && service_run_connect(run, &run->transfer, err) < 0)
        return -1;
    return read_index(run, err);
}

/* Retries until the service answers, or no retries are left. Also retries a page with a temporary error
 * status. */
static int read_index_with_retries(struct service_run *run, struct err *err)
{
    struct retry retry = {.grab = run->grab, .observe = run->observe, .target = run->target};
    struct err why = ERR_INIT;
    int rc;
    for (;;) {
        rc = reach_once(run, &why);
        if (rc == 0 && run->has_index)
            break;
        struct err *failure = rc < 0 ? &why : &run->no_index;
        if (!retry_is_transient(failure, run->index_status) || !retry_again(&retry, failure))
            break;
        if (run->transfer)
            transfer_expect_new_connection(run->transfer);
    }
    if (rc < 0) {
        *err = why;
        return -1;
    }
    retry_note(&retry, "its index page came", &run->verdicts);
    if (run->has_clock_skew)
        verdict_skew(&run->verdicts, run->clock_skew_ms);
    return 0;
}

/* Skips items of an earlier run. Their time counts for the second of a pair; if it is unknown, now counts, so
 * that the second one is late rather than early. */
static void mark_collected(struct service_run *run)
{
    for (size_t i = 0; run->grab->have && i < run->plan.n; i++) {
        struct plan_item *item = &run->plan.items[i];
        int64_t started = 0, now = clock_utc();
        item->already_collected = observe_have(
            run->observe, run->grab, run->target,
            &(struct fetch_planned){.kind = item->kind, .argument = item->argument, .pair = item->pair},
            &started);
        if (item->already_collected)
            item->began = clock_now() - (started > 0 && started < now ? now - started : 0);
    }
}

static int make_plan(struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    const struct strlist *words = run->grab->kinds->n ? run->grab->kinds : &service->kinds;
    struct request_list requests;
    if (request_parse(words, &requests, err) < 0)
        return -1;
    int rc = plan_make(service, &requests, run->has_index ? &run->index : NULL, &run->plan, err);
    request_release(&requests);
    if (rc == 0 && run->grab->pair_ms > 0)
        rc = plan_pairs(&run->plan, err);
    if (rc == 0)
        mark_collected(run);
    if (rc == 0)
        budget_apply(run->budget, &run->plan, run->has_index ? &run->index : NULL);
    if (run->has_index)
        return rc;
    /* The index page could not be read and may list the kind: not the user's error. */
    if (rc < 0 && run->no_index.kind != ERR_NOT_FOUND) {
        err_set(err, ERR_FAILED, "the index page cannot be read: %.300s", run->no_index.msg);
        return err_hint(err, "%s", run->no_index.hint);
    }
    char why[160];
    snprintf(why, sizeof why, "%.150s", run->no_index.msg);
    return rc < 0 ? -1 : verdicts_add(&run->plan.verdicts, "no-index", why, NULL, err);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

/* A new array; NULL if there is no memory. */
static struct fetch_planned *list_planned(const struct service_run *run)
{
    struct fetch_planned *all = calloc(run->plan.n + 1, sizeof *all);
    for (size_t i = 0; all && i < run->plan.n; i++) {
        const struct plan_item *item = &run->plan.items[i];
        const struct index_page *index = run->has_index ? &run->index : NULL;
        all[i] = (struct fetch_planned){.kind = item->kind,
                                        .argument = item->argument,
                                        .pair = item->pair,
                                        .bytes = item->absent ? 0 : estimate_bytes(item, index),
                                        .timed_ms = item->timed_ms,
                                        .count = estimate_records(item, index),
                                        .already_collected = item->already_collected,
                                        .absent = item->absent,
                                        .left_out = item->left_out[0] ? item->left_out : NULL};
    }
    return all;
}

static void tell_service(struct service_run *run, const struct err *failure)
{
    struct fetch_offer *offers = calloc(run->index.n + 1, sizeof *offers);
    struct fetch_planned *items = list_planned(run);
    struct fetch_service report = {.offers = offers,
                                   .n_offers = offers ? run->index.n : 0,
                                   .planned = items,
                                   .n_items = items ? run->plan.n : 0,
                                   .has_clock_skew = run->has_clock_skew,
                                   .clock_skew_ms = run->clock_skew_ms,
                                   .failure = failure,
                                   .verdicts = &run->verdicts};
    for (size_t i = 0; i < report.n_offers; i++)
        offers[i] = (struct fetch_offer){run->index.items[i].name, run->index.items[i].count};
    verdicts_move(&run->verdicts, &run->plan.verdicts);
    observe_service(run->observe, run->target, &report);
    free(items);
    free(offers);
}

static int probe_service(struct service_run *run, struct err *err)
{
    if (!run->has_index) {
        *err = run->no_index;
        return -1;
    }
    service_run_look_for_exposure(run);
    return 0;
}

/* The inventory's hint for a service that does not answer comes first, ours after it. */
static void add_hint(const struct service *service, struct err *err)
{
    char own[sizeof err->hint];
    if (!service->hint || err->kind == ERR_CANCELLED)
        return;
    snprintf(own, sizeof own, "%s", err->hint);
    err_hint(err, "%s%s%s", service->hint, *own ? "; else: " : "", own);
}

static int prepare_service(struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    snprintf(run->directory, sizeof run->directory, "%s/%s", run->target->host->name, service->name);
    if (service->https && service->tls.insecure &&
        verdicts_add(&run->verdicts, "tls-unchecked", NULL, NULL, err) < 0)
        return -1;
    if (read_index_with_retries(run, err) < 0) {
        if (!run->grab->probe)
            add_found_hint(run, err);
        add_hint(service, err);
        return -1;
    }
    if (run->grab->probe)
        return probe_service(run, err);
    if (make_plan(run, err) < 0)
        return -1;
    return run->grab->plan ? 0 : beneath_mkdirs(run->grab->directory, run->directory, err);
}

void service_run(const struct service_surroundings *around, const struct target *target,
                 const struct secret *secret)
{
    const struct fetch_grab *grab = around->grab;
    struct service_run run = {.grab = grab,
                              .observe = around->observe,
                              .target = target,
                              .gw = around->gw,
                              .secret = secret,
                              .sync = around->sync,
                              .seat = around->seat,
                              .budget = around->budget};
    struct err failure = ERR_INIT;
    pthread_mutex_init(&run.mutex, NULL);
    retry_note(around->opening, "the host could be opened", &run.verdicts);
    int rc = prepare_service(&run, &failure);
    tell_service(&run, rc < 0 ? &failure : NULL);
    if (rc == 0 && !grab->probe && !grab->plan)
        service_run_fetch(&run);
    transfer_free(run.transfer);
    index_release(&run.index);
    plan_release(&run.plan);
    verdicts_release(&run.verdicts);
    pthread_mutex_destroy(&run.mutex);
}
