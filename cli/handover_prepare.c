/* What a hand-over is to be, and all that can be known of it before anything is made. */
#include "cli/handover_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/crypt.h"
#include "cli/term/signals.h"
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
        {"issue-label", o->labels.n > 0},
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
        if (seal_add_recipient(h->recipients, o->encrypt_to.items[i], err) < 0)
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
                        : o->labels.n         ? "issue-label"
                        : o->assignees.n      ? "assignee"
                        : o->plaintext_i_know ? "plaintext-i-know"
                                              : NULL;
    if (!stray)
        return 0;
    err_set(err, ERR_USAGE, "--%s has no meaning: team %s has no tracker", stray, h->team->name);
    return err_hint(err, "--to TRACKER:PROJECT says where to");
}

static int find_team(const struct inventory *inventory, const char *name, const struct team **ret,
                     struct err *err)
{
    if (!strchr(name, ','))
        return inventory_team(inventory, name, ret, err);
    err_set(err, ERR_USAGE, "--for takes one team, not \"%.60s\"", name);
    return err_hint(err,
                    "each gets an issue of its own: hand it over to the first, then `profgrab attach` it "
                    "to the next");
}

static int resolve(const struct inventory *inventory, struct handover *h, struct err *err)
{
    const struct handover_options *o = h->options;
    if (o->team && find_team(inventory, o->team, &h->team, err) < 0)
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

/* ---- what can be known before -------------------------------------------------------------------------- */

int handover_not_signed(const struct handover *h, struct err *err)
{
    return err_wrap(err, "team %s takes no bundle without a signature", h->team->name);
}

struct sshsig_signer handover_signer(const struct handover *h, struct prompt *prompt)
{
    return (struct sshsig_signer){.key = h->self->sign_with,
                                  .agent = getenv("SSH_AUTH_SOCK"),
                                  .agent_ms = AGENT_MS,
                                  .ask = prompt_ask,
                                  .ask_ctx = prompt,
                                  .ask_ms = GATEWAY_ASK_MS,
                                  .cancel_fd = signals_cancel_fd()};
}

static int check_signature(const struct handover *h, struct err *err)
{
    if (!h->team || !h->team->signature_required)
        return 0;
    if (!h->self->sign_with) {
        err_set(err, ERR_USAGE, "no key to sign with");
        err_hint(err, "name one in the inventory: self: { sign_with: ~/.ssh/id_ed25519.pub }");
        return handover_not_signed(h, err);
    }
    const struct sshsig_signer signer = handover_signer(h, NULL);
    return sshsig_look(&signer, err) < 0 ? handover_not_signed(h, err) : 0;
}

struct handoff_request handover_request(const struct handover *h)
{
    return (struct handoff_request){.tracker = h->tracker,
                                    .project = h->project,
                                    .issue = h->issue,
                                    .encrypted = h->recipients != NULL,
                                    .title = h->options->title,
                                    .labels = h->labels,
                                    .assignees = h->assignees};
}

static int check_tracker(const struct handover *h, struct err *err)
{
    const struct tracker *t = h->tracker;
    const struct handoff_request request = handover_request(h);
    const struct handoff_options options = {.plaintext_i_know = h->options->plaintext_i_know};
    if (handoff_check(&request, &options, err) < 0)
        return -1;
    if (h->options->dry_run)
        return 0;
    if (secret_check(&t->token, err) < 0)
        return err_wrap(err, "%s: the token", t->name);
    int ca = t->ca ? file_open(t->ca, err) : -1;
    if (t->ca && ca < 0)
        return err_wrap(err, "%s: the authorities", t->name);
    fd_close(&ca);
    return 0;
}

int handover_prepare(const struct handover_options *o, const struct inventory *inventory,
                     struct handover *ret, struct err *err)
{
    *ret = (struct handover){.options = o, .self = inventory_self(inventory)};
    if (resolve(inventory, ret, err) == 0 && check_signature(ret, err) == 0 &&
        (!ret->tracker || check_tracker(ret, err) == 0))
        return 0;
    /* Another line or another inventory is needed, whatever is wrong with this one. */
    err->kind = ERR_USAGE;
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
