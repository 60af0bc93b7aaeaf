#include "capture/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/open_files.h"
#include "base/banned.h"

struct planner {
    const struct capture_request *request;
    const struct capture_observer *observer;
    struct estimates *estimates;
    bool out_of_memory; /* memory ran out, so items are missing */
};

static void send_event(const struct planner *p, const struct capture_event *event)
{
    if (p->observer && p->observer->event)
        p->observer->event(p->observer->ctx, event);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void on_opening(void *ctx, const struct host *host)
{
    struct planner *p = ctx;
    send_event(p, &(struct capture_event){.kind = CAPTURE_OPENING, .host = host});
    for (size_t i = 0; i < p->estimates->n; i++)
        if (p->estimates->items[i].target->host == host)
            p->estimates->items[i].began = clock_now();
}

static void describe_route(const struct host *host, const struct gateway *gw, char *dst, size_t cap)
{
    struct buf b = BUF_INIT(8192);
    const struct gateway_hop *hop;
    buf_adds(&b, host->direct ? "direct" : "ssh");
    for (size_t i = 0; gw && (hop = gateway_hop(gw, i)) && gateway_hop(gw, i + 1); i++)
        buf_addf(&b, "%s%s", i ? ", " : " through ", hop->address);
    snprintf(dst, cap, "%s", buf_str(&b));
    buf_release(&b);
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    struct planner *p = ctx;
    send_event(
        p, &(struct capture_event){.kind = CAPTURE_HOST, .host = host, .gateway = gw, .failure = failure});
    for (size_t i = 0; i < p->estimates->n; i++) {
        struct estimate *e = &p->estimates->items[i];
        if (e->target->host != host)
            continue;
        describe_route(host, gw, e->route, sizeof e->route);
        if (failure)
            e->failure = *failure;
    }
}

static bool copy_item(struct estimate_item *to, const struct fetch_planned *from)
{
    *to = (struct estimate_item){.kind = strdup(from->kind),
                                 .argument = strdup(from->argument),
                                 .pair = from->pair,
                                 .bytes = from->bytes,
                                 .timed_ms = from->timed_ms,
                                 .count = from->count,
                                 .absent = from->absent,
                                 .left_out_reason =
                                     from->left_out_reason ? strdup(from->left_out_reason) : NULL};
    return to->kind && to->argument && (to->left_out_reason || !from->left_out_reason);
}

static void add_planned(struct estimate *e, const struct fetch_planned *item, bool concurrent)
{
    e->n_absent += item->absent;
    e->n_left_out += !item->absent && item->left_out_reason;
    if (item->absent || item->left_out_reason)
        return;
    e->n_to_fetch++;
    e->bytes += item->bytes;
    e->profiled_ms += item->timed_ms;
    if (item->timed_ms > e->duration_ms || !concurrent)
        e->duration_ms = concurrent ? item->timed_ms : e->duration_ms + item->timed_ms;
}

static void on_service(void *ctx, const struct target *target, const struct fetch_service_report *s)
{
    struct planner *p = ctx;
    const struct fetch_options *options = &p->request->options;
    struct estimate *e = &p->estimates->items[target - p->request->targets->items];
    bool has_pairs = false;
    send_event(p,
               &(struct capture_event){
                   .kind = CAPTURE_SERVICE, .target = target, .failure = s->failure, .planned_service = s});
    e->opened_ms = e->began ? clock_now() - e->began : 0;
    e->planned = !s->failure;
    if (s->failure)
        e->failure = *s->failure;
    e->items = calloc(s->n_items + 1, sizeof *e->items);
    p->out_of_memory |= !e->items;
    for (size_t i = 0; e->items && i < s->n_items; i++) {
        p->out_of_memory |= !copy_item(&e->items[e->n_items++], &s->planned[i]);
        add_planned(e, &s->planned[i], options->concurrent);
        has_pairs = has_pairs || s->planned[i].pair;
    }
    if (has_pairs && e->duration_ms < options->pair_ms)
        e->duration_ms = options->pair_ms;
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    send_event(ctx,
               &(struct capture_event){.kind = CAPTURE_STEP, .host = host, .service = service, .step = step});
}

/* ---- totals -------------------------------------------------------------------------------------------- */

/* Adds the process of the target with index `first`, unless an earlier target has the same process. Services
 * at one address are one process. The items of a process are fetched one after the other, those of different
 * processes in parallel. *ret_duration: the longest duration of a process so far, in milliseconds. */
static void add_process(const struct estimate *estimates, size_t n, size_t first, struct estimate_total *t,
                        int64_t *ret_duration)
{
    uint64_t bytes = 0;
    int64_t duration = 0, profiled = 0;
    for (size_t i = 0; i < n; i++) {
        if (!service_shares_address(estimates[i].target->service, estimates[first].target->service))
            continue;
        if (i < first)
            return;
        bytes += estimates[i].bytes;
        duration += estimates[i].duration_ms;
        profiled += estimates[i].profiled_ms;
    }
    t->bytes += bytes;
    t->max_process_bytes = bytes > t->max_process_bytes ? bytes : t->max_process_bytes;
    t->max_process_profiled_ms =
        profiled > t->max_process_profiled_ms ? profiled : t->max_process_profiled_ms;
    *ret_duration = duration > *ret_duration ? duration : *ret_duration;
}

/* Adds the targets of one host. Returns the duration of its capture in milliseconds. */
static int64_t add_host(const struct estimate *estimates, size_t n, struct estimate_total *t)
{
    int64_t duration = 0, opened = 0;
    for (size_t i = 0; i < n; i++) {
        const struct estimate *e = &estimates[i];
        t->items += e->n_to_fetch;
        t->n_left_out += e->n_left_out;
        t->n_absent += e->n_absent;
        t->failures += !e->planned;
        t->n_wrong_requests += !e->planned && e->failure.kind == ERR_USAGE;
        opened = e->opened_ms > opened ? e->opened_ms : opened;
        add_process(estimates, n, i, t, &duration);
    }
    t->hosts++;
    return duration + opened;
}

/* Adds the hosts. Assigns each host, in order, to the thread that becomes free first. */
static int sum_hosts(struct estimates *e, struct err *err)
{
    struct estimate_total *t = &e->total;
    /* The time at which each thread becomes free. */
    int64_t *free_at = calloc(e->hosts_at_once + 1, sizeof *free_at);
    if (!free_at)
        return err_nomem(err);
    t->targets = e->n;
    for (size_t i = 0, n; i < e->n; i += n) {
        size_t free_thread = 0;
        for (n = 1; i + n < e->n && e->items[i + n].target->host == e->items[i].target->host;)
            n++;
        for (size_t thread = 1; thread < e->hosts_at_once; thread++)
            free_thread = free_at[thread] < free_at[free_thread] ? thread : free_thread;
        free_at[free_thread] += add_host(&e->items[i], n, t);
        t->duration_ms = free_at[free_thread] > t->duration_ms ? free_at[free_thread] : t->duration_ms;
    }
    free(free_at);
    return 0;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int plan_targets(struct planner *p, int cancel_fd, struct err *err)
{
    const struct fetch_observer observer = {
        .ctx = p, .opening = on_opening, .host = on_host, .service = on_service, .step = on_step};
    struct fetch_job grab = {.targets = p->request->targets,
                             .kinds = p->request->kinds,
                             .access = p->request->access,
                             .options = p->request->options,
                             .observer = &observer};
    size_t open_files = 0;
    grab.access.cancel_fd = cancel_fd;
    p->estimates->hosts_at_once = fetch_hosts_at_once(&grab);
    if (open_files_make_room(&grab, &open_files, err) < 0)
        return -1;
    if (grab.options.parallel < p->request->options.parallel)
        send_event(p, &(struct capture_event){.kind = CAPTURE_FEWER_HOSTS,
                                              .parallel = grab.options.parallel,
                                              .open_files = open_files});
    if (fetch_plan(&grab, err) < 0)
        return -1;
    p->estimates->cancelled = fd_cancelled(cancel_fd);
    return p->out_of_memory ? err_nomem(err) : 0;
}

int capture_estimate(const struct capture_request *request, const struct capture_observer *observer,
                     int cancel_fd, struct estimates *ret, struct err *err)
{
    struct planner planner = {.request = request, .observer = observer, .estimates = ret};
    const struct targets *targets = request->targets;
    *ret = (struct estimates){.items = calloc(targets->n + 1, sizeof *ret->items)};
    if (!ret->items)
        return err_nomem(err);
    for (; ret->n < targets->n; ret->n++)
        ret->items[ret->n].target = &targets->items[ret->n];
    return plan_targets(&planner, cancel_fd, err) < 0 ? -1 : sum_hosts(ret, err);
}

void estimates_release(struct estimates *e)
{
    for (size_t i = 0; i < e->n; i++) {
        for (size_t k = 0; k < e->items[i].n_items; k++) {
            free(e->items[i].items[k].kind);
            free(e->items[i].items[k].argument);
            free(e->items[i].items[k].left_out_reason);
        }
        free(e->items[i].items);
    }
    free(e->items);
    *e = (struct estimates){0};
}
