#include "capture/record.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define HOPS_MAX 9

void record_read_collector(struct record_collector *ret)
{
    char text[4096];
    struct passwd pw, *result = NULL;
    *ret = (struct record_collector){0};
    if (gethostname(ret->workstation, sizeof ret->workstation - 1) != 0)
        ret->workstation[0] = '\0';
    if (getpwuid_r(getuid(), &pw, text, sizeof text, &result) == 0 && result)
        snprintf(ret->user, sizeof ret->user, "%s", result->pw_name);
}

int record_new(const char *name, const char *reason, int64_t started, struct manifest **ret, struct err *err)
{
    struct record_collector collector;
    record_read_collector(&collector);
    struct manifest_info info = {.name = name,
                                 .version = PROFGRAB_VERSION,
                                 .user = collector.user,
                                 .workstation = collector.workstation,
                                 .reason = reason,
                                 .started = started};
    return manifest_new(&info, ret, err);
}

int record_resume(struct manifest *m, const char *name, struct err *err)
{
    struct record_collector collector;
    record_read_collector(&collector);
    struct manifest_info info = {.name = name,
                                 .version = PROFGRAB_VERSION,
                                 .user = collector.user,
                                 .workstation = collector.workstation,
                                 .started = clock_utc()};
    return manifest_resume(m, &info, err);
}

static int list_baseline_hosts(const struct targets *baseline, struct strlist *ret, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && baseline && i < baseline->n; i++)
        if (i == 0 || baseline->items[i].host != baseline->items[i - 1].host)
            rc = strlist_add(ret, baseline->items[i].host->name, err);
    return rc;
}

int record_request(struct manifest *m, const struct capture_request *request, struct err *err)
{
    const struct targets *targets = request->targets;
    const struct selection *selection = request->selection;
    struct manifest_request recorded = {.kinds = *request->kinds,
                                        .n_targets = targets->n,
                                        .port = selection->port,
                                        .unix_path = selection->unix_path,
                                        .path = selection->path,
                                        .https = selection->https,
                                        .pair_ms = request->options.pair_ms,
                                        .sample_of = targets->n_before_sample,
                                        .sample_taken =
                                            targets->n_before_sample ? targets_count_hosts(targets) : 0};
    struct manifest_target *list = calloc(targets->n + 1, sizeof *list);
    int rc = -1;
    for (size_t i = 0; list && i < targets->n; i++) {
        const struct host *host = targets->items[i].host;
        list[i] = (struct manifest_target){.host = host->name,
                                           .service = targets->items[i].service->name,
                                           .address = host->adhoc ? host->address : NULL};
    }
    recorded.targets = list;
    if (!list)
        err_nomem(err);
    else if (list_baseline_hosts(request->baseline, &recorded.baseline_hosts, err) == 0)
        rc = manifest_set_request(m, &recorded, err);
    strlist_release(&recorded.baseline_hosts);
    free(list);
    return rc;
}

/* Returns a new array, or NULL if memory runs out. */
static struct manifest_finding *copy_findings(const struct findings *findings)
{
    struct manifest_finding *copies = calloc(findings->n + 1, sizeof *copies);
    for (size_t i = 0; copies && i < findings->n; i++)
        copies[i] =
            (struct manifest_finding){.rule = findings->items[i].rule->id, .text = findings->items[i].text};
    return copies;
}

int record_host(struct manifest *m, const struct record_host *record, struct err *err)
{
    struct manifest_hop hops[HOPS_MAX];
    struct manifest_finding *findings = copy_findings(record->findings);
    struct manifest_host h = {.name = record->host->name,
                              .address = record->host->address,
                              .route = record->host->direct ? "direct" : "ssh",
                              .is_baseline = record->is_baseline,
                              .hops = hops,
                              .error = record->failure ? record->failure->msg : NULL,
                              .findings = findings,
                              .n_findings = record->findings->n};
    const struct gateway_hop *hop;
    while (record->gw && h.n_hops < HOPS_MAX && (hop = gateway_hop(record->gw, h.n_hops)))
        hops[h.n_hops++] = (struct manifest_hop){.address = hop->address,
                                                 .port = hop->port,
                                                 .user = hop->user,
                                                 .via = hop->via,
                                                 .host_key_type = hop->host_key_type,
                                                 .host_key = hop->host_key,
                                                 .host_key_new = hop->host_key_new,
                                                 .authentication = hop->authentication};
    int rc = findings ? manifest_add_host(m, &h, err) : err_nomem(err);
    free(findings);
    return rc;
}

/* Sets the planned items of the record, and adds their estimated cost. Returns the new array, or NULL if
 * memory runs out. */
static struct manifest_planned *copy_planned(const struct fetch_service_report *s,
                                             struct manifest_service *record)
{
    struct manifest_planned *planned = calloc(s->n_items + 1, sizeof *planned);
    for (size_t i = 0; planned && i < s->n_items; i++) {
        const struct fetch_planned *item = &s->planned[i];
        planned[i] =
            (struct manifest_planned){.kind = item->kind, .argument = item->argument, .pair = item->pair};
        if (item->left_out_reason || item->already_collected)
            continue;
        record->estimate_bytes += item->bytes;
        record->profiled_ms += item->timed_ms;
    }
    record->planned = planned;
    record->n_planned = s->n_items;
    return planned;
}

int record_service(struct manifest *m, const struct target *target, const struct fetch_service_report *s,
                   struct err *err)
{
    const struct service *service = target->service;
    char url[800];
    fetch_service_url(service, url, sizeof url);
    struct manifest_listed_profile *offers = calloc(s->n_offers + 1, sizeof *offers);
    struct manifest_finding *findings = copy_findings(s->findings);
    int rc = -1;
    struct manifest_service record = {.host = target->host->name,
                                      .name = service->name,
                                      .url = url,
                                      .offers = offers,
                                      .n_offers = s->n_offers,
                                      .has_clock_skew = s->has_clock_skew,
                                      .clock_skew_ms = s->clock_skew_ms,
                                      .error = s->failure ? s->failure->msg : NULL,
                                      .findings = findings,
                                      .n_findings = s->findings->n};
    struct manifest_planned *planned = copy_planned(s, &record);
    for (size_t i = 0; offers && i < s->n_offers; i++)
        offers[i] = (struct manifest_listed_profile){
            .name = s->offers[i].name, .has_count = s->offers[i].count >= 0, .count = s->offers[i].count};
    if (offers && findings && planned)
        rc = manifest_add_service(m, &record, err);
    else
        err_nomem(err);
    free(planned);
    free(findings);
    free(offers);
    return rc;
}

void record_run(struct manifest *m, const struct fetch_options *options, const struct fetch_outcome *o)
{
    struct manifest_run run = {.deadline_ms = options->deadline_ms,
                               .deadline_reached = o->out_of_time,
                               .budget_bytes = options->budget_bytes,
                               .budget_ms = options->budget_ms,
                               .retries = options->retries,
                               .sync_at = o->sync_at,
                               .sync_processes = o->sync_processes,
                               .sync_late = o->sync_late,
                               .has_sync_skew = o->sync_measured > 0,
                               .sync_p50_ms = o->sync_p50_ms,
                               .sync_p95_ms = o->sync_p95_ms,
                               .sync_max_ms = o->sync_max_ms};
    manifest_set_run(m, &run);
}

static const enum manifest_status statuses[] = {[FETCH_OK] = MANIFEST_OK,
                                                [FETCH_DAMAGED] = MANIFEST_DAMAGED,
                                                [FETCH_FAILED] = MANIFEST_FAILED,
                                                [FETCH_INTERRUPTED] = MANIFEST_INTERRUPTED,
                                                [FETCH_LEFT_OUT] = MANIFEST_LEFT_OUT};

/* Copies each member: an item owns its texts and a record points to them, so few members have the same
 * type in both structs. */
int record_item(struct manifest *m, const struct target *target, const struct fetch_item *item,
                struct err *err)
{
    struct manifest_sample_type types[PROFILE_MAX_SAMPLE_TYPES];
    const struct profile_summary *p = &item->profile;
    struct manifest_finding *findings = copy_findings(&item->findings);
    if (!findings)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_types; i++)
        types[i] = (struct manifest_sample_type){
            .type = p->types[i].type, .unit = p->types[i].unit, .total = p->types[i].total};
    struct manifest_item record = {.host = target ? target->host->name : NULL,
                                   .service = target ? target->service->name : NULL,
                                   .kind = item->kind,
                                   .argument = item->argument,
                                   .pair = item->pair,
                                   .late = item->late,
                                   .has_sync_skew = item->has_sync_skew,
                                   .sync_skew_ms = item->sync_skew_ms,
                                   .request = item->request,
                                   .status = statuses[item->status],
                                   .error = item->status == FETCH_OK ? NULL : item->err.msg,
                                   .server_words = item->server_words,
                                   .file = item->file,
                                   .http_status = item->http_status,
                                   .content_type = item->content_type,
                                   .started = item->started,
                                   .duration_ms = item->duration_ms,
                                   .bytes = item->bytes,
                                   .sha256 = item->sha256,
                                   .has_profile = item->has_profile,
                                   .samples = p->samples,
                                   .sample_types = types,
                                   .n_sample_types = p->n_types,
                                   .profile_duration_ns = p->duration_ns,
                                   .go_version = item->go_version,
                                   .findings = findings,
                                   .n_findings = item->findings.n};
    int rc = manifest_add_item(m, &record, err);
    free(findings);
    return rc;
}
