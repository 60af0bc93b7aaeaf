/*
 * The fetching threads call the observer's functions below under fetch's lock, one at a time. They record
 * each result in the manifest and pass it on as an event. Only on_save runs without that lock, so that
 * writing to the disk never delays the recording of other results.
 */
#include "capture/run.h"

#include <stdlib.h>
#include <string.h>

#include "capture/autosave.h"
#include "capture/duplicate_hosts.h"
#include "capture/open_files.h"
#include "capture/record.h"
#include "page/page.h"
#include "base/banned.h"

struct run {
    const struct capture_request *request;
    const struct run_output *output;
    const struct capture_observer *observer;
    struct capture_outcome *outcome;
    struct autosave autosave;
    struct duplicate_hosts_list duplicates;
    struct fetch_outcome fetched;
    bool estimated;        /* the estimate was sent */
    size_t n_new_files;    /* files that this run has added */
    uint64_t new_bytes;    /* their size */
    struct err record_err; /* the first failure to record a result */
};

/* ---- events -------------------------------------------------------------------------------------------- */

static void send_event(const struct run *r, const struct capture_event *event)
{
    if (r->observer && r->observer->event)
        r->observer->event(r->observer->ctx, event);
}

static void store_first_error(struct run *r, int rc, const struct err *why)
{
    if (rc < 0 && r->record_err.kind == ERR_NONE)
        r->record_err = *why;
}

static void on_opening(void *ctx, const struct host *host)
{
    struct run *r = ctx;
    outcomes_record_opening(&r->outcome->targets, host);
    send_event(r, &(struct capture_event){.kind = CAPTURE_OPENING, .host = host});
}

static bool is_baseline_host(const struct targets *baseline, const struct host *host)
{
    for (size_t i = 0; baseline && i < baseline->n; i++)
        if (baseline->items[i].host == host)
            return true;
    return false;
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    struct findings findings = {0};
    send_event(
        r, &(struct capture_event){.kind = CAPTURE_HOST, .host = host, .gateway = gw, .failure = failure});
    outcomes_record_host(&r->outcome->targets, host, failure);
    store_first_error(r, duplicate_hosts_finding(&r->duplicates, host, &findings, &err), &err);
    const struct record_host record = {.host = host,
                                       .gw = gw,
                                       .failure = failure,
                                       .is_baseline = is_baseline_host(r->request->baseline, host),
                                       .findings = &findings};
    store_first_error(r, record_host(autosave_lock(&r->autosave), &record, &err), &err);
    autosave_unlock(&r->autosave, true);
    findings_release(&findings);
    if (failure)
        counts_add_failure(&r->outcome->counts, failure);
}

/* Sends the estimate of the first plan, once, if there is a budget, or several targets with timed profiles.
 */
static void send_estimate(struct run *r, const struct target *target, const struct fetch_service_report *s)
{
    const struct fetch_options *options = &r->request->options;
    struct capture_event event = {.kind = CAPTURE_ESTIMATE, .target = target};
    for (size_t i = 0; i < s->n_items; i++) {
        const struct fetch_planned *item = &s->planned[i];
        bool fetched = !item->left_out_reason && !item->already_collected && !item->absent;
        event.bytes += fetched ? item->bytes : 0;
        event.timed_ms += fetched ? item->timed_ms : 0;
    }
    bool matters = options->budget_bytes > 0 || options->budget_ms > 0 ||
                   (r->request->targets->n > 1 && event.timed_ms > 0);
    if (r->estimated || s->n_items == 0 || !matters)
        return;
    send_event(r, &event);
    r->estimated = true;
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service_report *s)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    send_event(r,
               &(struct capture_event){
                   .kind = CAPTURE_SERVICE, .target = target, .failure = s->failure, .planned_service = s});
    outcomes_record_service(&r->outcome->targets, target, s);
    send_estimate(r, target, s);
    store_first_error(r, record_service(autosave_lock(&r->autosave), target, s, &err), &err);
    autosave_unlock(&r->autosave, true);
    if (s->failure)
        counts_add_failure(&r->outcome->counts, s->failure);
}

static void on_item(void *ctx, const struct target *target, const struct fetch_item *item)
{
    struct run *r = ctx;
    struct err err = ERR_INIT;
    send_event(r, &(struct capture_event){.kind = CAPTURE_ITEM, .target = target, .item = item});
    outcomes_record_item(&r->outcome->targets, target, item);
    store_first_error(r, record_item(autosave_lock(&r->autosave), target, item, &err), &err);
    autosave_unlock(&r->autosave, true);
    if (item->file[0]) {
        r->n_new_files++;
        r->new_bytes += item->bytes;
    }
    counts_add_item(&r->outcome->counts, item);
}

static void on_progress(void *ctx, const struct target *target, const struct fetch_progress *now)
{
    send_event(ctx, &(struct capture_event){.kind = CAPTURE_PROGRESS, .target = target, .progress = now});
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    send_event(ctx,
               &(struct capture_event){.kind = CAPTURE_STEP, .host = host, .service = service, .step = step});
}

static bool is_already_collected(void *ctx, const struct target *target, const struct fetch_planned *item,
                                 int64_t *ret_started)
{
    struct run *r = ctx;
    const struct manifest_item_key key = {.host = target->host->name,
                                          .service = target->service->name,
                                          .kind = item->kind,
                                          .argument = item->argument,
                                          .pair = item->pair};
    bool collected = manifest_has_item(autosave_lock(&r->autosave), &key, ret_started);
    autosave_unlock(&r->autosave, false);
    return collected;
}

/* Saves the manifest. If a profile takes time, fetch calls this function before the progress event of the
 * profile, because the user may press Ctrl-C as soon as they see the event. */
static void on_save(void *ctx, bool before_timed_item)
{
    struct run *r = ctx;
    autosave_if_due(&r->autosave, before_timed_item);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int fetch_items(struct run *r, struct err *err)
{
    const struct capture_request *request = r->request;
    const struct fetch_observer observer = {.ctx = r,
                                            .opening = on_opening,
                                            .host = on_host,
                                            .service = on_service,
                                            .item = on_item,
                                            .progress = on_progress,
                                            .step = on_step,
                                            .is_collected = r->output->resumed ? is_already_collected : NULL,
                                            .save = on_save};
    struct fetch_job grab = {.targets = request->targets,
                             .kinds = request->kinds,
                             .directory = workdir_files(r->output->work),
                             .access = request->access,
                             .options = request->options,
                             .observer = &observer};
    size_t open_files = 0;
    if (open_files_make_room(&grab, &open_files, err) < 0)
        return -1;
    if (grab.options.parallel < request->options.parallel)
        send_event(r, &(struct capture_event){.kind = CAPTURE_FEWER_HOSTS,
                                              .parallel = grab.options.parallel,
                                              .open_files = open_files});
    return fetch_run(&grab, &r->fetched, err);
}

/* Returns whether the run has items that no bundle has. */
static bool has_new_items(const struct run *r)
{
    if (r->n_new_files > 0)
        return true;
    return r->output->resumed && !r->output->bundle && manifest_count_files(r->output->manifest) > 0;
}

static void draw_page(struct run *r)
{
    struct err err = ERR_INIT;
    struct confined_budget new_budget, *budget = r->output->budget;
    if (!budget) {
        confined_budget_init(0, &new_budget);
        budget = &new_budget;
    }
    confined_budget_add(budget, r->new_bytes);
    int cancel_fd = r->request->access.cancel_fd;
    if (page_build_workdir(r->output->manifest, r->output->work, budget, cancel_fd, &err) < 0)
        send_event(r, &(struct capture_event){.kind = CAPTURE_NO_PAGE, .failure = &err});
}

/* Finishes the manifest, draws the page and packs the bundle. */
static int pack_bundle(struct run *r, char **ret_path, struct err *err)
{
    const struct capture_counts *counts = &r->outcome->counts;
    struct manifest *manifest = r->output->manifest;
    /* A cancellation after the last item does not make the bundle incomplete. */
    bool complete = counts->damaged + counts->missing == 0;
    /* Write no bundle if the manifest lacks a result. */
    if (r->record_err.kind != ERR_NONE) {
        *err = r->record_err;
        return -1;
    }
    if (manifest_finish(manifest, clock_utc(), r->outcome->cancelled, complete, err) < 0)
        return -1;
    r->fetched.out_of_time = r->fetched.out_of_time && !complete;
    record_run(manifest, &r->request->options, &r->fetched);
    draw_page(r);
    /* A cancellation that ended the fetching must not limit the packing; a cancellation after it does. */
    bool ended_fetching = r->outcome->cancelled && counts->damaged + counts->missing > counts->permanent;
    int cancel_fd = ended_fetching ? -1 : r->request->access.cancel_fd;
    return bundle_pack(r->output->work, manifest, cancel_fd, ret_path, err);
}

/* Removes the work directory, unless the run was resumed and no bundle has its items. */
static void remove_or_keep_directory(struct run *r)
{
    if (r->output->from_bundle || !r->output->resumed)
        workdir_remove(r->output->work);
    else
        r->outcome->directory = strdup(workdir_path(r->output->work));
}

static enum capture_end end_not_packed(struct run *r, struct err *err)
{
    err_wrap(err, "the bundle could not be written");
    autosave_now(&r->autosave);
    r->outcome->directory = strdup(workdir_path(r->output->work));
    return CAPTURE_NOT_PACKED;
}

/* Packs the bundle, or removes the work directory if there are no new items. All threads have ended. */
static enum capture_end finish_run(struct run *r, struct err *err)
{
    send_event(r, &(struct capture_event){.kind = CAPTURE_FETCHED, .outcome = r->outcome});
    r->outcome->cancelled = fd_cancelled(r->request->access.cancel_fd);
    r->outcome->counts.complete = manifest_count_complete_service_items(r->output->manifest);
    if (!has_new_items(r)) {
        remove_or_keep_directory(r);
        return CAPTURE_NOTHING;
    }
    if (pack_bundle(r, &r->outcome->bundle, err) < 0)
        return end_not_packed(r, err);
    send_event(r, &(struct capture_event){.kind = CAPTURE_BUNDLED, .path = r->outcome->bundle});
    return CAPTURE_PACKED;
}

enum capture_end capture_in_workdir(const struct capture_request *request, const struct run_output *output,
                                    const struct capture_observer *observer, struct capture_outcome *ret,
                                    struct err *err)
{
    struct run r = {.request = request, .output = output, .observer = observer, .outcome = ret};
    *ret = (struct capture_outcome){.counts.missing = output->missing};
    autosave_init(&r.autosave, output->manifest, output->work);
    char *path = strdup(workdir_path(output->work));
    send_event(&r, &(struct capture_event){.kind = CAPTURE_BEGUN, .path = path ? path : ""});
    free(path);
    autosave_now(&r.autosave);
    if (targets_find_duplicates(request->targets, &r.duplicates, err) < 0 ||
        outcomes_new(&ret->targets, request->targets, err) < 0 || fetch_items(&r, err) < 0) {
        remove_or_keep_directory(&r);
        ret->end = CAPTURE_NOT_STARTED;
    } else {
        ret->end = finish_run(&r, err);
    }
    autosave_release(&r.autosave);
    duplicate_hosts_release(&r.duplicates);
    return ret->end;
}
