/*
 * Every host that is being opened and every item that is being fetched has a line, even if nothing is drawn:
 * the line also records which messages were printed for the item. Busy lines keep their positions, and a
 * target reuses its last position, so that lines do not jump.
 */
#include "cli/term/progress.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term/columns.h"
#include "cli/term/message.h"
#include "base/banned.h"

#define TICK_MS 100

struct progress_line {
    bool busy;
    const struct host *host;
    const struct service *service; /* NULL: the host itself */
    const char *step;              /* a host's current step, a string literal */
    int64_t since;                 /* clock_now() at the start of the step or the item */
    /* The members below describe an item of the service. */
    char kind[256];
    int64_t timed_ms; /* the requested duration; 0: none */
    uint64_t bytes;
    const char *waiting; /* the reason for waiting; NULL: not waiting */
    size_t index, n_items;
};

static void *draw_periodically(void *ctx)
{
    struct progress *p = ctx;
    struct err err = ERR_INIT;
    while (fd_wait(p->stop_pipe[0], POLLIN, clock_deadline(TICK_MS), -1, &err) < 0 && err.kind == ERR_TIMEOUT)
        progress_draw(p);
    return NULL;
}

/* Returns false if the thread cannot start; then progress prints plain lines only. */
static bool start_ticker(struct progress *p)
{
    if (fd_pipe(p->stop_pipe, NULL) < 0)
        return false;
    p->ticker_runs = thread_start(&p->ticker, draw_periodically, p, NULL) == 0;
    return p->ticker_runs;
}

static void on_question(void *ctx)
{
    progress_pause(ctx);
}

static void on_answer(void *ctx)
{
    progress_resume(ctx);
}

static void attach_prompt(struct progress *p, struct prompt *prompt)
{
    if (!prompt)
        return;
    prompt->pause = on_question;
    prompt->resume = on_answer;
    prompt->ctx = p;
}

static void detach_prompt(struct progress *p)
{
    struct prompt *prompt = p->options.prompt;
    if (prompt) {
        prompt->pause = prompt->resume = NULL;
        prompt->ctx = NULL;
    }
    p->options.prompt = NULL;
}

void progress_init(struct progress *p, const struct progress_options *options)
{
    *p = (struct progress){.options = *options, .stop_pipe = {-1, -1}};
    pthread_mutex_init(&p->mutex, NULL);
    screen_init(&p->screen, options->out, options->rows, options->columns);
    if (!options->quiet) {
        /* Lock, because the ticker may read p->live before start_ticker returns. */
        pthread_mutex_lock(&p->mutex);
        p->live = options->rows ? true : screen_can_redraw(options->out) && start_ticker(p);
        pthread_mutex_unlock(&p->mutex);
    }
    attach_prompt(p, options->prompt);
}

void progress_end(struct progress *p)
{
    detach_prompt(p);
    if (p->ticker_runs) {
        fd_close(&p->stop_pipe[1]);
        pthread_join(p->ticker, NULL);
        p->ticker_runs = false;
    }
    fd_close(&p->stop_pipe[0]);
    fd_close(&p->stop_pipe[1]);
    screen_wipe(&p->screen);
    screen_release(&p->screen);
    name_map_release(&p->printed_index);
    strlist_release(&p->printed);
    free(p->lines);
    p->lines = NULL;
    p->n_lines = p->cap_lines = 0;
    p->live = false;
}

/* ---- busy lines ---------------------------------------------------------------------------------------- */

static struct progress_line *find_busy_line(struct progress *p, const struct host *host,
                                            const struct service *service, const char *kind)
{
    for (size_t i = 0; i < p->n_lines; i++) {
        struct progress_line *l = &p->lines[i];
        if (l->busy && l->host == host && l->service == service && strcmp(l->kind, kind) == 0)
            return l;
    }
    return NULL;
}

/* Returns the target's last line, another free line, or a new one. NULL: no memory; the item is not shown. */
static struct progress_line *find_free_line(struct progress *p, const struct host *host,
                                            const struct service *service)
{
    struct progress_line *free_line = NULL;
    for (size_t i = 0; i < p->n_lines; i++) {
        struct progress_line *l = &p->lines[i];
        if (!l->busy && l->host == host && l->service == service)
            return l;
        if (!l->busy && !free_line)
            free_line = l;
    }
    if (!free_line &&
        array_reserve((void **)&p->lines, &p->cap_lines, p->n_lines + 1, sizeof *p->lines, NULL) == 0)
        free_line = &p->lines[p->n_lines++];
    return free_line;
}

static struct progress_line *begin_line(struct progress *p, const struct host *host,
                                        const struct service *service, const char *kind)
{
    struct progress_line *l = find_free_line(p, host, service);
    if (!l)
        return NULL;
    *l = (struct progress_line){.busy = true, .host = host, .service = service, .since = clock_now()};
    snprintf(l->kind, sizeof l->kind, "%s", kind);
    return l;
}

static void end_line(struct progress *p, const struct host *host, const struct service *service,
                     const char *kind)
{
    struct progress_line *l = find_busy_line(p, host, service, kind);
    if (l)
        l->busy = false;
}

/* ---- the live lines ------------------------------------------------------------------------------------ */

/* `brief` omits the time left and the item's number. */
static void describe_item(const struct progress_line *l, bool brief, struct buf *b)
{
    char text[32];
    int64_t elapsed = (clock_now() - l->since) / 1000 * 1000;
    buf_addf(b, ": %s", l->kind);
    if (l->waiting)
        buf_addf(b, " waiting: %s", l->waiting);
    else if (l->timed_ms || elapsed)
        buf_addf(b, " %s", text_duration(text, sizeof text, elapsed));
    if (l->timed_ms && !l->waiting)
        buf_addf(b, " of %s", text_duration(text, sizeof text, l->timed_ms));
    if (!brief && l->timed_ms > elapsed && !l->waiting)
        buf_addf(b, ", %s left", text_duration(text, sizeof text, l->timed_ms - elapsed));
    if (l->bytes)
        buf_addf(b, ", %s", text_bytes(text, sizeof text, l->bytes));
    if (!brief && l->n_items > 1)
        buf_addf(b, ", item %zu of %zu", l->index + 1, l->n_items);
}

static void describe_host(const struct progress_line *l, struct buf *b)
{
    char text[32];
    int64_t elapsed = (clock_now() - l->since) / 1000 * 1000;
    buf_addf(b, ": %s", l->step);
    if (elapsed)
        buf_addf(b, ", %s", text_duration(text, sizeof text, elapsed));
}

static void add_name(const char *name, size_t room, struct buf *b)
{
    if (columns_width(name) <= room) {
        buf_adds(b, name);
    } else {
        buf_add(b, name, columns_fit(name, room - 3));
        buf_adds(b, "...");
    }
}

/* If the text does not fit, shortens the description first, then cuts the name. */
static int add_line(const struct progress_line *l, size_t columns, struct strlist *lines)
{
    enum { NAME_MIN = 8 };
    struct buf name = BUF_INIT(1024), description = BUF_INIT(1024), b = BUF_INIT(3000);
    size_t used = 0;
    buf_adds(&name, l->host->name);
    if (l->service)
        buf_addf(&name, ": %s", l->service->name);
    for (int brief = 0; brief < 2 && (!brief || columns_width(buf_str(&name)) + used > columns); brief++) {
        buf_clear(&description);
        if (l->service)
            describe_item(l, brief, &description);
        else
            describe_host(l, &description);
        used = columns_width(buf_str(&description));
    }
    add_name(buf_str(&name), used + NAME_MIN < columns ? columns - used : NAME_MIN, &b);
    buf_adds(&b, buf_str(&description));
    int rc = strlist_add(lines, buf_str(&b), NULL);
    buf_release(&name);
    buf_release(&description);
    buf_release(&b);
    return rc;
}

/* Draws as many lines as fit. If some do not fit, the last line says how many. */
static void draw_lines(struct progress *p)
{
    struct strlist lines = {0};
    size_t max_lines = 0, columns = 0, n_busy = 0;
    char more[60];
    int rc = 0;
    screen_max_size(&p->screen, &max_lines, &columns);
    for (size_t i = 0; i < p->n_lines; i++)
        n_busy += p->lines[i].busy;
    size_t n_shown = n_busy <= max_lines ? n_busy : max_lines - 1;
    for (size_t i = 0; rc == 0 && lines.n < n_shown; i++)
        if (p->lines[i].busy)
            rc = add_line(&p->lines[i], columns, &lines);
    snprintf(more, sizeof more, "... and %zu more targets", n_busy - n_shown);
    if (rc == 0 && n_busy > n_shown)
        rc = strlist_add(&lines, more, NULL);
    if (rc == 0)
        screen_draw(&p->screen, &lines);
    strlist_release(&lines);
}

void progress_draw(struct progress *p)
{
    pthread_mutex_lock(&p->mutex);
    if (p->live && !p->delayed)
        draw_lines(p);
    pthread_mutex_unlock(&p->mutex);
}

/* If memory runs out, messages are printed during the question. */
void progress_pause(struct progress *p)
{
    pthread_mutex_lock(&p->mutex);
    screen_wipe(&p->screen);
    fflush(p->options.out);
    if (!p->delayed)
        p->delayed = open_memstream(&p->delayed_text, &p->delayed_size);
    pthread_mutex_unlock(&p->mutex);
}

void progress_resume(struct progress *p)
{
    pthread_mutex_lock(&p->mutex);
    if (p->delayed && fclose(p->delayed) == 0)
        fwrite(p->delayed_text, 1, p->delayed_size, p->options.out);
    free(p->delayed_text);
    p->delayed = NULL;
    p->delayed_text = NULL;
    pthread_mutex_unlock(&p->mutex);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static void name_target(const struct target *t, char *dst, size_t cap)
{
    snprintf(dst, cap, "%s: %s", t->host->name, t->service->name);
}

/* Wipes the live lines. Returns the stream for a plain line. */
static FILE *prepare_output(struct progress *p)
{
    if (p->delayed)
        return p->delayed;
    screen_wipe(&p->screen);
    return p->options.out;
}

/* Prints errors even with --quiet: they explain missing items. */
static void print_error(struct progress *p, const char *where, const struct err *failure)
{
    struct err err = *failure;
    err_wrap(&err, "%s", where);
    message_print_error(prepare_output(p), &err);
}

/* Returns whether a finding with `per_service` was printed for this target before. Records it as printed; if
 * memory runs out, the finding is printed again. */
static bool was_printed(struct progress *p, const char *target_name, const struct finding_rule *rule)
{
    char key[700];
    if (!rule->per_service)
        return false;
    snprintf(key, sizeof key, "%s: %s", target_name, rule->id);
    if (name_map_get(&p->printed_index, key))
        return true;
    if (strlist_add(&p->printed, key, NULL) == 0)
        name_map_add(&p->printed_index, p->printed.items[p->printed.n - 1], rule, NULL);
    return false;
}

/* `prefix` starts each message: it names the target and, if there is one, the item. */
static void print_findings(struct progress *p, const char *target_name, const char *prefix,
                           const struct findings *findings)
{
    for (size_t i = 0; !p->options.quiet && findings && i < findings->n; i++) {
        const struct finding_rule *rule = findings->items[i].rule;
        if ((rule->severity != FINDING_NOTE || p->options.verbose) && !was_printed(p, target_name, rule))
            message_print_to(prepare_output(p), "%s: %s", prefix, findings->items[i].text);
    }
}

void progress_print(struct progress *p, const char *line)
{
    pthread_mutex_lock(&p->mutex);
    if (!p->options.quiet)
        message_print_to(prepare_output(p), "%s", line);
    pthread_mutex_unlock(&p->mutex);
}

void progress_show_opening(struct progress *p, const struct host *host)
{
    pthread_mutex_lock(&p->mutex);
    struct progress_line *l = begin_line(p, host, NULL, "");
    if (l)
        l->step = "connecting";
    pthread_mutex_unlock(&p->mutex);
}

static void print_connected(struct progress *p, const struct host *host, const struct gateway *gw)
{
    const struct gateway_hop *hop = NULL;
    for (size_t i = 0; gateway_hop(gw, i); i++)
        hop = gateway_hop(gw, i);
    if (hop && !p->options.quiet)
        message_print_to(prepare_output(p), "%s: connected to %s port %u as %s", host->name, hop->address,
                         hop->port, hop->user);
}

void progress_show_host(struct progress *p, const struct host *host, const struct gateway *gw,
                        const struct err *failure)
{
    pthread_mutex_lock(&p->mutex);
    end_line(p, host, NULL, "");
    if (failure) {
        print_error(p, host->name, failure);
    } else {
        struct progress_line *l = begin_line(p, host, NULL, "");
        if (l)
            l->step = "reading the index";
        print_connected(p, host, gw);
    }
    pthread_mutex_unlock(&p->mutex);
}

void progress_show_service(struct progress *p, const struct target *target,
                           const struct fetch_service_report *s)
{
    char target_name[600];
    pthread_mutex_lock(&p->mutex);
    end_line(p, target->host, NULL, "");
    name_target(target, target_name, sizeof target_name);
    if (s->failure)
        print_error(p, target_name, s->failure);
    print_findings(p, target_name, target_name, s->findings);
    pthread_mutex_unlock(&p->mutex);
}

void progress_show_item(struct progress *p, const struct target *target, const struct fetch_item *item)
{
    char target_name[600], prefix[900], size[32], took[32];
    pthread_mutex_lock(&p->mutex);
    end_line(p, target->host, target->service, item->kind);
    name_target(target, target_name, sizeof target_name);
    snprintf(prefix, sizeof prefix, "%s: %s%s%s%s", target_name, item->kind, *item->argument ? "=" : "",
             item->argument, item->pair == 2 ? ", later" : "");
    if (item->status != FETCH_OK)
        print_error(p, prefix, &item->err);
    else if (!p->options.quiet)
        message_print_to(prepare_output(p), "%s: %s in %s", prefix,
                         text_bytes(size, sizeof size, item->bytes),
                         text_duration(took, sizeof took, item->duration_ms));
    print_findings(p, target_name, prefix, &item->findings);
    pthread_mutex_unlock(&p->mutex);
}

/* Prints a line when an item starts, and when it starts to wait. `before` is its live line so far; NULL: the
 * item is new. */
static void print_start(struct progress *p, const struct target *target, const struct fetch_progress *now,
                        const struct progress_line *before)
{
    char target_name[600], timed[32];
    if (p->options.quiet)
        return;
    name_target(target, target_name, sizeof target_name);
    if (!before && now->cost)
        message_print_to(prepare_output(p), "%s: %s: %s", target_name, now->kind, now->cost);
    if (p->live)
        return;
    if (now->waiting && !now->wait_is_usual && (!before || !before->waiting))
        message_print_to(prepare_output(p), "%s: %s: waiting: %s", target_name, now->kind, now->waiting);
    /* Without live lines, announce only items with a duration: the others end soon. */
    if (!now->waiting && now->timed_ms > 0 && (!before || before->waiting))
        message_print_to(prepare_output(p), "%s: %s: taking %s", target_name, now->kind,
                         text_duration(timed, sizeof timed, now->timed_ms));
}

void progress_show_transfer(struct progress *p, const struct target *target, const struct fetch_progress *now)
{
    pthread_mutex_lock(&p->mutex);
    end_line(p, target->host, NULL, "");
    struct progress_line *l = find_busy_line(p, target->host, target->service, now->kind);
    print_start(p, target, now, l);
    if (!l)
        l = begin_line(p, target->host, target->service, now->kind);
    if (l) {
        l->since = clock_now() - now->elapsed_ms;
        l->timed_ms = now->timed_ms;
        l->bytes = now->bytes;
        l->waiting = now->waiting;
        l->index = now->index;
        l->n_items = now->n_items;
    }
    pthread_mutex_unlock(&p->mutex);
}

void progress_show_step(struct progress *p, const struct host *host, const struct service *service,
                        const struct fetch_step *step)
{
    char took[32];
    struct buf b = BUF_INIT(4096);
    if (!p->options.verbose && (p->options.quiet || !step->always_print))
        return;
    buf_addf(&b, "%s: ", host->name);
    if (service)
        buf_addf(&b, "%s: ", service->name);
    if (step->n_hops > 1)
        buf_addf(&b, "[hop %zu/%zu] ", step->hop + 1, step->n_hops);
    /* The detail of a request starts with its method and path: no name of the step is needed. */
    if (step->kind != FETCH_STEP_REQUEST)
        buf_addf(&b, "%s: ", fetch_step_name(step->kind));
    buf_addf(&b, "%s%s", step->warning ? "warning: " : "", step->detail);
    if (step->failure)
        buf_addf(&b, "%s%s", *step->detail ? ": " : "", step->failure->msg);
    if (step->duration_ms > 0)
        buf_addf(&b, "%s%s", step->failure ? ", after " : " in ",
                 text_duration(took, sizeof took, step->duration_ms));
    pthread_mutex_lock(&p->mutex);
    message_print_to(prepare_output(p), "%s", buf_str(&b));
    pthread_mutex_unlock(&p->mutex);
    buf_release(&b);
}
