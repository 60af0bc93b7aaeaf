/* `profgrab forward`: holds a way to a host's services open for other programs, until it is told to stop. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/shell.h"
#include "cli/signals.h"
#include "cli/talk.h"
#include "cli/target.h"
#include "base/banned.h"

struct forward_command {
    struct target_options target;
    struct strlist listen;
    bool quiet;
    bool verbose;
    bool json;
};

static const struct option options[] = {
    TARGET_OPTION_ROWS(struct forward_command, target),
    {"listen", 'l', OPTION_LIST, "ADDRESS[,...]",
     "where to listen: PORT (on 127.0.0.1), IP:PORT or unix:PATH; one for each service "
     "(default: the service's own port where it is free)",
     offsetof(struct forward_command, listen), 0},
    {"quiet", 'q', OPTION_FLAG, NULL, "say nothing but errors", offsetof(struct forward_command, quiet), 0},
    {"verbose", 'v', OPTION_FLAG, NULL, "say each connection, and every step on the way",
     offsetof(struct forward_command, verbose), 0},
    {"json", 0, OPTION_FLAG, NULL, "say on stdout where it listens as JSON, one object a line",
     offsetof(struct forward_command, json), 0},
    OPTIONS_END,
};

/* A service, and where it is to be had here. */
struct way {
    const struct target *target;
    struct local_listener listener;
    char complaint[512]; /* the last failure that was told, until a connection went well */
};

struct run {
    const struct forward_command *command;
    const struct host *host;
    struct way *ways;
    size_t n;
    bool stood; /* it was said where it listens */
    struct prompt prompt;
    char complaint[512]; /* of the attempts to open the session again */
};

/* ---- where to listen ----------------------------------------------------------------------------------- */

static int check_counts(const struct forward_command *c, const struct targets *targets, struct err *err)
{
    for (size_t i = 1; i < targets->n; i++)
        if (targets->items[i].host != targets->items[0].host) {
            err_set(err, ERR_USAGE, "forward takes one host, not %s and %s too", targets->items[0].host->name,
                    targets->items[i].host->name);
            return err_hint(err, "start one for each host");
        }
    if (c->listen.n == 0 || c->listen.n == targets->n)
        return 0;
    err_set(err, ERR_USAGE, "--listen names %zu address%s, but there %s %zu service%s", c->listen.n,
            c->listen.n == 1 ? "" : "es", targets->n == 1 ? "is" : "are", targets->n,
            targets->n == 1 ? "" : "s");
    return err_hint(err, "name the services with --service, and an address for each in the same order");
}

/* The service's own port, or where that cannot be had any other. */
static int listen_by_default(struct way *w, bool quiet, struct err *err)
{
    struct local_address at = {.ip = "127.0.0.1", .port = w->target->service->port};
    char where[LOCAL_NAME];
    struct err why = ERR_INIT;
    if (at.port && local_listen(&at, &w->listener, &why) == 0)
        return 0;
    at.port = 0;
    if (local_listen(&at, &w->listener, err) < 0)
        return -1;
    if (why.kind != ERR_NONE && !quiet)
        talk("%s: %s: %s; it is %s instead", w->target->host->name, w->target->service->name, why.msg,
             local_name(&w->listener.address, where));
    return 0;
}

/* All words are read before anything is opened. */
static int listen_all(struct run *r, struct err *err)
{
    const struct strlist *wanted = &r->command->listen;
    for (size_t i = 0; i < wanted->n; i++)
        if (local_parse(wanted->items[i], &r->ways[i].listener.address, err) < 0)
            return err_wrap(err, "--listen");
    for (size_t i = 0; i < r->n; i++) {
        struct way *w = &r->ways[i];
        if (wanted->n ? local_listen(&w->listener.address, &w->listener, err) < 0
                      : listen_by_default(w, r->command->quiet, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- what is said -------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void talk_of(const struct way *w, const char *fmt, ...)
{
    char text[2000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    talk("%s: %s: %s", w->target->host->name, w->target->service->name, text);
}

/* The page of pprof, as a program on this workstation asks for it. */
static char *url_of(const struct way *w, char *dst, size_t cap)
{
    const struct service *s = w->target->service;
    const struct local_address *a = &w->listener.address;
    char reach[LOCAL_NAME];
    snprintf(dst, cap, "%s://%s%s/", s->https ? "https" : "http",
             a->path[0] ? "localhost" : local_reach(a, reach), s->path);
    return dst;
}

static int print_json(const struct way *w)
{
    const struct local_address *a = &w->listener.address;
    const struct service *s = w->target->service;
    char url[700];
    json_t *o = json_pack("{s:s, s:s, s:s}", "host", w->target->host->name, "service", s->name, "url",
                          url_of(w, url, sizeof url));
    if (o && a->path[0])
        json_object_set_new(o, "socket", json_string(a->path));
    else if (o)
        json_object_update_new(o, json_pack("{s:s, s:i}", "address", a->ip, "port", (int)a->port));
    int rc = o && json_dumpf(o, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF ? 0 : -1;
    json_decref(o);
    return rc;
}

static int print_places(const struct run *r, struct err *err)
{
    int failed = 0;
    char url[700];
    for (size_t i = 0; i < r->n; i++) {
        const struct way *w = &r->ways[i];
        const char *path = w->listener.address.path;
        if (r->command->json)
            failed |= print_json(w) < 0;
        else
            failed |= printf("%s\n", path[0] ? path : url_of(w, url, sizeof url)) < 0;
    }
    return failed || fflush(stdout) != 0 ? err_sys(err, "cannot write to standard output") : 0;
}

static void say_who_can_reach(const struct way *w, bool quiet)
{
    const struct local_address *a = &w->listener.address;
    char where[LOCAL_NAME];
    local_name(a, where);
    if (!local_is_private(a))
        talk_of(w,
                "WARNING: listening on %s: whoever can reach this workstation over the network can read "
                "these profiles",
                where);
    else if (!quiet)
        talk_of(w, "listening on %s, for %s", where,
                a->path[0] ? "your own programs only" : "programs on this workstation only");
}

/* A command line that fetches something through it. */
static void add_example(struct buf *b, const struct way *w)
{
    struct service seen = *w->target->service;
    const struct local_address *a = &w->listener.address;
    char url[720], page[700], reach[LOCAL_NAME];
    url_of(w, page, sizeof page);
    snprintf(url, sizeof url, "%sheap", page);
    if (a->path[0]) {
        buf_adds(b, "curl --unix-socket ");
        shell_add_word(b, a->path);
    } else if (seen.https) {
        /* Under the service's own name, which its certificate bears. */
        seen.host = seen.tls.server_name ? seen.tls.server_name : seen.host;
        fetch_service_url(&seen, page, sizeof page);
        snprintf(url, sizeof url, "%s/heap", page);
        buf_addf(b, "curl --connect-to ::%s", local_reach(a, reach));
    } else {
        snprintf(url, sizeof url, "%sprofile", page);
        buf_adds(b, "go tool pprof ");
        shell_add_word(b, url);
        return;
    }
    buf_adds(b, " -o heap.pb.gz ");
    shell_add_word(b, url);
}

/* Everything goes on as it is: TLS, secrets and names are between the service and whoever asks. */
static void say_how_to_ask(const struct way *w)
{
    const struct service *s = w->target->service;
    struct buf example = BUF_INIT(2000);
    add_example(&example, w);
    talk_of(w, "try: %s", buf_str(&example));
    if (s->https)
        talk_of(w,
                "TLS ends in the service, and its certificate hardly names an address of this workstation");
    if (s->auth.secret.source != SECRET_NONE)
        talk_of(w, "the service wants a secret: the forward adds none, whoever asks must send it");
    if (s->host_header)
        talk_of(w, "the service expects \"Host: %s\": the forward adds no header, whoever asks must send it",
                s->host_header);
    buf_release(&example);
}

static int announce(struct run *r, struct err *err)
{
    bool quiet = r->command->quiet;
    if (print_places(r, err) < 0)
        return -1;
    r->stood = true;
    for (size_t i = 0; i < r->n; i++) {
        say_who_can_reach(&r->ways[i], quiet);
        if (!quiet)
            say_how_to_ask(&r->ways[i]);
    }
    return 0;
}

/* What the second Ctrl-C says. */
static void prepare_farewell(const struct run *r)
{
    char line[1000];
    const char *path = "";
    for (size_t i = 0; i < r->n; i++)
        path = r->ways[i].listener.address.path[0] ? r->ways[i].listener.address.path : path;
    snprintf(line, sizeof line, "\nprofgrab: left at once%s%s%s\n", *path ? "; the socket " : "", path,
             *path ? " is still there, and is replaced when it is listened on again" : "");
    signals_farewell(line);
}

/* ---- what happens -------------------------------------------------------------------------------------- */

/* Whether it was not said just before; it is remembered. */
static bool is_news(char complaint[512], const char *msg)
{
    bool news = strcmp(complaint, msg) != 0;
    snprintf(complaint, 512, "%s", msg);
    return news;
}

static void say_ended(const struct run *r, struct way *w, const struct forward_event *e)
{
    char sent[32], received[32], took[32];
    bool usual = e->failure && (e->failure->kind == ERR_LOST || e->failure->kind == ERR_CANCELLED);
    if (r->command->verbose)
        talk_of(w, "%s: ended after %s, %s there, %s back%s%s", e->from,
                text_duration(took, sizeof took, e->ms), text_bytes(sent, sizeof sent, e->sent),
                text_bytes(received, sizeof received, e->received), e->failure ? ": " : "",
                e->failure ? e->failure->msg : "");
    else if (e->failure && !usual && is_news(w->complaint, e->failure->msg))
        talk_of(w, "a connection failed: %s", e->failure->msg);
    if (!e->failure)
        w->complaint[0] = '\0';
}

static void say_session(struct run *r, const struct forward_event *e)
{
    char ms[32];
    const char *host = r->host->name, *why = e->failure ? e->failure->msg : "";
    text_duration(ms, sizeof ms, e->ms);
    if (r->command->quiet)
        return;
    if (e->kind == FORWARD_LOST)
        talk("%s: %s; opening another session", host, why);
    else if (e->kind == FORWARD_BACK)
        talk("%s: connected again after %s", host, ms);
    else if (is_news(r->complaint, why) || r->command->verbose)
        talk("%s: that failed, and is tried again in %s: %s", host, ms, why);
    if (e->kind != FORWARD_AGAIN)
        r->complaint[0] = '\0';
}

static void on_event(void *ctx, const struct forward_event *e)
{
    struct run *r = ctx;
    switch (e->kind) {
    case FORWARD_BEGUN:
        if (r->command->verbose)
            talk_of(&r->ways[e->place], "%s: connected", e->from);
        break;
    case FORWARD_ENDED:
        say_ended(r, &r->ways[e->place], e);
        break;
    case FORWARD_LOST:
    case FORWARD_AGAIN:
    case FORWARD_BACK:
        say_session(r, e);
        break;
    }
}

/* Whoever says no once says it again, and may lock the user out for asking too often. */
static bool is_hopeless(void *ctx, const struct err *failure)
{
    (void)ctx;
    return failure->kind == ERR_HOST_KEY || failure->kind == ERR_DENIED || failure->kind == ERR_USAGE;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static void on_opening(void *ctx, const struct host *host)
{
    progress_opening(ctx, host);
}

/* A failure is told by main. */
static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    if (!failure)
        progress_host(ctx, host, gw, NULL);
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    progress_step(ctx, host, service, step);
}

static void on_question(void *ctx)
{
    progress_pause(ctx);
}

static void on_answer(void *ctx)
{
    progress_resume(ctx);
}

static int open_host(struct run *r, const struct targets *targets, struct gateway_pool *pool,
                     struct gateway **ret, struct err *err)
{
    struct progress progress;
    struct ssh_settings ssh;
    struct fetch_observer observer = {
        .ctx = &progress, .opening = on_opening, .host = on_host, .step = on_step};
    struct fetch_grab grab = target_grab(&r->command->target, targets, &ssh, &r->prompt);
    grab.observer = &observer;
    progress_init(&progress, &(struct progress_options){
                                 .quiet = r->command->quiet, .verbose = r->command->verbose, .out = stderr});
    r->prompt.pause = on_question;
    r->prompt.resume = on_answer;
    r->prompt.ctx = &progress;
    int rc = fetch_open(&grab, r->host, pool, ret, err);
    progress_end(&progress);
    /* What a later session asks disturbs nobody. */
    r->prompt.pause = r->prompt.resume = NULL;
    r->prompt.ctx = NULL;
    return rc;
}

static int carry(struct run *r, struct gateway *gw, struct err *err)
{
    struct forward_options how = {.cancel_fd = signals_cancel_fd(),
                                  .patience_ms = FORWARD_PATIENCE_MS,
                                  .tell = on_event,
                                  .hopeless = is_hopeless,
                                  .ctx = r};
    struct forward_place *places = calloc(r->n, sizeof *places);
    if (!places) {
        gateway_close(gw);
        return err_nomem(err);
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct service *s = r->ways[i].target->service;
        places[i].listener = &r->ways[i].listener;
        places[i].to = (struct destination){.host = s->host, .port = s->port, .unix_path = s->unix_path};
    }
    int rc = forward_run(gw, places, r->n, &how, err);
    free(places);
    return rc < 0 ? err_wrap(err, "%s", r->host->name) : 0;
}

static int open_and_carry(struct run *r, const struct targets *targets, struct err *err)
{
    struct gateway_pool *pool = NULL;
    struct gateway *gw = NULL;
    if (target_prompt(&r->command->target, &r->prompt, err) < 0)
        return -1;
    int rc = gateway_global_init(err);
    if (rc < 0) {
        prompt_release(&r->prompt);
        return -1;
    }
    if (gateway_pool_new(&pool, err) < 0 || open_host(r, targets, pool, &gw, err) < 0)
        rc = err_wrap(err, "%s", r->host->name);
    else if (announce(r, err) < 0) {
        gateway_close(gw);
        rc = -1;
    } else {
        rc = carry(r, gw, err);
    }
    gateway_pool_free(pool);
    prompt_release(&r->prompt);
    gateway_global_cleanup();
    return rc;
}

static int run_targets(const struct forward_command *c, const struct targets *targets, struct err *err)
{
    struct run r = {.command = c, .host = targets->items[0].host};
    if (check_counts(c, targets, err) < 0 || signals_install(err) < 0)
        return exit_status_of(err);
    r.ways = calloc(targets->n, sizeof *r.ways);
    if (!r.ways) {
        err_nomem(err);
        return exit_status_of(err);
    }
    for (r.n = 0; r.n < targets->n; r.n++)
        r.ways[r.n] = (struct way){.target = &targets->items[r.n], .listener = LOCAL_LISTENER_INIT};
    if (listen_all(&r, err) == 0) {
        prepare_farewell(&r);
        open_and_carry(&r, targets, err);
    }
    for (size_t i = 0; i < r.n; i++)
        local_release(&r.ways[i].listener);
    free(r.ways);
    int code = exit_status_of(err);
    /* It was asked to end, and did. */
    if (r.stood && signals_received() && err->kind == ERR_CANCELLED)
        *err = (struct err)ERR_INIT;
    return code;
}

static int run(int argc, char **argv, struct err *err)
{
    struct forward_command c = {.target = TARGET_OPTIONS_INIT};
    struct strlist rest = {0};
    struct targets targets = {0};
    struct inventory *inventory = NULL;
    int code = EXIT_USAGE;
    if (options_parse(options, argc, argv, &c, &rest, err) < 0)
        goto out;
    if (rest.n > 0) {
        err_set(err, ERR_USAGE, "forward takes no kind: \"%.60s\"", rest.items[0]);
        goto out;
    }
    if (c.target.selection.hosts.n == 0 && c.target.selection.groups.n == 0) {
        err_set(err, ERR_USAGE, "no host given");
        err_hint(err, "profgrab forward --host NAME; `profgrab hosts` lists the inventory");
        goto out;
    }
    if (c.quiet && c.verbose) {
        err_set(err, ERR_USAGE, "--quiet and --verbose cannot both be");
        goto out;
    }
    if (target_resolve(&c.target, &inventory, &targets, err) < 0)
        code = exit_status_of(err);
    else
        code = run_targets(&c, &targets, err);
out:
    targets_release(&targets);
    inventory_free(inventory);
    strlist_release(&rest);
    strlist_release(&c.listen);
    target_options_release(&c.target);
    return code;
}

const struct command command_forward = {
    .name = "forward",
    .synopsis = "--host NAME [--service NAME] [--listen ADDR] [options]",
    .summary = "hold a way to a host's services open for go tool pprof, curl, a browser or a scraper",
    .details =
        "Listens on this workstation and carries what connects, as it is, to the services: many connections\n"
        "at once, over one SSH session. Where it listens is printed on stdout once the session is open, a\n"
        "line for each service: the URL of its pprof page, or the path of the Unix socket.\n"
        "\n"
        "Without --listen each service has its own port on 127.0.0.1, or another where that is taken. Every\n"
        "local user can connect to a port; to unix:PATH only you can. Only an address that is spelt out,\n"
        "such as 0.0.0.0:6060, lets others in.\n"
        "\n"
        "A session that is lost is opened again, for as long as it takes: the address stays, connections\n"
        "that were open end, and whoever connects meanwhile waits up to ten seconds. Only a host key or a\n"
        "login that is refused ends it.\n"
        "\n"
        "Ends with Ctrl-C. Exit codes: 130 interrupted (129 hung up, 143 terminated), 1 it failed, 2 usage.",
    .options = options,
    .run = run,
};
