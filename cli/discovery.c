#include "cli/discovery.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/term/signals.h"
#include "cli/term/talk.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* The sources of one run. */
struct hearing {
    struct inventory *inventory;
    struct target_options *target;
    enum discovery_when when;
    bool tell;
    bool listing; /* its targets are about to be listed */
    bool ready;   /* the libraries are set up */
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

/* ---- asking -------------------------------------------------------------------------------------------- */

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
    if (step->news && !step->failure)
        talk("%s: %s", host->name, step->detail);
}

static int set_up(struct hearing *h, struct err *err)
{
    if (h->ready)
        return 0;
    if (signals_install(err) < 0 || gateway_global_init(err) < 0)
        return -1;
    if (fetch_global_init(err) < 0) {
        gateway_global_cleanup();
        return -1;
    }
    h->ready = true;
    return 0;
}

static void clean_up(struct hearing *h)
{
    if (!h->ready)
        return;
    fetch_global_cleanup();
    gateway_global_cleanup();
}

/* Who is asked over no SSH session wants no passphrase. */
static int ask(struct hearing *h, const struct source *s, struct discovered *ret, struct err *err)
{
    struct ssh_settings ssh;
    struct prompt *prompt = NULL;
    struct fetch_observer observer = {.opening = on_opening, .host = on_host, .step = on_step};
    if (set_up(h, err) < 0 || target_prompt(h->target, &prompt, err) < 0)
        return -1;
    struct fetch_grab grab = target_grab(h->target, NULL, &ssh, prompt);
    grab.observer = &observer;
    grab.access.ask = s->through ? grab.access.ask : NULL;
    return discovery_ask(s, &grab, ret, err);
}

/* Asks, and keeps what came. Where nothing comes, what was kept before is better than nothing. */
static int ask_or_old(struct hearing *h, const struct source *s, struct discovered *ret, struct err *err)
{
    char age[32];
    struct err why = ERR_INIT, unkept = ERR_INIT;
    const struct ssh_settings ssh = target_ssh(h->target);
    if (ask(h, s, ret, &why) == 0) {
        if (discovery_keep(s, &ssh, ret, &unkept) < 0)
            talk("%s: its answer cannot be kept: %s", s->name, unkept.msg);
        return 0;
    }
    if (why.kind != ERR_CANCELLED && discovery_kept(s, &ssh, ret, NULL) == 0) {
        talk("%s: what it said %s ago is used, since it cannot be asked: %s", s->name,
             discovery_age(age, sizeof age, ret->at), why.msg);
        return 0;
    }
    *err = why;
    return -1;
}

/* What the source says, now or before. */
static int hear(struct hearing *h, const struct source *s, struct discovered *ret, struct err *err)
{
    struct err why = ERR_INIT;
    const struct ssh_settings ssh = target_ssh(h->target);
    if (!s->ask)
        return discovered_read(s, ret, err);
    if (h->when == DISCOVERY_REFRESH)
        return ask_or_old(h, s, ret, err);
    if (discovery_kept(s, &ssh, ret, &why) == 0) {
        int64_t age = clock_utc() - ret->at;
        if (h->when == DISCOVERY_KEPT || (age >= 0 && age <= s->max_age_ms))
            return 0;
        discovered_release(ret);
    } else if (why.kind == ERR_FAILED) {
        talk("%s: %s", s->name, why.msg);
    }
    if (h->when == DISCOVERY_AS_NEEDED)
        return ask_or_old(h, s, ret, err);
    *err = why;
    return -1;
}

/* ---- telling ------------------------------------------------------------------------------------------- */

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* Targets on loopback are left out where nobody says whose loopback it is. */
static void tell_loopback(const struct source *s, const struct discovered_counts *d)
{
    if (d->loopback == 0 || d->loopback == d->n)
        return;
    talk("%s: %zu target%s on loopback, and nothing says of which host: %s does", s->name, d->loopback,
         d->loopback == 1 ? " is" : "s are",
         s->line > 0 && !s->for_run ? "`host: NAME` in its entry" : "`--from` with a single `--host NAME`");
}

/* What of the answer comes to nothing. */
static void tell_missing(const struct hearing *h, const struct source *s, const struct discovered *f,
                         const struct discovered_counts *d)
{
    for (size_t i = 0; i < f->notes.n; i++)
        talk("%s: %s", s->name, f->notes.items[i]);
    if (!inventory_path(h->inventory))
        return;
    if (d->strange)
        talk("%s: %zu of %zu target%s belong to no host of the inventory%s%s%s", s->name, d->strange, d->n,
             plural(d->n), h->listing ? "" : "; `profgrab hosts --from ", h->listing ? "" : s->name,
             h->listing ? "" : "` shows them");
    tell_loopback(s, d);
    if (d->withheld)
        talk("%s: %zu target%s left out: a secret would go where only the source says; `host:` in service "
             "\"%s\" "
             "says where it may go",
             s->name, d->withheld, d->withheld == 1 ? " is" : "s are", s->service ? s->service->name : "");
}

static int take_source(struct hearing *h, const struct source *s, struct discovered *ret, struct err *err)
{
    struct discovered f = {0};
    struct discovered_counts d = {0};
    if (hear(h, s, &f, err) < 0)
        return -1;
    int rc = inventory_discover(h->inventory, s, &f, &d, err);
    if (h->tell)
        tell_missing(h, s, &f, &d);
    else if (s->for_run && rc == 0)
        tell_loopback(s, &d);
    if (ret && (rc == 0 || err->kind == ERR_USAGE)) {
        *ret = f;
        f = (struct discovered){0};
    }
    discovered_release(&f);
    return rc;
}

/* A source that the command line names is the only one of its run. */
static bool is_of_run(const struct source *s, const struct target_options *o)
{
    return !o->from || s->for_run;
}

static void tell_failure(const struct source *s, const struct err *why)
{
    struct err shown = *why;
    err_wrap(&shown, "%s", s->name);
    talk_error(stderr, &shown);
    talk("%s: what only it knows of is missing", s->name);
}

int discovery_apply(struct inventory *inv, struct target_options *o, enum discovery_when when, bool tell,
                    size_t *ret_failed, struct err *err)
{
    struct hearing h = {.inventory = inv, .target = o, .when = when, .tell = tell};
    size_t n = 0, failed = 0;
    int rc = 0;
    const struct source *const *sources = inventory_sources(inv, &n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct err why = ERR_INIT;
        if (!is_of_run(sources[i], o) || take_source(&h, sources[i], NULL, &why) == 0)
            continue;
        if (why.kind == ERR_CANCELLED || sources[i]->for_run) {
            *err = why;
            rc = err_wrap(err, "%s", sources[i]->name);
        } else {
            failed++;
            if (when != DISCOVERY_KEPT)
                tell_failure(sources[i], &why);
            rc = inventory_source_failed(inv, sources[i], why.msg, err);
        }
    }
    if (rc == 0)
        rc = inventory_discovered(inv, err);
    if (rc == 0 && ret_failed)
        *ret_failed = failed;
    clean_up(&h);
    return rc;
}

int discovery_list(struct inventory *inv, const struct source *source, struct target_options *o,
                   enum discovery_when when, struct discovered *ret, struct err *err)
{
    struct hearing h = {.inventory = inv, .target = o, .when = when, .tell = true, .listing = true};
    struct err why = ERR_INIT;
    struct discovered f = {0};
    int rc = take_source(&h, source, &f, &why);
    clean_up(&h);
    if (rc < 0 && f.n == 0) {
        discovered_release(&f);
        *err = why;
        return err_wrap(err, "%s", source->name);
    }
    /* Its targets can be listed, whoever's they are. */
    if (rc < 0) {
        err_wrap(&why, "%s", source->name);
        talk_error(stderr, &why);
    }
    if (inventory_discovered(inv, err) < 0) {
        discovered_release(&f);
        return -1;
    }
    *ret = f;
    return 0;
}
