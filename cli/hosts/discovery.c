#include "cli/hosts/discovery.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "fetch/fetch.h"
#include "http/http.h"
#include "base/banned.h"

/* One run of discovery. */
struct source_run {
    const struct discovery_command *command;
    bool listing; /* the command prints all targets of the source */
    bool ready;   /* the libraries are initialised */
};

char *discovery_age(char *dst, size_t cap, int64_t at)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    int64_t age = clock_utc() - at;
    size_t i = 0;
    while (i < 3 && age < units[i].ms)
        i++;
    snprintf(dst, cap, "%lld%s", (long long)(age > 0 ? age / units[i].ms : 0), units[i].unit);
    return dst;
}

/* ---- queries ------------------------------------------------------------------------------------------- */

static void on_opening(void *ctx, const struct host *host)
{
    (void)ctx, (void)host;
}

static void on_host(void *ctx, const struct host *host, const struct gateway *gw, const struct err *failure)
{
    (void)ctx, (void)host, (void)gw, (void)failure;
}

static void on_step(void *ctx, const struct host *host, const struct service *service,
                    const struct fetch_step *step)
{
    (void)ctx, (void)service;
    if (step->always_print && !step->failure)
        message_print("%s: %s", host->name, step->detail);
}

static int init_libraries(struct source_run *r, struct err *err)
{
    if (r->ready)
        return 0;
    if (signals_install(err) < 0 || gateway_global_init(err) < 0)
        return -1;
    if (http_global_init(err) < 0) {
        gateway_global_cleanup();
        return -1;
    }
    r->ready = true;
    return 0;
}

static void release_libraries(struct source_run *r)
{
    if (!r->ready)
        return;
    http_global_cleanup();
    gateway_global_cleanup();
}

/* Queries a source. Only a source behind an SSH session may ask the user. */
static int query_source(void *ctx, const struct source *s, struct discovered *ret, struct err *err)
{
    struct source_run *r = ctx;
    struct ssh_settings ssh;
    struct prompt *prompt = r->command->prompt;
    struct fetch_observer observer = {.opening = on_opening, .host = on_host, .step = on_step};
    if (init_libraries(r, err) < 0 || target_configure_prompt(r->command->options, prompt, err) < 0)
        return -1;
    struct fetch_job grab = target_grab(r->command->options, NULL, &ssh, prompt);
    grab.observer = &observer;
    grab.access.ask = s->through ? grab.access.ask : NULL;
    return discovery_query(s, &grab, ret, err);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static void print_warning(void *ctx, const struct source *s, enum discovery_warning warning,
                          const struct err *why, int64_t at)
{
    char age[32];
    (void)ctx;
    if (warning == DISCOVERY_NOT_CACHED)
        message_print("%s: its answer cannot be cached: %s", s->name, why->msg);
    else if (warning == DISCOVERY_OLD_ANSWER)
        message_print("%s: its answer of %s ago is used, because it cannot be queried: %s", s->name,
                      discovery_age(age, sizeof age, at), why->msg);
    else
        message_print("%s: %s", s->name, why->msg);
}

/* Prints that targets on loopback are left out, because their host is unknown. */
static void print_loopback(const struct source_use *use, const struct discovered_counts *counts)
{
    const struct source *s = use->source;
    if (counts->loopback == 0 || counts->loopback == counts->n)
        return;
    message_print(
        "%s: %zu target%s on loopback, so %s host is unknown: %s names the host", s->name, counts->loopback,
        counts->loopback == 1 ? " is" : "s are", counts->loopback == 1 ? "its" : "their",
        s->line > 0 && !use->is_only ? "`host: NAME` in its entry" : "`--from` with a single `--host NAME`");
}

/* Prints the notes of a source, and the number of its targets that are left out. */
static void print_left_out(const struct source_run *r, const struct source_use *use,
                           const struct discovered *found, const struct discovered_counts *counts)
{
    const struct source *s = use->source;
    for (size_t i = 0; i < found->notes.n; i++)
        message_print("%s: %s", s->name, found->notes.items[i]);
    if (!inventory_path(r->command->inventory))
        return;
    if (counts->unmatched)
        message_print("%s: %zu of %zu target%s belong to no host of the inventory%s%s%s", s->name,
                      counts->unmatched, counts->n, text_plural_s(counts->n),
                      r->listing ? "" : "; `profgrab hosts --from ", r->listing ? "" : s->name,
                      r->listing ? "" : "` shows them");
    print_loopback(use, counts);
    if (counts->withheld)
        message_print(
            "%s: %zu target%s left out: a secret would be sent to an address that only the source defines; "
            "`host:` in service "
            "\"%s\" "
            "says where it may go",
            s->name, counts->withheld, counts->withheld == 1 ? " is" : "s are",
            s->service ? s->service->name : "");
}

static void print_listed(void *ctx, const struct source_use *use, const struct discovered *found,
                         const struct discovered_counts *counts, bool ok)
{
    const struct source_run *r = ctx;
    if (r->command->verbose)
        print_left_out(r, use, found, counts);
    else if (use->is_only && ok)
        print_loopback(use, counts);
}

static void print_failure(void *ctx, const struct source *s, const struct err *why)
{
    const struct source_run *r = ctx;
    struct err shown = *why;
    if (r->command->policy == DISCOVERY_CACHED)
        return;
    err_wrap(&shown, "%s", s->name);
    message_print_error(stderr, &shown);
    message_print("%s: services that only this source lists are missing", s->name);
}

static struct discovery_options make_options(struct source_run *r, const struct ssh_settings *ssh)
{
    return (struct discovery_options){.policy = r->command->policy,
                                      .ssh = ssh,
                                      .ctx = r,
                                      .query = query_source,
                                      .warning = print_warning,
                                      .listed = print_listed,
                                      .failed = print_failure};
}

int discovery_apply(const struct discovery_command *c, size_t *ret_failed, struct err *err)
{
    struct source_run r = {.command = c};
    const struct ssh_settings ssh = target_ssh(c->options);
    const struct discovery_options options = make_options(&r, &ssh);
    struct source_use *only = c->options->selection.source;
    struct discovery d = DISCOVERY_INIT(c->inventory, c->targets);
    size_t failed = 0;
    int rc =
        only ? discovery_run_one(&d, only, &options, NULL, err) : discovery_run(&d, &options, &failed, err);
    if (rc == 0 && ret_failed)
        *ret_failed = failed;
    discovery_release(&d);
    release_libraries(&r);
    return rc;
}

int discovery_list(const struct discovery_command *c, struct source_use *use, struct discovered *ret,
                   struct err *err)
{
    struct source_run r = {.command = c, .listing = true};
    const struct ssh_settings ssh = target_ssh(c->options);
    const struct discovery_options options = make_options(&r, &ssh);
    struct discovery d = DISCOVERY_INIT(c->inventory, c->targets);
    struct discovered found = {0};
    struct err why = ERR_INIT;
    int rc = discovery_run_one(&d, use, &options, &found, &why);
    discovery_release(&d);
    release_libraries(&r);
    if (rc < 0 && found.n == 0) {
        discovered_release(&found);
        *err = why;
        return -1;
    }
    /* discovery_run_one fails if no target has a known host, but the targets can be printed. */
    if (rc < 0)
        message_print_error(stderr, &why);
    *ret = found;
    return 0;
}
