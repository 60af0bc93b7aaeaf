/* Resolves the options of a delivery, and checks everything that needs no request. */
#include "handoff/delivery_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* The time limit of the SSH agent. */
#define AGENT_MS 10000

/* ---- the options --------------------------------------------------------------------------------------- */

/* Returns the name of the first option that has a meaning only with --for or --to; NULL: none is set. */
static const char *first_dependent_option(const struct delivery_options *o)
{
    const struct {
        const char *name;
        bool given;
    } dependent[] = {
        {"encrypt-to", o->encrypt_to.n > 0},
        {"title", o->title != NULL},
        {"issue-label", o->labels.n > 0},
        {"assignee", o->assignees.n > 0},
        {"redact-label", o->redact_labels.n > 0},
        {"plaintext-i-know", o->plaintext_i_know},
        {"dry-run", o->dry_run},
    };
    for (size_t i = 0; i < sizeof dependent / sizeof *dependent; i++)
        if (dependent[i].given)
            return dependent[i].name;
    return NULL;
}

int delivery_is_requested(const struct delivery_options *o, bool *ret, struct err *err)
{
    const char *option = first_dependent_option(o);
    *ret = o->team || o->to;
    if (*ret || !option)
        return 0;
    err_set(err, ERR_USAGE, "--%s has no meaning without --for or --to", option);
    return err_hint(err, "add --for TEAM to hand the bundle over to a team of the inventory");
}

void delivery_options_release(struct delivery_options *o)
{
    strlist_release(&o->encrypt_to);
    strlist_release(&o->labels);
    strlist_release(&o->assignees);
    strlist_release(&o->redact_labels);
}

static int set_place_error(const char *place, struct err *err)
{
    err_set(err, ERR_USAGE, "--to %.200s is no place", place);
    return err_hint(err, "TRACKER:PROJECT or TRACKER:PROJECT#ISSUE, with a tracker of the inventory");
}

/* Parses TRACKER:PROJECT[#ISSUE]. */
static int parse_place(const char *place, const struct inventory *inventory, struct delivery *d,
                       struct err *err)
{
    const char *colon = strchr(place, ':'), *hash = strrchr(place, '#');
    if (!colon || colon == place)
        return set_place_error(place, err);
    const char *project = colon + 1, *end = hash && hash > colon ? hash : place + strlen(place);
    if (end == project || (*end && (!end[1] || end[1 + strspn(end + 1, "0123456789")])))
        return set_place_error(place, err);
    char *name = strndup(place, (size_t)(colon - place));
    d->project = strndup(project, (size_t)(end - project));
    if (*end)
        d->issue = strdup(end + 1);
    int rc = name && d->project && (d->issue || !*end) ? inventory_tracker(inventory, name, &d->tracker, err)
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
        if (r->is_file ? age_recipients_add_file(to, r->text, err) < 0
                       : age_recipients_add(to, r->text, where, err) < 0)
            return -1;
    }
    return 0;
}

static int read_recipients(struct delivery *d, const struct inventory *inventory, struct err *err)
{
    const struct delivery_options *o = d->options;
    if (!d->team && o->encrypt_to.n == 0)
        return 0;
    if (age_recipients_new(&d->recipients, err) < 0)
        return -1;
    if (d->team && add_recipients(d->recipients, &d->team->recipients, inventory, err) < 0)
        return -1;
    for (size_t i = 0; i < o->encrypt_to.n; i++)
        if (age_recipients_add_any(d->recipients, o->encrypt_to.items[i], "--encrypt-to", err) < 0)
            return -1;
    return add_recipients(d->recipients, &d->self->recipients, inventory, err);
}

static int add_names(struct strlist *into, const struct strlist *from, struct err *err)
{
    for (size_t i = 0; i < from->n; i++)
        if (strlist_add(into, from->items[i], err) < 0)
            return -1;
    return 0;
}

/* Refuses the options of an issue, because a team without a tracker gets no issue. */
static int refuse_issue_options(const struct delivery *d, struct err *err)
{
    const struct delivery_options *o = d->options;
    const char *option = o->title              ? "title"
                         : o->labels.n         ? "issue-label"
                         : o->assignees.n      ? "assignee"
                         : o->plaintext_i_know ? "plaintext-i-know"
                                               : NULL;
    if (!option)
        return 0;
    err_set(err, ERR_USAGE, "--%s has no meaning: team %s has no tracker", option, d->team->name);
    return err_hint(err, "add --to TRACKER:PROJECT");
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

static int resolve_options(const struct inventory *inventory, struct delivery *d, struct err *err)
{
    const struct delivery_options *o = d->options;
    if (o->team && find_team(inventory, o->team, &d->team, err) < 0)
        return -1;
    if (o->to && parse_place(o->to, inventory, d, err) < 0)
        return -1;
    if (!o->to && d->team->tracker) {
        d->tracker = d->team->tracker;
        if (!(d->project = strdup(d->team->project)))
            return err_nomem(err);
    }
    if (!d->tracker && refuse_issue_options(d, err) < 0)
        return -1;
    /* A team's labels and assignees are for new issues in its own project. */
    bool is_own_project = !d->issue && d->team && d->tracker == d->team->tracker && d->tracker &&
                          strcmp(d->project, d->team->project) == 0;
    if ((is_own_project && add_names(&d->labels, &d->team->labels, err) < 0) ||
        add_names(&d->labels, &o->labels, err) < 0 ||
        add_names(&d->assignees, o->assignees.n || !is_own_project ? &o->assignees : &d->team->assignees,
                  err) < 0)
        return -1;
    return read_recipients(d, inventory, err);
}

/* ---- checks before the capture ------------------------------------------------------------------------- */

int delivery_wrap_signature_err(const struct delivery *d, struct err *err)
{
    return err_wrap(err, "team %s requires a signature", d->team->name);
}

struct sshsig_signer delivery_signer(const struct delivery *d, int cancel_fd)
{
    return (struct sshsig_signer){.key = d->self->sign_with,
                                  .agent = getenv("SSH_AUTH_SOCK"),
                                  .agent_ms = AGENT_MS,
                                  .cancel_fd = cancel_fd};
}

static int check_signing_key(const struct delivery *d, int cancel_fd, struct err *err)
{
    if (!d->team || !d->team->signature_required)
        return 0;
    if (!d->self->sign_with) {
        err_set(err, ERR_USAGE, "no key to sign with");
        err_hint(err, "name one in the inventory: self: { sign_with: ~/.ssh/id_ed25519.pub }");
        return delivery_wrap_signature_err(d, err);
    }
    const struct sshsig_signer signer = delivery_signer(d, cancel_fd);
    return sshsig_check_signer(&signer, err) < 0 ? delivery_wrap_signature_err(d, err) : 0;
}

struct handoff_request delivery_request(const struct delivery *d)
{
    return (struct handoff_request){.tracker = d->tracker,
                                    .project = d->project,
                                    .issue = d->issue,
                                    .encrypted = d->recipients != NULL,
                                    .title = d->options->title,
                                    .labels = d->labels,
                                    .assignees = d->assignees};
}

static int check_tracker(const struct delivery *d, struct err *err)
{
    const struct tracker *t = d->tracker;
    const struct handoff_request request = delivery_request(d);
    const struct handoff_options options = {.plaintext_i_know = d->options->plaintext_i_know};
    if (handoff_check(&request, &options, err) < 0)
        return -1;
    if (d->options->dry_run)
        return 0;
    if (secret_check(&t->token, err) < 0)
        return err_wrap(err, "%s: the token", t->name);
    int ca = t->ca ? file_open(t->ca, err) : -1;
    if (t->ca && ca < 0)
        return err_wrap(err, "%s: the authorities", t->name);
    fd_close(&ca);
    return 0;
}

int delivery_prepare(const struct delivery_options *o, const struct inventory *inventory, int cancel_fd,
                     struct delivery *ret, struct err *err)
{
    *ret = (struct delivery){.options = o, .self = inventory_self(inventory)};
    if (resolve_options(inventory, ret, err) == 0 && check_signing_key(ret, cancel_fd, err) == 0 &&
        (!ret->tracker || check_tracker(ret, err) == 0))
        return 0;
    /* The user must change the command line or the inventory after any of these failures. */
    err->kind = ERR_USAGE;
    delivery_release(ret);
    return -1;
}

void delivery_release(struct delivery *d)
{
    age_recipients_free(d->recipients);
    free(d->project);
    free(d->issue);
    strlist_release(&d->labels);
    strlist_release(&d->assignees);
    *d = (struct delivery){0};
}
