#include "cli/bundle/handoff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args/quote.h"
#include "cli/input/input.h"
#include "capture/capture.h"
#include "cli/term/exit.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "http/http.h"
#include "gateway/gateway.h"
#include "page/page.h"
#include "base/banned.h"

/* ---- events of the delivery ---------------------------------------------------------------------------- */

struct reporter {
    const struct delivery *delivery;
    const struct handoff_caller *caller;
    char copy[500]; /* the copy's path, for a message; "" before the copy has a name */
};

static bool is_listed(const struct strlist *l, const char *line)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], line) == 0)
            return true;
    return false;
}

/* Prints the members that redaction does not search, because of their kind. */
static void print_unsearched(const struct bundle_copy_result *c)
{
    enum { MAX_PRINTED = 20 };
    size_t printed = 0, others = c->unsearched - c->failed_searches.n;
    for (size_t i = 0; i < c->unsearched_files.n && printed < MAX_PRINTED; i++)
        if (!is_listed(&c->failed_searches, c->unsearched_files.items[i])) {
            message_print("not searched for secrets: %s", c->unsearched_files.items[i]);
            printed++;
        }
    if (others > printed)
        message_print("not searched for secrets: %zu more, which README.md in the copy lists",
                      others - printed);
}

static void print_copy(const struct delivery *d, const struct bundle_copy_result *c)
{
    char size[32];
    size_t n = d->recipients ? age_recipients_count(d->recipients) : 0;
    text_bytes(size, sizeof size, c->bytes);
    if (n > 0)
        message_print("%s: %s, encrypted to %zu recipient%s%s%s", c->path, size, n, text_plural_s(n),
                      *c->fingerprint ? ", signed with " : "", c->fingerprint);
    else
        message_print("%s: %s, in plain text%s%s", c->path, size, *c->fingerprint ? ", signed with " : "",
                      c->fingerprint);
    if (c->redactions > 0)
        message_print(
            "%llu value%s removed from the manifest and %zu file%s: README.md in the copy lists them",
            (unsigned long long)c->redactions, c->redactions == 1 ? " was" : "s were", c->changed,
            text_plural_s(c->changed));
    print_unsearched(c);
    if (n > 0 && d->self->recipients.n == 0)
        message_print("you cannot read this copy yourself: the inventory has no self: { recipients: [...] }");
}

/* Prints, even with --quiet, that the copy has no page, and the members whose search for secrets failed. The
 * copy contains these members unchanged. */
static void print_copy_faults(const struct bundle_copy_result *c)
{
    if (c->page_error.kind != ERR_NONE)
        message_print("the copy has no report.html: %s", c->page_error.msg);
    for (size_t i = 0; i < c->failed_searches.n; i++)
        message_print("not searched for secrets, and handed off unchanged: %s", c->failed_searches.items[i]);
}

/* Returns the most data that may have left the workstation once a step has begun. */
static enum handoff_sent max_sent(enum handoff_step step)
{
    if (step < HANDOFF_CREATE)
        return HANDOFF_SENT_NOTHING;
    if (step < HANDOFF_UPLOAD)
        return HANDOFF_SENT_ISSUE;
    if (step == HANDOFF_UPLOAD)
        return HANDOFF_SENT_FILE_UNKNOWN;
    return step < HANDOFF_NOTE ? HANDOFF_SENT_FILE : HANDOFF_SENT_SUMMARY_UNKNOWN;
}

/* Sets the lines that the second Ctrl-C prints. They name the copy only if it has a name, because exiting
 * removes an unnamed copy. */
static void set_exit_text(const struct reporter *r, enum handoff_step step)
{
    char line[1000], sent[HANDOFF_SENT_TEXT];
    const struct delivery *d = r->delivery;
    const struct handoff_result so_far = {.sent = max_sent(step),
                                          .encrypted =
                                              d->recipients && age_recipients_count(d->recipients) > 0,
                                          .titled = d->options->title};
    snprintf(line, sizeof line, "\nprofgrab: exited at once; the bundle is safe in %.300s%s%.300s%s%s\n",
             r->caller->bundle, *r->copy ? ", its copy is " : "", r->copy, d->tracker ? "\nprofgrab: " : "",
             d->tracker ? handoff_sent_text(&so_far, sent, sizeof sent) : "");
    signals_set_exit_text(line);
}

static void print_missing_tracker(const struct delivery *d, const char *copy)
{
    if (d->options->dry_run)
        message_print(
            "team %s has no tracker: you would have to send it the copy, which this dry run removes",
            d->team->name);
    else
        message_print("team %s has no tracker: send it %s", d->team->name, copy);
}

static void on_copied(void *ctx, const struct bundle_copy_result *copy)
{
    struct reporter *r = ctx;
    if (copy->signing_error.kind != ERR_NONE)
        message_print("the copy is not signed: %s", copy->signing_error.msg);
    if (!r->caller->quiet)
        print_copy(r->delivery, copy);
    print_copy_faults(copy);
    snprintf(r->copy, sizeof r->copy, "%s", copy->path ? copy->path : "");
    set_exit_text(r, HANDOFF_READ_PLACE);
    if (!r->delivery->tracker)
        print_missing_tracker(r->delivery, copy->path);
}

static void on_title_redacted(void *ctx, const char *title)
{
    (void)ctx;
    message_print("the title contains text that looks like a secret, and is sent as \"%s\"", title);
}

static void on_step(void *ctx, enum handoff_step step, enum handoff_outcome outcome, const char *text)
{
    const struct reporter *r = ctx;
    if (outcome == HANDOFF_NOT_REACHED)
        set_exit_text(r, step);
    if (r->caller->quiet)
        return;
    if (outcome == HANDOFF_DONE && *text)
        message_print("%s: %s", handoff_step_label(step), text);
    else if (outcome == HANDOFF_UNKNOWN)
        message_print("%s: result unknown: %s", handoff_step_label(step), text);
}

static void on_waiting(void *ctx, int64_t ms, const char *because)
{
    char text[32];
    (void)ctx;
    message_print("waiting %s: %s", text_duration(text, sizeof text, ms), because);
}

static void on_dry_request(void *ctx, const struct http_dry_request *request)
{
    const struct reporter *r = ctx;
    fprintf(r->caller->json ? stderr : stdout, "%s %s%s%s\n", request->method, request->url,
            *request->body ? "  " : "", request->body);
}

/* ---- the command to repeat ----------------------------------------------------------------------------- */

static void add_option(struct buf *line, const char *name, const char *value)
{
    if (!value)
        return;
    buf_addf(line, " --%s ", name);
    quote_add_word(line, value);
}

static void add_options(struct buf *line, const char *name, const struct strlist *values)
{
    for (size_t i = 0; i < values->n; i++)
        add_option(line, name, values->items[i]);
}

void handoff_print_repeat(const struct delivery *d, const struct handoff_caller *caller,
                          struct handoff_report *ret)
{
    const struct delivery_options *o = d->options;
    struct buf line = BUF_INIT(8192);
    buf_adds(&line, "profgrab attach ");
    quote_add_word(&line, caller->bundle);
    add_option(&line, "for", o->team);
    add_option(&line, "to", o->to);
    add_option(&line, "inventory", caller->inventory);
    add_option(&line, "title", o->title);
    add_options(&line, "encrypt-to", &o->encrypt_to);
    add_options(&line, "issue-label", &o->labels);
    add_options(&line, "assignee", &o->assignees);
    add_options(&line, "redact-label", &o->redact_labels);
    if (o->plaintext_i_know)
        buf_adds(&line, " --plaintext-i-know");
    if (o->dry_run)
        buf_adds(&line, " --dry-run");
    message_print("the bundle is safe in %s; to repeat the hand-off: %s", caller->bundle, buf_str(&line));
    free(ret->repeat);
    ret->repeat = buf_detach(&line);
    buf_release(&line);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int run_delivery(const struct delivery *d, const struct handoff_caller *caller,
                        struct delivery_result *ret, struct err *err)
{
    static const struct page_notes notes = {message_print_line, NULL};
    struct record_collector collector;
    struct reporter reporter = {.delivery = d, .caller = caller};
    record_read_collector(&collector);
    const struct delivery_run run = {.bundle = caller->bundle,
                                     .user = collector.user,
                                     .workstation = collector.workstation,
                                     .draw = page_build_copy,
                                     .draw_ctx = &notes,
                                     .copy_cpu_ms = confined_copy_limit_ms(input_size(caller->bundle)),
                                     .ask = prompt_ask,
                                     .ask_ctx = caller->prompt,
                                     .ask_ms = GATEWAY_ASK_MS,
                                     .cancel_fd = signals_cancel_fd(),
                                     .copied = on_copied,
                                     .title_redacted = on_title_redacted,
                                     .step = d->options->dry_run ? NULL : on_step,
                                     .waiting = caller->quiet ? NULL : on_waiting,
                                     .dry_request = on_dry_request,
                                     .ctx = &reporter};
    set_exit_text(&reporter, HANDOFF_READ_PLACE);
    if (http_global_init(err) < 0)
        return -1;
    int rc = delivery_run(d, &run, ret, err);
    http_global_cleanup();
    return rc;
}

static void print_address(const struct delivery_result *r)
{
    if (r->attached)
        printf("%s\n", r->handoff.issue_url);
    else if (r->copy)
        printf("%s\n", r->copy);
}

static void print_failure(const struct delivery *d, const struct delivery_result *r, const struct err *err)
{
    char sent[HANDOFF_SENT_TEXT];
    message_print_error(stderr, err);
    if (d->tracker)
        message_print("%s", handoff_sent_text(&r->handoff, sent, sizeof sent));
    if (*r->handoff.issue_url)
        message_print("the issue is %s", r->handoff.issue_url);
    if (r->copy)
        message_print("the copy that was handed off is %s", r->copy);
}

int handoff_command(const struct delivery *d, const struct handoff_caller *caller, struct handoff_report *ret)
{
    *ret = (struct handoff_report){0};
    if (run_delivery(d, caller, &ret->result, &ret->failure) == 0) {
        if (!caller->json)
            print_address(&ret->result);
        return EXIT_OK;
    }
    const struct err *failure = &ret->failure;
    /* The same command would fail again after a usage error, so do not print it. */
    bool is_usage_error = failure->kind == ERR_USAGE && ret->result.handoff.sent == HANDOFF_SENT_NOTHING;
    int code = is_usage_error || failure->kind == ERR_CANCELLED ? exit_status_of(failure) : EXIT_HANDOFF;
    print_failure(d, &ret->result, failure);
    if (!is_usage_error)
        handoff_print_repeat(d, caller, ret);
    return code;
}

void handoff_report_release(struct handoff_report *r)
{
    delivery_result_release(&r->result);
    free(r->repeat);
    *r = (struct handoff_report){0};
}
