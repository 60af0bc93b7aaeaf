#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/talk.h"
#include "base/banned.h"

void progress_init(struct progress *p, bool quiet)
{
    struct winsize size;
    const char *term = getenv("TERM");
    *p = (struct progress){.quiet = quiet, .columns = 80};
    p->live = !quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    if (p->live && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        p->columns = size.ws_col;
}

void progress_end(struct progress *p)
{
    if (p->showing)
        fputs("\r\033[K", stderr);
    p->showing = false;
}

/* Errors are shown even when quiet: they say why something is missing. */
static void tell_error(struct progress *p, const char *where, const struct err *failure)
{
    struct err err = *failure;
    progress_end(p);
    err_wrap(&err, "%s", where);
    talk_error(&err);
}

/* Replaces the live line. */
static void show(struct progress *p, const char *line)
{
    fprintf(stderr, "\r\033[K%.*s", (int)p->columns - 1, line);
    fflush(stderr);
    p->showing = true;
}

void progress_opening(struct progress *p, const struct host *host)
{
    char line[300];
    if (!p->live)
        return;
    snprintf(line, sizeof line, "%s: connecting", host->name);
    show(p, line);
}

void progress_host(struct progress *p, const struct host *host, const struct gateway *gw,
                   const struct err *failure)
{
    if (failure) {
        tell_error(p, host->name, failure);
        return;
    }
    const struct gateway_hop *hop = NULL;
    for (size_t i = 0; gateway_hop(gw, i); i++)
        hop = gateway_hop(gw, i);
    if (p->quiet || !hop)
        return;
    progress_end(p);
    talk("%s: connected to %s port %u as %s", host->name, hop->address, hop->port, hop->user);
}

static void name_target(const struct target *t, char *dst, size_t cap)
{
    snprintf(dst, cap, "%s: %s", t->host->name, t->service->name);
}

static void tell_verdicts(struct progress *p, const char *where, const struct verdicts *verdicts)
{
    for (size_t i = 0; !p->quiet && verdicts && i < verdicts->n; i++) {
        if (verdicts->items[i].note)
            continue;
        progress_end(p);
        talk("%s: %s", where, verdicts->items[i].text);
    }
}

void progress_service(struct progress *p, const struct target *target, const struct fetch_service *s)
{
    char where[600];
    name_target(target, where, sizeof where);
    if (s->failure)
        tell_error(p, where, s->failure);
    tell_verdicts(p, where, s->verdicts);
}

void progress_item(struct progress *p, const struct target *target, const struct fetch_item *item)
{
    char where[600], full[900], size[32], took[32];
    name_target(target, where, sizeof where);
    snprintf(full, sizeof full, "%s: %s%s%s", where, item->kind, *item->argument ? "=" : "", item->argument);
    if (item->status != FETCH_OK) {
        tell_error(p, full, &item->err);
    } else if (!p->quiet) {
        progress_end(p);
        talk("%s: %s in %s", full, text_bytes(size, sizeof size, item->bytes),
             text_duration(took, sizeof took, item->duration_ms));
    }
    tell_verdicts(p, full, &item->verdicts);
}

void progress_under_way(struct progress *p, const struct target *target, const struct fetch_progress *now)
{
    char where[600], line[900], size[32], elapsed[32], timed[32];
    if (p->quiet)
        return;
    name_target(target, where, sizeof where);
    text_duration(timed, sizeof timed, now->timed_ms);
    if (!p->live) {
        /* A log wants to know only what takes time by design. */
        if (now->elapsed_ms == 0 && now->timed_ms > 0)
            talk("%s: %s: taking %s", where, now->kind, timed);
        return;
    }
    text_duration(elapsed, sizeof elapsed, now->elapsed_ms / 1000 * 1000);
    /* Where the line is too short, the name is what can be spared. */
    snprintf(line, sizeof line, "%s %s%s%s %zu/%zu%s%s %s", now->kind,
             now->elapsed_ms >= 1000 ? elapsed : "0s", now->timed_ms ? " of " : "",
             now->timed_ms ? timed : "", now->index + 1, now->n_items, now->bytes ? " " : "",
             now->bytes ? text_bytes(size, sizeof size, now->bytes) : "", where);
    show(p, line);
}
