/*
 * Some threads (grab->options.parallel) take hosts from the list of targets. Each host's services run in
 * threads of their own, side by side over one gateway. Services at one port are one process and share a
 * thread: simultaneous profiles distort each other, or the process refuses them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/budget.h"
#include "fetch/credentials.h"
#include "fetch/deadline.h"
#include "fetch/fetch.h"
#include "fetch/observe.h"
#include "fetch/retry.h"
#include "fetch/service.h"
#include "fetch/sync.h"
#include "fetch/request.h"
#include "base/banned.h"

struct run {
    const struct fetch_job *grab; /* &timed_grab; in fetch_open the caller's */
    struct fetch_job timed_grab;  /* the caller's, with the cancel descriptor of the deadline */
    service_fn *run_service;      /* service_grab, service_plan or service_probe */
    bool may_compress;            /* the run fetches or plans bodies, so SSH may compress text and traces */
    struct gateway_shared *shared;
    struct deadline deadline;
    struct observe observe;
    struct credentials credentials;
    struct sync sync;
    pthread_mutex_t mutex; /* guards next */
    size_t next;           /* the first target that no thread has taken */
};

/* The part of a host that one thread fetches: the services at one destination, which are one process, in
 * order. */
struct remote_process {
    pthread_t thread;
    struct run *run;
    const struct target *targets; /* all targets of the host */
    size_t n;
    size_t first; /* the first target of this destination */
    struct gateway *gw;
    const struct retry *open_retry; /* the retries of opening the host */
    bool started;
};

/* Returns whether no target before target i has the same process. */
static bool is_first_of_process(const struct target *targets, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (service_shares_address(targets[k].service, targets[i].service))
            return false;
    return true;
}

/* Runs the services of one process. Only the first service takes part in `sync`. */
static void *run_process(void *ctx)
{
    struct remote_process *process = ctx;
    struct run *run = process->run;
    struct budget budget;
    struct barrier_participant participant = {.barrier = run->sync.barrier};
    struct service_context context = {.grab = run->grab,
                                      .observe = &run->observe,
                                      .gw = process->gw,
                                      .open_retry = process->open_retry,
                                      .sync = &run->sync,
                                      .participant = participant.barrier ? &participant : NULL,
                                      .budget = &budget};
    budget_init(&budget, run->grab);
    for (size_t i = process->first; i < process->n; i++) {
        const struct target *t = &process->targets[i];
        if (!service_shares_address(t->service, process->targets[process->first].service))
            continue;
        run->run_service(&context, t, credentials_find(&run->credentials, t->service));
        barrier_leave(&participant);
        context.participant = NULL;
    }
    budget_release(&budget);
    return NULL;
}

static void run_services(struct run *run, const struct target *targets, size_t n, struct gateway *gw,
                         const struct retry *open_retry)
{
    struct remote_process process = {
        .run = run, .targets = targets, .n = n, .gw = gw, .open_retry = open_retry};
    struct remote_process *processes = calloc(n, sizeof *processes);
    for (size_t i = 1; processes && i < n; i++) {
        processes[i] = process;
        processes[i].first = i;
        processes[i].started = is_first_of_process(targets, i) &&
                               thread_start(&processes[i].thread, run_process, &processes[i], NULL) == 0;
    }
    run_process(&process);
    for (size_t i = 1; i < n; i++) {
        process.first = i;
        if (processes && processes[i].started)
            pthread_join(processes[i].thread, NULL);
        else if (is_first_of_process(targets, i))
            run_process(&process);
    }
    free(processes);
}

/* The interval of keepalives is at most a third of the timeout, so that a session counts as lost only after
 * three unanswered ones, and at least a second, because libssh2 counts in seconds. */
static struct gateway_options make_gateway_options(const struct fetch_job *grab)
{
    int64_t keepalive_ms = clock_min(grab->access.timeout_ms / 3, GATEWAY_KEEPALIVE_MS);
    int64_t step_ms = grab->access.connect_timeout_ms
                          ? grab->access.connect_timeout_ms
                          : clock_min(grab->access.timeout_ms, FETCH_CONNECT_TIMEOUT_MS);
    return (struct gateway_options){.ask = grab->access.ask,
                                    .ask_ctx = grab->access.ask_ctx,
                                    .keyring = grab->access.keyring,
                                    .ask_keys_only = grab->access.ask_keys_only,
                                    .askpass = grab->access.askpass,
                                    .ask_ms = grab->access.ask_ms,
                                    .cancel_fd = grab->access.cancel_fd,
                                    .step_timeout_ms = step_ms,
                                    .keepalive_ms = keepalive_ms < 1000 ? 1000 : keepalive_ms,
                                    .silence_ms =
                                        grab->access.timeout_ms < 3000 ? 3000 : grab->access.timeout_ms};
}

/* A host that is being opened, for reporting its steps. */
struct opening {
    struct run *run;
    const struct host *host;
    size_t n_hops;
};

static void report_gateway_step(void *ctx, const struct gateway_step *s)
{
    static const enum fetch_step_kind kinds[] = {
        [GATEWAY_SHARED] = FETCH_STEP_SHARED,     [GATEWAY_VIA] = FETCH_STEP_VIA,
        [GATEWAY_CONNECT] = FETCH_STEP_CONNECT,   [GATEWAY_HANDSHAKE] = FETCH_STEP_HANDSHAKE,
        [GATEWAY_HOST_KEY] = FETCH_STEP_HOST_KEY, [GATEWAY_AUTH] = FETCH_STEP_AUTH};
    const struct opening *o = ctx;
    struct fetch_step step = {.kind = kinds[s->kind],
                              .hop = s->hop,
                              .n_hops = o->n_hops,
                              .duration_ms = s->duration_ms,
                              .always_print = s->always_print,
                              .failure = s->failure};
    snprintf(step.detail, sizeof step.detail, "%s", s->detail);
    observe_step(&o->run->observe, o->host, NULL, &step);
}

static void describe_route(const struct route *route, char *dst, size_t cap)
{
    struct buf text = BUF_INIT(cap - 1);
    if (route->direct)
        buf_addf(&text, "a direct connection to %s", route->address);
    for (size_t i = 0; i < route->n_hops; i++)
        buf_addf(&text, "%s%s@%s port %u", i ? ", then " : "", route->hops[i].user, route->hops[i].hostname,
                 route->hops[i].port);
    text_printable(dst, cap, buf_str(&text), text.len);
    buf_release(&text);
}

static int resolve_route(struct run *run, const struct host *host, struct route *ret, struct err *err)
{
    const struct fetch_job *grab = run->grab;
    struct proc_limits limits = {.timeout_ms = make_gateway_options(grab).step_timeout_ms,
                                 .cancel_fd = grab->access.cancel_fd,
                                 .max_output = 1u << 20};
    struct fetch_step step = {.kind = FETCH_STEP_CONFIG};
    int64_t began = clock_now();
    int rc = route_resolve(host, grab->access.ssh, &limits, ret, err);
    step.duration_ms = clock_now() - began;
    step.failure = rc < 0 ? err : NULL;
    if (rc == 0)
        describe_route(ret, step.detail, sizeof step.detail);
    observe_step(&run->observe, host, NULL, &step);
    return rc;
}

/* Checks whether a requested item of a target becomes smaller under compression. */
static bool any_compressible(const struct run *run, const struct target *targets, size_t n)
{
    const struct fetch_job *grab = run->grab;
    bool found = false;
    for (size_t i = 0; i < n && !found && run->may_compress; i++) {
        struct request_list requests;
        if (request_parse(fetch_service_kinds(grab->kinds, targets[i].service), &requests, NULL) < 0)
            continue;
        found = request_is_compressible(&requests);
        request_release(&requests);
    }
    return found;
}

static int open_host(struct run *run, const struct host *host, bool compressible, struct gateway **ret,
                     struct err *err)
{
    struct gateway_options options = make_gateway_options(run->grab);
    struct route route = {0};
    struct opening opening = {.run = run, .host = host};
    if (resolve_route(run, host, &route, err) < 0)
        return -1;
    opening.n_hops = route.n_hops;
    /* SSH compresses only the hop of the host itself: the other hops carry encrypted data. */
    if (route.n_hops > 0 && route.hops[route.n_hops - 1].requested.compress == SSH_COMPRESS_AUTO)
        route.hops[route.n_hops - 1].compressible = compressible;
    options.shared = run->shared;
    options.host = host->name;
    options.step = report_gateway_step;
    options.step_ctx = &opening;
    return gateway_open(&route, &options, ret, err);
}

/* Opens the host, with retries. */
static void open_with_retries(struct run *run, bool compressible, struct retry *retry, struct gateway **ret,
                              struct err *err)
{
    while (open_host(run, retry->target->host, compressible, ret, err) < 0)
        if (!retry_is_transient(err, 0) || !retry_wait(retry, err))
            return;
}

/* Leaves the barrier for each process of a host that failed to open: the other hosts do not wait for them. */
static void leave_all(struct run *run, const struct target *targets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct barrier_participant participant = {.barrier = run->sync.barrier};
        if (is_first_of_process(targets, i))
            barrier_leave(&participant);
    }
}

static void run_host(struct run *run, const struct target *targets, size_t n)
{
    struct gateway *gw = NULL;
    struct err failure = ERR_INIT;
    const struct host *host = targets[0].host;
    struct retry open_retry = {
        .grab = run->grab, .observe = &run->observe, .target = targets, .whole_host = true};
    observe_opening(&run->observe, host);
    if (fd_cancelled(run->grab->access.cancel_fd)) {
        err_set(&failure, ERR_CANCELLED, "interrupted");
        err_append(&failure, " before it was opened");
    } else {
        open_with_retries(run, any_compressible(run, targets, n), &open_retry, &gw, &failure);
    }
    observe_host(&run->observe, host, gw, gw ? NULL : &failure);
    if (gw)
        run_services(run, targets, n, gw, &open_retry);
    else
        leave_all(run, targets, n);
    gateway_close(gw);
}

/* Returns the number of targets from `from` on that have the same host. */
static size_t count_host(const struct targets *all, size_t from)
{
    size_t n = 0;
    while (from + n < all->n && all->items[from + n].host == all->items[from].host)
        n++;
    return n;
}

static size_t count_processes(const struct targets *all)
{
    size_t count = 0;
    for (size_t from = 0, n; (n = count_host(all, from)) > 0; from += n)
        for (size_t i = 0; i < n; i++)
            count += is_first_of_process(&all->items[from], i);
    return count;
}

/* Takes the next host's targets; returns 0 if none is left. */
static size_t next_host(struct run *run, const struct target **ret)
{
    const struct targets *all = run->grab->targets;
    pthread_mutex_lock(&run->mutex);
    size_t from = run->next, n = count_host(all, from);
    run->next += n;
    pthread_mutex_unlock(&run->mutex);
    *ret = &all->items[from];
    return n;
}

static void *run_hosts(void *ctx)
{
    struct run *run = ctx;
    const struct target *targets = NULL;
    for (size_t n; (n = next_host(run, &targets)) > 0;)
        run_host(run, targets, n);
    return NULL;
}

/* Starts as many threads as allowed and needed. If some cannot start, the others do all the work; if none can
 * start, this thread does. */
static int run_all(struct run *run, struct err *err)
{
    size_t most = fetch_hosts_at_once(run->grab), n = 0;
    pthread_t *threads = calloc(most + 1, sizeof *threads);
    if (!threads)
        return err_nomem(err);
    while (n < most && thread_start(&threads[n], run_hosts, run, NULL) == 0)
        n++;
    if (n == 0)
        run_hosts(run);
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}

/* Runs all hosts. The caller has loaded the secrets and activated the deadline. */
static int run_with_deadline(struct run *run, struct fetch_outcome *ret, struct err *err)
{
    if (sync_init(&run->sync, run->grab, count_processes(run->grab->targets), err) < 0)
        return -1;
    pthread_mutex_init(&run->mutex, NULL);
    observe_init(&run->observe, run->grab->observer, &run->deadline);
    int rc = gateway_shared_new(&run->shared, err);
    if (rc == 0)
        rc = run_all(run, err);
    gateway_shared_free(run->shared);
    *ret = (struct fetch_outcome){.out_of_time = deadline_is_over(&run->deadline)};
    sync_summarize(&run->sync, ret);
    observe_release(&run->observe);
    pthread_mutex_destroy(&run->mutex);
    sync_release(&run->sync);
    return rc;
}

static int run_targets(const struct fetch_job *grab, struct run *run, struct fetch_outcome *ret,
                       struct err *err)
{
    struct fetch_outcome outcome = {0};
    run->grab = &run->timed_grab;
    if (deadline_init(&run->deadline, grab, &run->timed_grab, err) < 0)
        return -1;
    struct proc_limits limits = {.timeout_ms = grab->access.timeout_ms,
                                 .cancel_fd = run->timed_grab.access.cancel_fd};
    int rc = credentials_load(grab->targets, &limits, &run->credentials, err);
    if (rc == 0)
        rc = run_with_deadline(run, &outcome, err);
    credentials_release(&run->credentials);
    if (rc < 0 && err)
        deadline_explain(&run->deadline, err);
    deadline_release(&run->deadline);
    if (ret)
        *ret = outcome;
    return rc;
}

int fetch_run(const struct fetch_job *grab, struct fetch_outcome *ret, struct err *err)
{
    struct run run = {.run_service = service_grab, .may_compress = true};
    return run_targets(grab, &run, ret, err);
}

int fetch_plan(const struct fetch_job *grab, struct err *err)
{
    struct run run = {.run_service = service_plan, .may_compress = true};
    return run_targets(grab, &run, NULL, err);
}

int fetch_probe(const struct fetch_job *grab, struct err *err)
{
    struct run run = {.run_service = service_probe};
    return run_targets(grab, &run, NULL, err);
}

int fetch_open(const struct fetch_job *grab, const struct host *host, struct gateway_shared *shared,
               struct gateway **ret, struct err *err)
{
    struct run run = {.grab = grab, .shared = shared};
    observe_init(&run.observe, grab->observer, NULL);
    observe_opening(&run.observe, host);
    int rc = open_host(&run, host, false, ret, err);
    observe_host(&run.observe, host, rc == 0 ? *ret : NULL, rc == 0 ? NULL : err);
    observe_release(&run.observe);
    return rc;
}
