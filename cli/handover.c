#include "cli/handover.h"

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

#define AGENT_MS 10000

/* ---- what is asked for --------------------------------------------------------------------------------- */

/* The first option that only says how; NULL: there is none. */
static const char *first_detail(const struct handover_options *o)
{
    const struct {
        const char *name;
        bool given;
    } details[] = {
        {"encrypt-to", o->encrypt_to.n > 0},
        {"title", o->title != NULL},
        {"label", o->labels.n > 0},
        {"assignee", o->assignees.n > 0},
        {"redact-label", o->redact_labels.n > 0},
        {"plaintext-i-know", o->plaintext_i_know},
        {"dry-run", o->dry_run},
    };
    for (size_t i = 0; i < sizeof details / sizeof *details; i++)
        if (details[i].given)
            return details[i].name;
    return NULL;
}

int handover_wanted(const struct handover_options *o, bool *ret, struct err *err)
{
    const char *detail = first_detail(o);
    *ret = o->team || o->to;
    if (*ret || !detail)
        return 0;
    err_set(err, ERR_USAGE, "--%s has no meaning without --for or --to", detail);
    return err_hint(err, "--for TEAM hands the bundle over to a team of the inventory");
}

void handover_options_release(struct handover_options *o)
{
    strlist_release(&o->encrypt_to);
    strlist_release(&o->labels);
    strlist_release(&o->assignees);
    strlist_release(&o->redact_labels);
}

static int bad_place(const char *place, struct err *err)
{
    err_set(err, ERR_USAGE, "--to %.200s is no place", place);
    return err_hint(err, "TRACKER:PROJECT or TRACKER:PROJECT#ISSUE, with a tracker of the inventory");
}

/* TRACKER:PROJECT[#ISSUE] */
static int read_place(const char *place, const struct inventory *inventory, struct handover *h,
                      struct err *err)
{
    const char *colon = strchr(place, ':'), *hash = strrchr(place, '#');
    if (!colon || colon == place)
        return bad_place(place, err);
    const char *project = colon + 1, *end = hash && hash > colon ? hash : place + strlen(place);
    if (end == project || (*end && (!end[1] || end[1 + strspn(end + 1, "0123456789")])))
        return bad_place(place, err);
    char *name = strndup(place, (size_t)(colon - place));
    h->project = strndup(project, (size_t)(end - project));
    if (*end)
        h->issue = strdup(end + 1);
    int rc = name && h->project && (h->issue || !*end) ? inventory_tracker(inventory, name, &h->tracker, err)
                                                       : err_nomem(err);
    free(name);
    return rc;
}

static int add_recipients(struct age_recipients *to, const struct recipient_list *l,
                          const struct inventory *inventory, struct err *err)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct recipient *r = &l->items[i];
        char where[300];
        snprintf(where, sizeof where, "%s:%zu", inventory_path(inventory), r->line);
        if (r->file ? age_recipients_add_file(to, r->text, err) < 0
                    : age_recipients_add(to, r->text, where, err) < 0)
            return -1;
    }
    return 0;
}

static int read_recipients(struct handover *h, const struct inventory *inventory, struct err *err)
{
    const struct handover_options *o = h->options;
    if (!h->team && o->encrypt_to.n == 0)
        return 0;
    if (age_recipients_new(&h->recipients, err) < 0)
        return -1;
    if (h->team && add_recipients(h->recipients, &h->team->recipients, inventory, err) < 0)
        return -1;
    for (size_t i = 0; i < o->encrypt_to.n; i++)
        if (age_recipients_add_any(h->recipients, o->encrypt_to.items[i], "--encrypt-to", err) < 0)
            return -1;
    return add_recipients(h->recipients, &h->self->recipients, inventory, err);
}

static int take_words(struct strlist *into, const struct strlist *from, struct err *err)
{
    for (size_t i = 0; i < from->n; i++)
        if (strlist_add(into, from->items[i], err) < 0)
            return -1;
    return 0;
}

/* What only an issue has. */
static int no_issue(const struct handover *h, struct err *err)
{
    const struct handover_options *o = h->options;
    const char *stray = o->title              ? "title"
                        : o->labels.n         ? "label"
                        : o->assignees.n      ? "assignee"
                        : o->plaintext_i_know ? "plaintext-i-know"
                                              : NULL;
    if (!stray)
        return 0;
    err_set(err, ERR_USAGE, "--%s has no meaning: team %s has no tracker", stray, h->team->name);
    return err_hint(err, "--to TRACKER:PROJECT says where to");
}

static int resolve(const struct inventory *inventory, struct handover *h, struct err *err)
{
    const struct handover_options *o = h->options;
    if (o->team && inventory_team(inventory, o->team, &h->team, err) < 0)
        return -1;
    if (o->to && read_place(o->to, inventory, h, err) < 0)
        return -1;
    if (!o->to && h->team->tracker) {
        h->tracker = h->team->tracker;
        if (!(h->project = strdup(h->team->project)))
            return err_nomem(err);
    }
    if (!h->tracker && no_issue(h, err) < 0)
        return -1;
    /* A team's labels and people are those of new issues in its own project. */
    bool own = !h->issue && h->team && h->tracker == h->team->tracker && h->tracker &&
               strcmp(h->project, h->team->project) == 0;
    if ((own && take_words(&h->labels, &h->team->labels, err) < 0) ||
        take_words(&h->labels, &o->labels, err) < 0 ||
        take_words(&h->assignees, o->assignees.n || !own ? &o->assignees : &h->team->assignees, err) < 0)
        return -1;
    return read_recipients(h, inventory, err);
}

int handover_prepare(const struct handover_options *o, const struct inventory *inventory,
                     struct handover *ret, struct err *err)
{
    *ret = (struct handover){.options = o, .self = inventory_self(inventory)};
    if (resolve(inventory, ret, err) == 0)
        return 0;
    handover_release(ret);
    return -1;
}

void handover_release(struct handover *h)
{
    age_recipients_free(h->recipients);
    free(h->project);
    free(h->issue);
    strlist_release(&h->labels);
    strlist_release(&h->assignees);
    *h = (struct handover){0};
}

/* ---- the copy ------------------------------------------------------------------------------------------ */

/* The agent or the file does not have the key, or nobody answers. */
static bool is_no_signature(const struct err *err)
{
    return err->kind == ERR_NOT_FOUND || err->kind == ERR_TIMEOUT || err->kind == ERR_USAGE;
}

static int copy_with(struct bundle_copy *how, const struct sshsig_signer *signer, struct bundle_copied *ret,
                     struct err *err)
{
    how->signer = signer;
    return bundle_copy(how, ret, err);
}

static int not_signed(const struct handover *h, struct err *err)
{
    err_wrap(err, "team %s takes no bundle without a signature", h->team->name);
    return -1;
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
    const struct sshsig_signer signer = {.key = h->self->sign_with,
                                         .agent = getenv("SSH_AUTH_SOCK"),
                                         .agent_ms = AGENT_MS,
                                         .ask = prompt_ask,
                                         .ask_ctx = run->prompt,
                                         .ask_ms = GATEWAY_ASK_MS,
                                         .cancel_fd = signals_cancel_fd()};
    bool required = h->team && h->team->signature_required;
    if (!signer.key) {
        if (!required)
            return copy_with(&how, NULL, ret, err);
        err_set(err, ERR_USAGE, "no key to sign with");
        err_hint(err, "name one in the inventory: self: { sign_with: ~/.ssh/id_ed25519.pub }");
        return not_signed(h, err);
    }
    struct err why = ERR_INIT;
    if (copy_with(&how, &signer, ret, &why) == 0)
        return 0;
    if (required || why.kind == ERR_CANCELLED) {
        *err = why;
        return is_no_signature(&why) ? not_signed(h, err) : -1;
    }
    /* Whatever but the signature kept it from being made does so again, and is said then. */
    if (copy_with(&how, NULL, ret, err) < 0)
        return -1;
    talk("the copy is not signed: %s", why.msg);
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
    if (n > 0 && h->self->recipients.n == 0)
        talk("you cannot read this copy yourself: the inventory has no self: { recipients: [...] }");
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
    if (digest_read(run->bundle, ret->copy, h->recipients != NULL, &digest, err) < 0)
        return -1;
    struct handoff_request request = {.tracker = h->tracker,
                                      .project = h->project,
                                      .issue = h->issue,
                                      .file = ret->copy,
                                      .encrypted = h->recipients != NULL,
                                      .title = o->title,
                                      .summary = digest.summary,
                                      .reading = digest.reading,
                                      .labels = h->labels,
                                      .assignees = h->assignees};
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
    if (make_copy(h, run, &copied, err) < 0)
        return -1;
    ret->copy = copied.path;
    if (!run->quiet)
        say_copy(h, &copied);
    if (!h->tracker) {
        if (h->options->dry_run)
            drop_copy(ret);
        else
            talk("team %s has no tracker: send it %s", h->team->name, ret->copy);
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

void handover_say_repeat(const struct handover *h, const char *inventory, const char *bundle)
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
        add_option(&line, "label", o->labels.items[i]);
    for (size_t i = 0; i < o->assignees.n; i++)
        add_option(&line, "assignee", o->assignees.items[i]);
    for (size_t i = 0; i < o->redact_labels.n; i++)
        add_option(&line, "redact-label", o->redact_labels.items[i]);
    if (o->plaintext_i_know)
        buf_adds(&line, " --plaintext-i-know");
    if (o->dry_run)
        buf_adds(&line, " --dry-run");
    talk("the bundle is safe in %s; again: %s", bundle, buf_str(&line));
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
                     struct handover_result *ret, struct err *err)
{
    if (handover_run(h, run, ret, err) == 0) {
        if (!run->silent)
            print(ret);
        return EXIT_OK;
    }
    /* What cannot be right needs another line, not the same again. */
    bool usage = err->kind == ERR_USAGE && ret->handoff.left == HANDOFF_LEFT_NOTHING;
    int code = usage || err->kind == ERR_CANCELLED ? exit_status_of(err) : EXIT_HANDOFF;
    say_failure(h, ret, err);
    if (!usage)
        handover_say_repeat(h, inventory, run->bundle);
    *err = (struct err)ERR_INIT;
    return code;
}
