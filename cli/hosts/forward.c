/* `profgrab forward`: forwards local connections to a host's services until a signal ends it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/hosts/suggest.h"
#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/hosts/forward_messages.h"
#include "cli/term/progress.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "cli/hosts/resolve.h"
#include "cli/hosts/target.h"
#include "base/banned.h"

struct forward_arguments {
    struct target_options target;
    struct strlist listen;
    bool quiet;
    bool verbose;
    bool json;
};

static const struct option options[] = {
    TARGET_OPTION_ROWS(struct forward_arguments, target),
    {"listen", 'l', OPTION_LIST, "ADDRESS[,...]",
     "the address: PORT (on 127.0.0.1), IP:PORT or unix:PATH; one for each service, or only 127.0.0.1:0 for "
     "free ports (default: the service's own port if it is free)",
     offsetof(struct forward_arguments, listen), 0},
    {"quiet", 'q', OPTION_FLAG, NULL, "print only errors", offsetof(struct forward_arguments, quiet), 0},
    {"verbose", 'v', OPTION_FLAG, NULL, "print each connection and every step",
     offsetof(struct forward_arguments, verbose), 0},
    {"json", 0, OPTION_FLAG, NULL, "print the addresses as JSON on stdout, one object a line",
     offsetof(struct forward_arguments, json), 0},
    OPTIONS_END,
};

/* One run of the command. */
struct run {
    struct forward_arguments *options;
    struct forward_messages messages;
    bool announced; /* the addresses were printed */
    struct prompt *prompt;
};

/* ---- listeners ----------------------------------------------------------------------------------------- */

/* Checks whether the list is a single address with port 0, which gives each service a free port. */
static bool is_any_port(const struct strlist *listen)
{
    struct local_address a;
    return listen->n == 1 && local_address_parse(listen->items[0], &a, NULL) == 0 && !a.path[0] &&
           a.port == 0;
}

static int check_counts(const struct forward_arguments *o, const struct targets *targets, struct err *err)
{
    for (size_t i = 1; i < targets->n; i++)
        if (targets->items[i].host != targets->items[0].host) {
            err_set(err, ERR_USAGE, "forward needs exactly one host, not %s and %s too",
                    targets->items[0].host->name, targets->items[i].host->name);
            return err_hint(err, "start one `profgrab forward` for each host");
        }
    if (o->listen.n == 0 || o->listen.n == targets->n || is_any_port(&o->listen))
        return 0;
    err_set(err, ERR_USAGE, "--listen names %zu address%s, but there %s %zu service%s", o->listen.n,
            o->listen.n == 1 ? "" : "es", targets->n == 1 ? "is" : "are", targets->n,
            text_plural_s(targets->n));
    return err_hint(err, "name the services with --service, and one address for each in the same order, "
                         "or give only 127.0.0.1:0 for free ports");
}

/* Listens on the service's own port. If that fails, or the service has no port, listens on a free one. */
static int listen_by_default(struct forward_service *f, bool quiet, struct err *err)
{
    struct local_address at = {.ip = "127.0.0.1", .port = f->target->service->port};
    char where[LOCAL_ADDRESS_NAME];
    struct err why = ERR_INIT;
    if (at.port && local_listener_open(&at, &f->listener, &why) == 0)
        return 0;
    at.port = 0;
    if (local_listener_open(&at, &f->listener, err) < 0)
        return -1;
    if (why.kind != ERR_NONE && !quiet)
        message_print("%s: %s: %s; listening on %s instead", f->target->host->name, f->target->service->name,
                      why.msg, local_address_name(&f->listener.address, where));
    return 0;
}

/* Opens all listeners, after it has parsed all addresses. */
static int listen_all(struct run *r, struct err *err)
{
    const struct strlist *addresses = &r->options->listen;
    for (size_t i = 0; addresses->n && i < r->messages.n; i++)
        if (local_address_parse(addresses->items[addresses->n > 1 ? i : 0],
                                &r->messages.services[i].listener.address, err) < 0)
            return err_wrap(err, "--listen");
    for (size_t i = 0; i < r->messages.n; i++) {
        struct forward_service *f = &r->messages.services[i];
        if (addresses->n ? local_listener_open(&f->listener.address, &f->listener, err) < 0
                         : listen_by_default(f, r->options->quiet, err) < 0)
            return -1;
    }
    return 0;
}

/* Sets the line that the second Ctrl-C prints. */
static void set_exit_text(const struct run *r)
{
    char line[1000];
    const char *path = "";
    for (size_t i = 0; i < r->messages.n; i++)
        path = r->messages.services[i].listener.address.path[0]
                   ? r->messages.services[i].listener.address.path
                   : path;
    snprintf(line, sizeof line, "\nprofgrab: exited at once%s%s%s\n", *path ? "; the socket " : "", path,
             *path ? " still exists; the next forward on it replaces it" : "");
    signals_set_exit_text(line);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

/* Returns whether the failure ends the command. After a refused login or host key a retry would fail too, and
 * a host may lock out a user after many attempts. */
static bool is_permanent(void *ctx, const struct err *failure)
{
    (void)ctx;
    return failure->kind == ERR_HOST_KEY || failure->kind == ERR_DENIED || failure->kind == ERR_USAGE;
}

static void on_opening(void *ctx, const struct host *host)
{
    progress_show_opening(ctx, host);
}

/* Ignores a failure, because main prints it. */
static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    if (!failure)
        progress_show_host(ctx, host, gw, NULL);
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    progress_show_step(ctx, host, service, step);
}

static int open_host(struct run *r, const struct targets *targets, struct gateway_shared *shared,
                     struct gateway **ret, struct err *err)
{
    struct progress progress;
    struct ssh_settings ssh;
    struct fetch_observer observer = {
        .ctx = &progress, .opening = on_opening, .host = on_host, .step = on_step};
    struct fetch_job grab = target_grab(&r->options->target, targets, &ssh, r->prompt);
    grab.observer = &observer;
    progress_init(&progress, &(struct progress_options){.quiet = r->options->quiet,
                                                        .verbose = r->options->verbose,
                                                        .out = stderr,
                                                        .prompt = r->prompt});
    int rc = fetch_open(&grab, r->messages.host, shared, ret, err);
    progress_end(&progress);
    return rc;
}

static int forward_connections(struct run *r, struct gateway *gw, struct err *err)
{
    struct forward_options run_options = {.cancel_fd = signals_cancel_fd(),
                                          .client_timeout_ms = FORWARD_CLIENT_TIMEOUT_MS,
                                          .report = forward_messages_print_event,
                                          .is_permanent = is_permanent,
                                          .ctx = &r->messages};
    struct forward_mapping *mappings = calloc(r->messages.n, sizeof *mappings);
    if (!mappings) {
        gateway_close(gw);
        return err_nomem(err);
    }
    for (size_t i = 0; i < r->messages.n; i++) {
        const struct service *s = r->messages.services[i].target->service;
        mappings[i].listener = &r->messages.services[i].listener;
        mappings[i].to = (struct destination){.host = s->host, .port = s->port, .unix_path = s->unix_path};
    }
    int rc = forward_run(gw, mappings, r->messages.n, &run_options, err);
    free(mappings);
    return rc < 0 ? err_wrap(err, "%s", r->messages.host->name) : 0;
}

static int open_and_forward(struct run *r, const struct targets *targets, struct err *err)
{
    struct gateway_shared *shared = NULL;
    struct gateway *gw = NULL;
    if (target_configure_prompt(&r->options->target, r->prompt, err) < 0)
        return -1;
    int rc = gateway_global_init(err);
    if (rc < 0)
        return -1;
    if (gateway_shared_new(&shared, err) < 0 || open_host(r, targets, shared, &gw, err) < 0) {
        /* Replaces the hint to open fewer hosts at a time, because forward opens only one. */
        if (err->kind == ERR_BUSY)
            err_hint(err, "is it an SSH server? a busy one turns connections away too (MaxStartups): wait a "
                          "little and try again");
        *err = suggest_check(&r->options->target, targets, r->messages.host, NULL, err);
        rc = err_wrap(err, "%s", r->messages.host->name);
    } else if (forward_messages_announce(&r->messages, err) < 0) {
        gateway_close(gw);
        rc = -1;
    } else {
        r->announced = true;
        rc = forward_connections(r, gw, err);
    }
    gateway_shared_free(shared);
    gateway_global_cleanup();
    return rc;
}

static int run_targets(struct forward_arguments *o, struct prompt *prompt, const struct targets *targets,
                       struct err *err)
{
    struct run r = {.options = o,
                    .prompt = prompt,
                    .messages = {.host = targets->items[0].host,
                                 .options = &o->target,
                                 .quiet = o->quiet,
                                 .verbose = o->verbose,
                                 .json = o->json}};
    if (check_counts(o, targets, err) < 0 || signals_install(err) < 0)
        return exit_status_of(err);
    r.messages.services = calloc(targets->n, sizeof *r.messages.services);
    if (!r.messages.services) {
        err_nomem(err);
        return exit_status_of(err);
    }
    for (r.messages.n = 0; r.messages.n < targets->n; r.messages.n++)
        r.messages.services[r.messages.n] = (struct forward_service){.target = &targets->items[r.messages.n],
                                                                     .listener = LOCAL_LISTENER_INIT};
    if (listen_all(&r, err) == 0) {
        set_exit_text(&r);
        open_and_forward(&r, targets, err);
    }
    for (size_t i = 0; i < r.messages.n; i++)
        local_listener_close(&r.messages.services[i].listener);
    free(r.messages.services);
    int code = exit_status_of(err);
    /* A signal after the start is the normal end, not an error. */
    if (r.announced && signals_received() && err->kind == ERR_CANCELLED)
        *err = (struct err)ERR_INIT;
    return code;
}

static int run_forward(int argc, char **argv, struct err *err)
{
    struct forward_arguments o = {.target = TARGET_OPTIONS_INIT};
    struct strlist rest = {0};
    struct targets targets = {0};
    struct inventory *inventory = NULL;
    struct prompt prompt;
    int code = EXIT_USAGE;
    prompt_init(&prompt);
    if (options_parse(options, &(struct arguments){argc, argv}, &o, &rest, err) < 0 ||
        target_check_arguments(&o.target, &rest, "forward", err) < 0)
        goto out;
    if (o.quiet && o.verbose) {
        err_set(err, ERR_USAGE, "--quiet and --verbose cannot both be given");
        goto out;
    }
    if (resolve_targets(&o.target, &prompt, &inventory, &targets, err) < 0)
        code = exit_status_of(err);
    else
        code = run_targets(&o, &prompt, &targets, err);
out:
    targets_release(&targets);
    inventory_free(inventory);
    strlist_release(&rest);
    strlist_release(&o.listen);
    target_options_release(&o.target);
    prompt_release(&prompt);
    return code;
}

const struct command command_forward = {
    .name = "forward",
    .synopsis = "--host NAME [--service NAME] [--listen ADDR] [options]",
    .summary = "keep a port open to a host's services, for go tool pprof, curl, a browser or a scraper",
    .details =
        "Listens on this workstation and carries connections unchanged to the services: many connections at\n"
        "once, over one SSH session. Once the session is open, it prints a line for each service on stdout:\n"
        "the URL of the pprof page, or the path of the Unix socket.\n"
        "\n"
        "Without --listen each service has its own port on 127.0.0.1, or a free port if that one is in use.\n"
        "Every local user can connect to a port; only you can connect to unix:PATH. Other machines can\n"
        "connect only if --listen names 0.0.0.0 or an address of this machine that they reach.\n"
        "\n"
        "If the session is lost, forward keeps listening and opens a new session, without a limit on "
        "retries.\n"
        "Open connections end, and new ones wait up to ten seconds. A refused host key or login ends the\n"
        "forward.\n"
        "\n"
        "Ctrl-C ends the forward. Exit codes: 130 interrupted (129 hung up, 143 terminated), 1 failure, 2\n"
        "usage.",
    .options = options,
    .run = run_forward,
};
