#include "fetch/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/estimate.h"
#include "fetch/finding.h"
#include "fetch/service_run.h"
#include "base/banned.h"

/* ---- the connection ------------------------------------------------------------------------------------ */

/* Adds a hint to a refused connection. A discovery source lists the address for scraping, but the service may
 * listen on loopback only. Then the host refuses the connection at once; a missing answer has other
 * causes. */
static void add_discovered_hint(const struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    bool refused = err->unreachable && err->kind == ERR_FAILED;
    if (!service->source || service->unix_path || address_is_loopback(service->host) || !refused)
        return;
    err_hint(err,
             "%s gives the address %s; if the service listens only on loopback, set `service:` of the source "
             "to a service that has `host: 127.0.0.1`",
             service->source->source->name, service->host);
}

/* Checks that the service accepts connections. Only a probe needs this; a grab sends a request instead. */
static int check_connection(struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    struct destination to = service_run_destination(service);
    struct fetch_step step = {.kind = FETCH_STEP_DIAL};
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    int fd = -1, rc = gateway_dial(run->context->gw, &to, &fd, &why);
    step.duration_ms = clock_now() - began;
    if (rc < 0)
        add_discovered_hint(run, &why);
    step.failure = rc < 0 ? &why : NULL;
    if (service->unix_path)
        snprintf(step.detail, sizeof step.detail, "%s", service->unix_path);
    else
        snprintf(step.detail, sizeof step.detail, "%s port %u", service->host, service->port);
    observe_step(run->context->observe, run->target->host, service, &step);
    fd_close(&fd);
    if (rc < 0)
        *err = why;
    return rc;
}

/* ---- the index page ------------------------------------------------------------------------------------ */

static void record_clock_skew(struct service_run *run, const struct http_response *response)
{
    if (!response->date)
        return;
    /* The header has whole seconds, so add half a second as the best guess. */
    run->clock.known = true;
    run->clock.skew_ms = response->date + 500 - response->date_at;
}

static void report_index(struct service_run *run, const struct http_response *response,
                         const struct err *failure)
{
    struct fetch_step step = {
        .kind = FETCH_STEP_INDEX, .duration_ms = response->duration_ms, .failure = failure};
    if (!failure)
        snprintf(step.detail, sizeof step.detail, "%zu profiles", run->index.page.n);
    observe_step(run->context->observe, run->target->host, run->target->service, &step);
}

/* Requests the page. Retries once over another session if the session is lost. */
static bool request_index(struct service_run *run, struct http_response *response, struct err *why)
{
    if (service_run_index(run, run->transfer, &run->index.page, response, why) == 0)
        return true;
    if (why->kind != ERR_LOST || gateway_renew(run->context->gw, why) < 0)
        return false;
    *response = (struct http_response){0};
    if (service_run_index(run, run->transfer, &run->index.page, response, why) < 0)
        return false;
    fetch_finding_add(&run->findings, FETCH_FINDING_RENEWED, NULL, NULL, NULL);
    return true;
}

/* Reads the index page. A missing index is no failure if the target answers. */
static int read_index(struct service_run *run, struct err *err)
{
    struct http_response response = {0};
    struct err why = ERR_INIT;
    run->index.found = request_index(run, &response, &why);
    record_clock_skew(run, &response);
    report_index(run, &response, run->index.found ? NULL : &why);
    run->index.failure = why;
    run->index.status = response.status;
    if (run->index.found || (response.status != 0 && why.kind != ERR_CANCELLED))
        return 0;
    *err = why;
    return -1;
}

static int try_service(struct service_run *run, bool dial_first, struct err *err)
{
    if (dial_first && check_connection(run, err) < 0)
        return -1;
    if (!run->transfer && service_run_connect(run, &run->transfer, err) < 0)
        return -1;
    return read_index(run, err);
}

/* Retries until the service answers, or no retries are left. Also retries a page with a temporary error
 * status. `dial_first`: each attempt first reports whether the service accepts connections. */
static int read_index_with_retries(struct service_run *run, bool dial_first, struct err *err)
{
    struct retry retry = {
        .grab = run->context->grab, .observe = run->context->observe, .target = run->target};
    struct err why = ERR_INIT;
    int rc;
    for (;;) {
        rc = try_service(run, dial_first, &why);
        if (rc == 0 && run->index.found)
            break;
        struct err *failure = rc < 0 ? &why : &run->index.failure;
        if (!retry_is_transient(failure, run->index.status) || !retry_wait(&retry, failure))
            break;
        if (run->transfer)
            transfer_expect_new_connection(run->transfer);
    }
    if (rc < 0) {
        *err = why;
        return -1;
    }
    retry_add_finding(&retry, "its index page was read", &run->findings);
    if (run->clock.known)
        fetch_finding_add_skew(&run->findings, run->clock.skew_ms);
    return 0;
}

/* Marks the items that an earlier run has fetched. The wait for the second item of a pair begins at the time
 * of the first item. If that time is unknown, the wait begins now, so that the second item is late rather
 * than early. */
static void mark_collected(struct service_run *run)
{
    for (size_t i = 0; observe_is_resuming(run->context->observe) && i < run->plan.n; i++) {
        struct plan_item *item = &run->plan.items[i];
        int64_t started = 0, now = clock_utc();
        item->already_collected = observe_is_collected(
            run->context->observe, run->target,
            &(struct fetch_planned){.kind = item->kind, .argument = item->argument, .pair = item->pair},
            &started);
        if (item->already_collected)
            item->began = clock_now() - (started > 0 && started < now ? now - started : 0);
    }
}

static int make_plan(struct service_run *run, struct err *err)
{
    const struct service *service = run->target->service;
    struct request_list requests;
    if (request_parse(fetch_service_kinds(run->context->grab->kinds, service), &requests, err) < 0)
        return -1;
    int rc = plan_make(service, &requests, run->index.found ? &run->index.page : NULL, &run->plan, err);
    request_release(&requests);
    if (rc == 0 && run->context->grab->options.pair_ms > 0)
        rc = plan_pairs(&run->plan, err);
    if (rc == 0)
        mark_collected(run);
    if (rc == 0)
        budget_apply(run->context->budget, &run->plan, run->index.found ? &run->index.page : NULL);
    if (run->index.found)
        return rc;
    /* The unread index page may list the kind, so this is not the user's error. */
    if (rc < 0 && run->index.failure.kind != ERR_NOT_FOUND) {
        err_set(err, ERR_FAILED, "the index page cannot be read: %.300s", run->index.failure.msg);
        return err_hint(err, "%s", run->index.failure.hint);
    }
    char why[160];
    snprintf(why, sizeof why, "%.150s", run->index.failure.msg);
    return rc < 0 ? -1 : fetch_finding_add(&run->plan.findings, FETCH_FINDING_NO_INDEX, why, NULL, err);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

/* Returns a new array; NULL if memory runs out. */
static struct fetch_planned *list_planned(const struct service_run *run)
{
    struct fetch_planned *planned = calloc(run->plan.n + 1, sizeof *planned);
    for (size_t i = 0; planned && i < run->plan.n; i++) {
        const struct plan_item *item = &run->plan.items[i];
        const struct index_page *index = run->index.found ? &run->index.page : NULL;
        planned[i] = (struct fetch_planned){.kind = item->kind,
                                            .argument = item->argument,
                                            .pair = item->pair,
                                            .bytes = item->absent ? 0 : estimate_bytes(item, index),
                                            .timed_ms = item->timed_ms,
                                            .count = estimate_records(item, index),
                                            .already_collected = item->already_collected,
                                            .absent = item->absent,
                                            .left_out_reason = item->left_out[0] ? item->left_out : NULL};
    }
    return planned;
}

static void report_service(struct service_run *run, const struct err *failure)
{
    struct fetch_offer *offers = calloc(run->index.page.n + 1, sizeof *offers);
    struct fetch_planned *items = list_planned(run);
    struct fetch_service_report report = {.offers = offers,
                                          .n_offers = offers ? run->index.page.n : 0,
                                          .planned = items,
                                          .n_items = items ? run->plan.n : 0,
                                          .has_clock_skew = run->clock.known,
                                          .clock_skew_ms = run->clock.skew_ms,
                                          .failure = failure,
                                          .findings = &run->findings};
    for (size_t i = 0; i < report.n_offers; i++)
        offers[i] = (struct fetch_offer){run->index.page.items[i].name, run->index.page.items[i].count};
    findings_move(&run->findings, &run->plan.findings);
    observe_service(run->context->observe, run->target, &report);
    free(items);
    free(offers);
}

/* Puts the service's hint of the inventory in front of our own hint. Its author wrote it for the case that
 * the service does not answer. */
static void add_inventory_hint(const struct service *service, struct err *err)
{
    char our_hint[sizeof err->hint];
    if (!service->hint || err->kind == ERR_CANCELLED)
        return;
    snprintf(our_hint, sizeof our_hint, "%s", err->hint);
    err_hint(err, "%s%s%s", service->hint, *our_hint ? "; else: " : "", our_hint);
}

static void start_run(struct service_run *run, const struct service_context *context,
                      const struct target *target, const struct secret *secret)
{
    *run = (struct service_run){.context = context, .target = target, .secret = secret};
    pthread_mutex_init(&run->mutex, NULL);
    snprintf(run->directory, sizeof run->directory, "%s/%s", target->host->name, target->service->name);
    retry_add_finding(context->open_retry, "the host could be opened", &run->findings);
}

static void end_run(struct service_run *run)
{
    transfer_free(run->transfer);
    index_release(&run->index.page);
    plan_release(&run->plan);
    findings_release(&run->findings);
    pthread_mutex_destroy(&run->mutex);
}

static int open_service(struct service_run *run, bool dial_first, struct err *err)
{
    const struct service *service = run->target->service;
    if (service->https && service->tls.insecure &&
        fetch_finding_add(&run->findings, FETCH_FINDING_TLS_UNCHECKED, NULL, NULL, err) < 0)
        return -1;
    if (read_index_with_retries(run, dial_first, err) == 0)
        return 0;
    if (!dial_first)
        add_discovered_hint(run, err);
    add_inventory_hint(service, err);
    return -1;
}

void service_grab(const struct service_context *context, const struct target *target,
                  const struct secret *secret)
{
    struct service_run run;
    struct err failure = ERR_INIT;
    start_run(&run, context, target, secret);
    int rc = open_service(&run, false, &failure);
    if (rc == 0)
        rc = make_plan(&run, &failure);
    if (rc == 0)
        rc = dir_mkdirs(context->grab->directory, run.directory, &failure);
    report_service(&run, rc < 0 ? &failure : NULL);
    if (rc == 0)
        service_run_fetch(&run);
    end_run(&run);
}

void service_plan(const struct service_context *context, const struct target *target,
                  const struct secret *secret)
{
    struct service_run run;
    struct err failure = ERR_INIT;
    start_run(&run, context, target, secret);
    int rc = open_service(&run, false, &failure);
    if (rc == 0)
        rc = make_plan(&run, &failure);
    report_service(&run, rc < 0 ? &failure : NULL);
    end_run(&run);
}

void service_probe(const struct service_context *context, const struct target *target,
                   const struct secret *secret)
{
    struct service_run run;
    struct err failure = ERR_INIT;
    start_run(&run, context, target, secret);
    int rc = open_service(&run, true, &failure);
    if (rc == 0 && !run.index.found) {
        failure = run.index.failure;
        rc = -1;
    }
    if (rc == 0)
        service_run_check_exposure(&run);
    report_service(&run, rc < 0 ? &failure : NULL);
    end_run(&run);
}
