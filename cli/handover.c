#include "cli/handover_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/input/confined.h"
#include "cli/digest.h"
#include "cli/drawing.h"
#include "cli/term/exit.h"
#include "cli/record.h"
#include "cli/args/shell.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "cli/term/talk.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* ---- the copy ------------------------------------------------------------------------------------------ */

/* The agent or the file does not have the key, or nobody answers. */
static bool is_no_signature(const struct err *err)
{
    return err->kind == ERR_NOT_FOUND || err->kind == ERR_TIMEOUT || err->kind == ERR_USAGE;
}

/* Often all that is missing is a passphrase, and somebody to type it. */
static int no_key(const struct handover *h, struct err *err)
{
    if (err->kind == ERR_NOT_FOUND && !*err->hint)
        err_hint(err, "ssh-add the key of %s, or name a file with its passphrase: --passphrase-file FILE",
                 h->self->sign_with);
    return handover_not_signed(h, err);
}

static int make_copy(const struct handover *h, const struct handover_run *run, struct bundle_copied *ret,
                     struct err *err)
{
    struct record_collector who;
    record_collector(&who);
    struct bundle_copy how = {.bundle = run->bundle,
                              .user = who.user,
                              .workstation = who.workstation,
                              .redact = true,
                              .draw = drawing_coming,
                              .labels = &h->options->redact_labels,
                              .to = h->recipients,
                              .cancel_fd = signals_cancel_fd(),
                              .cpu_ms = confined_copy_ms(input_size(run->bundle))};
    const struct sshsig_signer signer = handover_signer(h, run->prompt);
    how.signer = signer.key ? &signer : NULL;
    how.signature_optional = !h->team || !h->team->signature_required;
    if (bundle_copy(&how, ret, err) < 0) {
        if (err->kind == ERR_LOCAL_IO && !*err->hint)
            err_hint(err, "the copy is made beside the bundle: make room there, or take the bundle to where "
                          "there is some");
        return how.signer && !how.signature_optional && is_no_signature(err) ? no_key(h, err) : -1;
    }
    if (ret->unsigned_because.kind != ERR_NONE)
        talk("the copy is not signed: %s", ret->unsigned_because.msg);
    return 0;
}

static bool is_listed(const struct strlist *l, const char *line)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], line) == 0)
            return true;
    return false;
}

/* What is of a kind that no rule looks into. */
static void say_unsearched(const struct bundle_copied *c)
{
    enum { MOST = 20 };
    size_t said = 0, others = c->unsearched - c->unsearchable.n;
    for (size_t i = 0; i < c->unsearched_files.n && said < MOST; i++)
        if (!is_listed(&c->unsearchable, c->unsearched_files.items[i])) {
            talk("not searched for secrets: %s", c->unsearched_files.items[i]);
            said++;
        }
    if (others > said)
        talk("not searched for secrets: %zu more, which README.md in the copy lists", others - said);
}

static void say_copy(const struct handover *h, const struct bundle_copied *c)
{
    char size[32];
    size_t n = h->recipients ? age_recipients_count(h->recipients) : 0;
    text_bytes(size, sizeof size, c->bytes);
    if (n > 0)
        talk("%s: %s, encrypted to %zu recipient%s%s%s", c->path, size, n, n == 1 ? "" : "s",
             *c->fingerprint ? ", signed with " : "", c->fingerprint);
    else
        talk("%s: %s, in plain text%s%s", c->path, size, *c->fingerprint ? ", signed with " : "",
             c->fingerprint);
    if (c->redactions > 0)
        talk("%llu value%s taken out of the manifest and %zu file%s: README.md in the copy lists them",
             (unsigned long long)c->redactions, c->redactions == 1 ? " was" : "s were", c->changed,
             c->changed == 1 ? "" : "s");
    say_unsearched(c);
    if (n > 0 && h->self->recipients.n == 0)
        talk("you cannot read this copy yourself: the inventory has no self: { recipients: [...] }");
}

/* These go all the same, so it is said with --quiet too. */
static void say_unsearchable(const struct bundle_copied *c)
{
    if (c->undrawn.kind != ERR_NONE)
        talk("the copy has no report.html: %s", c->undrawn.msg);
    for (size_t i = 0; i < c->unsearchable.n; i++)
        talk("not searched for secrets, and handed over as it is: %s", c->unsearchable.items[i]);
}

/* What the second Ctrl-C says. A copy without a name goes by itself. */
static void prepare_farewell(const char *bundle, const char *copy)
{
    char line[1000];
    snprintf(line, sizeof line, "\nprofgrab: left at once; the bundle is safe in %s%s%s\n", bundle,
             copy ? ", its copy is " : "", copy ? copy : "");
    signals_farewell(line);
}

/* ---- on its way ---------------------------------------------------------------------------------------- */

static void on_step(void *ctx, enum handoff_step step, enum handoff_outcome outcome, const char *text)
{
    (void)ctx;
    if (outcome == HANDOFF_DONE && *text)
        talk("%s: %s", handoff_step_name(step), text);
    else if (outcome == HANDOFF_UNKNOWN)
        talk("%s: not known: %s", handoff_step_name(step), text);
}

static void on_waiting(void *ctx, int64_t ms, const char *because)
{
    char text[32];
    (void)ctx;
    talk("waiting %s: %s", text_duration(text, sizeof text, ms), because);
}

static void on_request(void *ctx, const struct handoff_would *would)
{
    fprintf(ctx, "%s %s%s%s\n", would->method, would->url, *would->what ? "  " : "", would->what);
}

/* Words of the user's own are read before the issue is known to be confidential. */
static int redact_title(const char *title, char **ret, struct err *err)
{
    if (!title)
        return 0;
    if (bundle_redact_line(title, ret, err) < 0)
        return -1;
    if (strcmp(title, *ret) != 0)
        talk("the title holds what looks like a secret, and is sent as \"%s\"", *ret);
    return 0;
}

static int send_copy(const struct handover *h, const struct handover_run *run, const struct digest *digest,
                     struct handover_result *ret, struct err *err)
{
    const struct handover_options *o = h->options;
    struct handoff_request request = handover_request(h);
    char *title = NULL;
    if (redact_title(request.title, &title, err) < 0)
        return -1;
    request.title = title;
    request.file = ret->copy;
    request.summary = digest->summary;
    request.reading = digest->reading;
    struct handoff_options options = {.plaintext_i_know = o->plaintext_i_know,
                                      .dry_run = o->dry_run,
                                      .cancel_fd = signals_cancel_fd(),
                                      .step = run->quiet || o->dry_run ? NULL : on_step,
                                      .waiting = run->quiet ? NULL : on_waiting,
                                      .would = on_request,
                                      .ctx = run->silent ? stderr : stdout};
    int rc = fetch_global_init(err);
    if (rc == 0) {
        rc = handoff_run(&request, &options, &ret->handoff, err);
        fetch_global_cleanup();
    }
    free(title);
    return rc;
}

/* `manifest`: the copy's, so that the note says no more than the copy. */
static int attach(const struct handover *h, const struct handover_run *run, const char *manifest,
                  struct handover_result *ret, struct err *err)
{
    struct digest digest = {0};
    if (digest_read(manifest, h->recipients != NULL, &digest, err) < 0)
        return err_wrap(err, "%s", run->bundle);
    int rc = send_copy(h, run, &digest, ret, err);
    digest_release(&digest);
    return rc;
}

/* A copy of which nothing left is of no use: the next try makes another. */
static void drop_copy(struct handover_result *r)
{
    file_remove(r->copy, NULL);
    free(r->copy);
    r->copy = NULL;
}

static void say_untracked(const struct handover *h, const struct handover_result *r)
{
    if (h->options->dry_run)
        talk("team %s has no tracker: that would be the file to send it, and is removed again",
             h->team->name);
    else
        talk("team %s has no tracker: send it %s", h->team->name, r->copy);
}

int handover_run(const struct handover *h, const struct handover_run *run, struct handover_result *ret,
                 struct err *err)
{
    struct bundle_copied copied = {0};
    *ret = (struct handover_result){0};
    prepare_farewell(run->bundle, NULL);
    if (make_copy(h, run, &copied, err) < 0)
        return -1;
    if (!run->quiet)
        say_copy(h, &copied);
    say_unsearchable(&copied);
    ret->copy = copied.path;
    copied.path = NULL;
    prepare_farewell(run->bundle, ret->copy);
    int rc = 0;
    if (h->tracker)
        rc = attach(h, run, copied.manifest, ret, err);
    else
        say_untracked(h, ret);
    bundle_copied_release(&copied);
    ret->attached = rc == 0 && h->tracker && !h->options->dry_run;
    if (h->options->dry_run || (rc < 0 && ret->handoff.left <= HANDOFF_LEFT_ISSUE))
        drop_copy(ret);
    return rc;
}

void handover_result_release(struct handover_result *r)
{
    free(r->copy);
    free(r->repeat);
    *r = (struct handover_result){0};
}

/* ---- what came of it ----------------------------------------------------------------------------------- */

static void add_option(struct buf *line, const char *name, const char *value)
{
    if (!value)
        return;
    buf_addf(line, " --%s ", name);
    shell_add_word(line, value);
}

void handover_say_repeat(const struct handover *h, const char *inventory, const char *bundle,
                         struct handover_result *ret)
{
    const struct handover_options *o = h->options;
    struct buf line = BUF_INIT(8192);
    buf_adds(&line, "profgrab attach ");
    shell_add_word(&line, bundle);
    add_option(&line, "for", o->team);
    add_option(&line, "to", o->to);
    add_option(&line, "inventory", inventory);
    add_option(&line, "title", o->title);
    for (size_t i = 0; i < o->encrypt_to.n; i++)
        add_option(&line, "encrypt-to", o->encrypt_to.items[i]);
    for (size_t i = 0; i < o->labels.n; i++)
        add_option(&line, "issue-label", o->labels.items[i]);
    for (size_t i = 0; i < o->assignees.n; i++)
        add_option(&line, "assignee", o->assignees.items[i]);
    for (size_t i = 0; i < o->redact_labels.n; i++)
        add_option(&line, "redact-label", o->redact_labels.items[i]);
    if (o->plaintext_i_know)
        buf_adds(&line, " --plaintext-i-know");
    if (o->dry_run)
        buf_adds(&line, " --dry-run");
    talk("the bundle is safe in %s; again: %s", bundle, buf_str(&line));
    free(ret->repeat);
    ret->repeat = buf_take(&line);
    buf_release(&line);
}

static void print(const struct handover_result *r)
{
    if (r->attached)
        printf("%s\n", r->handoff.issue_url);
    else if (r->copy)
        printf("%s\n", r->copy);
}

static void say_failure(const struct handover *h, const struct handover_result *r, const struct err *err)
{
    char left[HANDOFF_LEFT_TEXT];
    talk_error(stderr, err);
    if (h->tracker)
        talk("%s", handoff_left_text(&r->handoff, left, sizeof left));
    if (*r->handoff.issue_url)
        talk("the issue is %s", r->handoff.issue_url);
    if (r->copy)
        talk("what was handed over is %s", r->copy);
}

int handover_command(const struct handover *h, const struct handover_run *run, const char *inventory,
                     struct handover_result *ret)
{
    if (handover_run(h, run, ret, &ret->why) == 0) {
        if (!run->silent)
            print(ret);
        return EXIT_OK;
    }
    const struct err *why = &ret->why;
    /* What cannot be right needs another line, not the same again. */
    bool usage = why->kind == ERR_USAGE && ret->handoff.left == HANDOFF_LEFT_NOTHING;
    int code = usage || why->kind == ERR_CANCELLED ? exit_status_of(why) : EXIT_HANDOFF;
    say_failure(h, ret, why);
    if (!usage)
        handover_say_repeat(h, inventory, run->bundle, ret);
    return code;
}
