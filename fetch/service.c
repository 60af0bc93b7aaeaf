#include "fetch/service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/item.h"
#include "fetch/plan.h"
#include "fetch/verdict.h"
#include "base/banned.h"

#define INDEX_MAX (1u << 20)

struct run {
    const struct fetch_grab *grab;
    struct observe *observe;
    const struct target *target;
    struct transfer *transfer;
    struct index_page index;
    bool has_index;
    struct err no_index; /* why there is none */
    struct fetch_service report;
    struct plan plan;
    size_t at; /* the item under way */
};

static int take_index(void *ctx, const void *p, size_t n, struct err *err)
{
    struct buf *page = ctx;
    buf_add(page, p, n);
    return buf_check(page, "the index page", err);
}

static void note_skew(struct run *r, const struct transfer_response *response)
{
    if (!response->date)
        return;
    /* The header has whole seconds: its middle is the best guess. */
    r->report.has_clock_skew = true;
    r->report.clock_skew_ms = response->date + 500 - response->date_at;
}

/* Reads the index page. A target without one is no failure as long as it answers at all. */
static int read_index(struct run *r, struct err *err)
{
    struct buf page = BUF_INIT(INDEX_MAX);
    struct transfer_response response;
    char target[512];
    snprintf(target, sizeof target, "%s/", r->target->service->path);
    struct transfer_request request = {.target = target, .ctx = &page, .body = take_index};
    struct err why = ERR_INIT;
    int rc = transfer_get(r->transfer, &request, &response, &why);
    note_skew(r, &response);
    if (rc == 0 && index_parse(buf_str(&page), page.len, &r->index, &why) == 0)
        r->has_index = true;
    buf_release(&page);
    r->no_index = why;
    if (r->has_index || (response.status != 0 && why.kind != ERR_CANCELLED))
        return 0;
    *err = why;
    return -1;
}

static int make_plan(struct run *r, struct err *err)
{
    const struct strlist *words = r->grab->kinds->n ? r->grab->kinds : &r->target->service->kinds;
    struct wanted_list wanted;
    if (wanted_parse(words, &wanted, err) < 0)
        return -1;
    int rc = plan_make(r->target->service, &wanted, r->has_index ? &r->index : NULL, &r->plan, err);
    wanted_release(&wanted);
    if (r->has_index)
        return rc;
    /* A page that could not be read may well have named the kind: that is no slip of the user's. */
    if (rc < 0 && r->no_index.kind != ERR_NOT_FOUND)
        return err_set(err, ERR_FAILED, "the index page cannot be read: %.300s", r->no_index.msg);
    verdicts_add(&r->plan.verdicts, "no-index", false, "there is no index page: %.300s", r->no_index.msg);
    return rc;
}

static void tell_service(struct run *r, const struct err *failure)
{
    struct fetch_offer *offers = calloc(r->index.n + 1, sizeof *offers);
    for (size_t i = 0; offers && i < r->index.n; i++)
        offers[i] = (struct fetch_offer){r->index.items[i].name, r->index.items[i].count};
    r->report.offers = offers;
    r->report.n_offers = offers ? r->index.n : 0;
    r->report.n_items = r->plan.n;
    r->report.failure = failure;
    r->report.verdicts = &r->plan.verdicts;
    observe_service(r->observe, r->target, &r->report);
    r->report.offers = NULL;
    free(offers);
}

static void tell_progress(void *ctx, uint64_t bytes, int64_t elapsed_ms)
{
    struct run *r = ctx;
    const struct plan_item *item = &r->plan.items[r->at];
    struct fetch_progress p = {.kind = item->kind,
                               .bytes = bytes,
                               .elapsed_ms = elapsed_ms,
                               .timed_ms = item->timed_ms,
                               .index = r->at,
                               .n_items = r->plan.n};
    observe_progress(r->observe, r->target, &p);
}

static void fetch_items(struct run *r, const struct item_place *place)
{
    struct item_progress progress = {r, tell_progress};
    struct err stop = ERR_INIT;
    char build_id[128] = "";
    for (r->at = 0; r->at < r->plan.n; r->at++) {
        const struct plan_item *plan = &r->plan.items[r->at];
        struct fetch_item item;
        if (stop.kind == ERR_NONE && fd_cancelled(r->grab->cancel_fd))
            err_set(&stop, ERR_CANCELLED, "interrupted before it was fetched");
        if (stop.kind != ERR_NONE) {
            item_skip(plan, &stop, &item);
        } else {
            tell_progress(r, 0, 0);
            item_fetch(r->transfer, plan, place, &progress, &item);
            verdict_build(&item, build_id);
        }
        /* With the workstation's own disk failing, more profiles would be taken for nothing. */
        if (item.err.kind == ERR_LOCAL_IO && stop.kind == ERR_NONE)
            err_set(&stop, ERR_LOCAL_IO,
                    "not fetched, since this workstation could not store what came before");
        observe_item(r->observe, r->target, &item);
        fetch_item_release(&item);
    }
}

static int prepare(struct run *r, struct gateway *gw, char directory[static 600], struct err *err)
{
    const struct service *service = r->target->service;
    struct destination to = {.host = service->host, .port = service->port};
    struct transfer_options options = {.cancel_fd = r->grab->cancel_fd, .timeout_ms = r->grab->timeout_ms};
    struct gateway_listener *listener = NULL;
    snprintf(directory, 600, "%s/%s", r->target->host->name, service->name);
    if (gateway_listen(gw, &to, &listener, err) < 0 ||
        transfer_new(listener, service, &options, &r->transfer, err) < 0)
        return -1;
    if (read_index(r, err) < 0) {
        if (service->hint && err->kind != ERR_CANCELLED)
            err_hint(err, "%s", service->hint);
        return -1;
    }
    if (make_plan(r, err) < 0)
        return -1;
    return file_mkdirs(r->grab->directory, directory, err);
}

void service_run(const struct fetch_grab *grab, struct observe *observe, const struct target *target,
                 struct gateway *gw)
{
    struct run r = {.grab = grab, .observe = observe, .target = target};
    struct err failure = ERR_INIT;
    char directory[600];
    if (prepare(&r, gw, directory, &failure) < 0) {
        tell_service(&r, &failure);
    } else {
        tell_service(&r, NULL);
        fetch_items(&r, &(struct item_place){.work = grab->directory, .directory = directory});
    }
    transfer_free(r.transfer);
    index_release(&r.index);
    plan_release(&r.plan);
}
