#include "cli/handover_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/digest.h"
#include "cli/exit.h"
#include "cli/record.h"
#include "cli/shell.h"
#include "cli/signals.h"
#include "cli/talk.h"
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
                              .labels = &h->options->redact_labels,
                              .to = h->recipients,
                              .cancel_fd = signals_cancel_fd()};
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
        talk("%llu value%s taken out of %zu file%s: `profgrab bundle verify` lists them",
             (unsigned long long)c->redactions, c->redactions == 1 ? " was" : "s were", c->changed,
             c->changed == 1 ? "" : "s");
    size_t others = c->unsearched - c->unsearchable.n;
    if (others > 0)
        talk("%zu file%s of a kind that is not searched for secrets: README.md in it lists %s", others,
             others == 1 ? " is" : "s are", others == 1 ? "it" : "them");
    if (n > 0 && h->self->recipients.n == 0)
        talk("you cannot read this copy yourself: the inventory has no self: { recipients: [...] }");
}

/* These go all the same, so that it is said even to who wants to hear nothing. */
static void say_unsearchable(const struct bundle_copied *c)
{
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

static int attach(const struct handover *h, const struct handover_run *run, struct handover_result *ret,
                  struct err *err)
{
    const struct handover_options *o = h->options;
    struct digest digest = {0};
    if (digest_read(run->bundle, h->recipients != NULL, &digest, err) < 0)
        return -1;
    struct handoff_request request = handover_request(h);
    request.file = ret->copy;
    request.summary = digest.summary;
    request.reading = digest.reading;
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
    bundle_copied_release(&copied);
    prepare_farewell(run->bundle, ret->copy);
    if (!h->tracker) {
        if (h->options->dry_run) {
            talk("team %s has no tracker: that would be the file to send it, and is removed again",
                 h->team->name);
            drop_copy(ret);
        } else {
            talk("team %s has no tracker: send it %s", h->team->name, ret->copy);
        }
        return 0;
    }
    int rc = attach(h, run, ret, err);
    ret->attached = rc == 0 && !h->options->dry_run;
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
