#include "fetch/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/estimate.h"
#include "fetch/verdict.h"
#include "fetch/visit.h"
#include "base/banned.h"

/* ---- the connection ------------------------------------------------------------------------------------ */

/* A discovery source gives its scrape address; the service may listen on loopback only. */
static void add_found_hint(const struct visit *v, struct err *err)
{
    const struct service *service = v->target->service;
    if (!service->source || service->unix_path || address_is_loopback(service->host) ||
        !strstr(err->msg, "cannot connect to"))
        return;
    err_hint(err,
             "%s says %s; if the service listens on loopback alone, name under `service:` of the source a "
             "service that has `host: 127.0.0.1`",
             service->source->name, service->host);
}

/* Checks that the service accepts connections: a grab's first request shows it, a probe asks explicitly. */
static int check_connection(struct visit *v, struct err *err)
{
    const struct service *service = v->target->service;
    struct destination to = visit_destination(service);
    struct fetch_step step = {.kind = FETCH_STEP_DIAL};
    struct err why = ERR_INIT;
    int64_t began = clock_now();
    int fd = -1, rc = gateway_dial(v->gw, &to, &fd, &why);
    step.duration_ms = clock_now() - began;
    if (rc < 0)
        add_found_hint(v, &why);
    step.failure = rc < 0 ? &why : NULL;
    if (service->unix_path)
        snprintf(step.detail, sizeof step.detail, "%s", service->unix_path);
    else
        snprintf(step.detail, sizeof step.detail, "%s port %u", service->host, service->port);
    observe_step(v->observe, v->target->host, service, &step);
    fd_close(&fd);
    if (rc < 0)
        *err = why;
    return rc;
}

/* ---- the index page ------------------------------------------------------------------------------------ */

static void note_skew(struct visit *v, const struct transfer_response *response)
{
    if (!response->date)
        return;
    /* The header has whole seconds: add half a second as the best guess. */
    v->has_clock_skew = true;
    v->clock_skew_ms = response->date + 500 - response->date_at;
}

static void tell_index(struct visit *v, const struct transfer_response *response, const struct err *failure)
{
    struct fetch_step step = {
        .kind = FETCH_STEP_INDEX, .duration_ms = response->duration_ms, .failure = failure};
    if (!failure)
        snprintf(step.detail, sizeof step.detail, "%zu profiles", v->index.n);
    observe_step(v->observe, v->target->host, v->target->service, &step);
}

/* Retries once over another session if the session is lost. */
static bool ask_index(struct visit *v, struct transfer_response *response, struct err *why)
{
    if (visit_index(v, v->transfer, &v->index, response, why) == 0)
        return true;
    if (why->kind != ERR_LOST || gateway_renew(v->gw, why) < 0)
        return false;
    *response = (struct transfer_response){0};
    if (visit_index(v, v->transfer, &v->index, response, why) < 0)
        return false;
    verdicts_add(&v->verdicts, "renewed", NULL, NULL, NULL);
    return true;
}

/* Reads the index page. A missing index is no failure if the target answers. */
static int read_index(struct visit *v, struct err *err)
{
    struct transfer_response response = {0};
    struct err why = ERR_INIT;
    v->has_index = ask_index(v, &response, &why);
    note_skew(v, &response);
    tell_index(v, &response, v->has_index ? NULL : &why);
    v->no_index = why;
    v->index_status = response.status;
    if (v->has_index || (response.status != 0 && why.kind != ERR_CANCELLED))
        return 0;
    *err = why;
    return -1;
}

static int reach_once(struct visit *v, struct err *err)
{
    if (v->grab->look && check_connection(v, err) < 0)
        return -1;
    if (!v->transfer && visit_connect(v, &v->transfer, err) < 0)
        return -1;
    return read_index(v, err);
}

/* Retries until the service answers, or no retries are left. Also retries a page with a temporary error
 * status. */
static int read_index_with_retries(struct visit *v, struct err *err)
{
    struct retry retry = {.grab = v->grab, .observe = v->observe, .target = v->target};
    struct err why = ERR_INIT;
    int rc;
    for (;;) {
        rc = reach_once(v, &why);
        if (rc == 0 && v->has_index)
            break;
        struct err *failure = rc < 0 ? &why : &v->no_index;
        if (!retry_passes(failure, v->index_status) || !retry_again(&retry, failure))
            break;
        if (v->transfer)
            transfer_expect_new_connection(v->transfer);
    }
    if (rc < 0) {
        *err = why;
        return -1;
    }
    retry_note(&retry, "its index page came", &v->verdicts);
    if (v->has_clock_skew)
        verdict_skew(&v->verdicts, v->clock_skew_ms);
    return 0;
}

/* Skips items of an earlier run. Their time counts for the second of a pair; if it is unknown, now counts, so
 * that the second one is late rather than early. */
static void mark_had(struct visit *v)
{
    for (size_t i = 0; v->grab->have && i < v->plan.n; i++) {
        struct plan_item *item = &v->plan.items[i];
        int64_t started = 0, now = clock_utc();
        item->had = observe_have(
            v->observe, v->grab, v->target,
            &(struct fetch_planned){.kind = item->kind, .argument = item->argument, .pair = item->pair},
            &started);
        if (item->had)
            item->began = clock_now() - (started > 0 && started < now ? now - started : 0);
    }
}

static int make_plan(struct visit *v, struct err *err)
{
    const struct service *service = v->target->service;
    const struct strlist *words = v->grab->kinds->n ? v->grab->kinds : &service->kinds;
    struct wanted_list wanted;
    if (wanted_parse(words, &wanted, err) < 0)
        return -1;
    int rc = plan_make(service, &wanted, v->has_index ? &v->index : NULL, &v->plan, err);
    wanted_release(&wanted);
    if (rc == 0 && v->grab->pair_ms > 0)
        rc = plan_pairs(&v->plan, err);
    if (rc == 0)
        mark_had(v);
    if (rc == 0)
        budget_apply(v->budget, &v->plan, v->has_index ? &v->index : NULL);
    if (v->has_index)
        return rc;
    /* The index page could not be read and may list the kind: not the user's error. */
    if (rc < 0 && v->no_index.kind != ERR_NOT_FOUND) {
        err_set(err, ERR_FAILED, "the index page cannot be read: %.300s", v->no_index.msg);
        return err_hint(err, "%s", v->no_index.hint);
    }
    char why[160];
    snprintf(why, sizeof why, "%.150s", v->no_index.msg);
    return rc < 0 ? -1 : verdicts_add(&v->plan.verdicts, "no-index", why, NULL, err);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

/* A new array; NULL if there is no memory. */
static struct fetch_planned *list_planned(const struct visit *v)
{
    struct fetch_planned *all = calloc(v->plan.n + 1, sizeof *all);
    for (size_t i = 0; all && i < v->plan.n; i++) {
        const struct plan_item *item = &v->plan.items[i];
        const struct index_page *index = v->has_index ? &v->index : NULL;
        all[i] = (struct fetch_planned){.kind = item->kind,
                                        .argument = item->argument,
                                        .pair = item->pair,
                                        .bytes = item->absent ? 0 : estimate_bytes(item, index),
                                        .timed_ms = item->timed_ms,
                                        .count = estimate_records(item, index),
                                        .had = item->had,
                                        .absent = item->absent,
                                        .left_out = item->left_out[0] ? item->left_out : NULL};
    }
    return all;
}

static void tell_service(struct visit *v, const struct err *failure)
{
    struct fetch_offer *offers = calloc(v->index.n + 1, sizeof *offers);
    struct fetch_planned *items = list_planned(v);
    struct fetch_service report = {.offers = offers,
                                   .n_offers = offers ? v->index.n : 0,
                                   .planned = items,
                                   .n_items = items ? v->plan.n : 0,
                                   .has_clock_skew = v->has_clock_skew,
                                   .clock_skew_ms = v->clock_skew_ms,
                                   .failure = failure,
                                   .verdicts = &v->verdicts};
    for (size_t i = 0; i < report.n_offers; i++)
        offers[i] = (struct fetch_offer){v->index.items[i].name, v->index.items[i].count};
    verdicts_move(&v->verdicts, &v->plan.verdicts);
    observe_service(v->observe, v->target, &report);
    free(items);
    free(offers);
}

static int probe_service(struct visit *v, struct err *err)
{
    if (!v->has_index) {
        *err = v->no_index;
        return -1;
    }
    visit_look_for_exposure(v);
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

static int prepare_service(struct visit *v, struct err *err)
{
    const struct service *service = v->target->service;
    snprintf(v->directory, sizeof v->directory, "%s/%s", v->target->host->name, service->name);
    if (service->https && service->tls.insecure &&
        verdicts_add(&v->verdicts, "tls-unchecked", NULL, NULL, err) < 0)
        return -1;
    if (read_index_with_retries(v, err) < 0) {
        if (!v->grab->look)
            add_found_hint(v, err);
        add_hint(service, err);
        return -1;
    }
    if (v->grab->look)
        return probe_service(v, err);
    if (make_plan(v, err) < 0)
        return -1;
    return v->grab->plan ? 0 : beneath_mkdirs(v->grab->directory, v->directory, err);
}

void service_run(const struct service_surroundings *around, const struct target *target,
                 const struct secret *secret)
{
    const struct fetch_grab *grab = around->grab;
    struct visit v = {.grab = grab,
                      .observe = around->observe,
                      .target = target,
                      .gw = around->gw,
                      .secret = secret,
                      .sync = around->sync,
                      .seat = around->seat,
                      .budget = around->budget};
    struct err failure = ERR_INIT;
    pthread_mutex_init(&v.mutex, NULL);
    retry_note(around->opening, "the host could be opened", &v.verdicts);
    int rc = prepare_service(&v, &failure);
    tell_service(&v, rc < 0 ? &failure : NULL);
    if (rc == 0 && !grab->look && !grab->plan)
        visit_fetch(&v);
    transfer_free(v.transfer);
    index_release(&v.index);
    plan_release(&v.plan);
    verdicts_release(&v.verdicts);
    pthread_mutex_destroy(&v.mutex);
}
