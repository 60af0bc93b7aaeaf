#include "handoff/delivery_internal.h"

#include <stdlib.h>
#include <string.h>

#include "handoff/summary.h"
#include "base/banned.h"

/* ---- the copy ------------------------------------------------------------------------------------------ */

/* Returns whether signing failed because of the key, or because the user gave no passphrase in time. */
static bool is_key_failure(const struct err *err)
{
    return err->kind == ERR_NOT_FOUND || err->kind == ERR_TIMEOUT || err->kind == ERR_USAGE;
}

/* Prefixes the error with the team, and adds a hint for the usual cause: profgrab could not ask for the
 * passphrase. */
static int explain_key_failure(const struct delivery *d, struct err *err)
{
    if (err->kind == ERR_NOT_FOUND && !*err->hint)
        err_hint(err, "ssh-add the key of %s, or name a file with its passphrase: --passphrase-file FILE",
                 d->self->sign_with);
    return delivery_wrap_signature_err(d, err);
}

static int make_copy(const struct delivery *d, const struct delivery_run *run, struct bundle_copy_result *ret,
                     struct err *err)
{
    struct sshsig_signer signer = delivery_signer(d, run->cancel_fd);
    signer.ask = run->ask;
    signer.ask_ctx = run->ask_ctx;
    signer.ask_ms = run->ask_ms;
    const struct bundle_copy_options how = {.bundle = run->bundle,
                                            .user = run->user,
                                            .workstation = run->workstation,
                                            .title = d->options->title,
                                            .issue_labels = &d->labels,
                                            .assignees = &d->assignees,
                                            .redact = true,
                                            .draw = run->draw,
                                            .draw_ctx = run->draw_ctx,
                                            .labels = &d->options->redact_labels,
                                            .signer = signer.key ? &signer : NULL,
                                            .signature_optional = !d->team || !d->team->signature_required,
                                            .recipients = d->recipients,
                                            .cancel_fd = run->cancel_fd,
                                            .cpu_ms = run->copy_cpu_ms};
    if (bundle_copy(&how, ret, err) == 0)
        return 0;
    if (err->kind == ERR_LOCAL_IO && !*err->hint)
        err_hint(err, "the copy is written beside the bundle: free space there, or move the bundle to a "
                      "file system with enough space");
    return how.signer && !how.signature_optional && is_key_failure(err) ? explain_key_failure(d, err) : -1;
}

/* ---- the tracker --------------------------------------------------------------------------------------- */

static int send_copy(const struct delivery *d, const struct delivery_run *run,
                     const struct handoff_request *request, struct delivery_result *ret, struct err *err)
{
    const struct handoff_options options = {.plaintext_i_know = d->options->plaintext_i_know,
                                            .dry_run = d->options->dry_run,
                                            .cancel_fd = run->cancel_fd,
                                            .step = run->step,
                                            .waiting = run->waiting,
                                            .dry_request = run->dry_request,
                                            .ctx = run->ctx};
    return handoff_run(request, &options, &ret->handoff, err);
}

/* Attaches the copy. Makes the note from the copy's manifest, so that the note has no text that redaction
 * removed. The title is redacted too, because it is sent before the flag is read back. */
static int attach_copy(const struct delivery *d, const struct delivery_run *run,
                       const struct bundle_copy_result *copied, struct delivery_result *ret, struct err *err)
{
    struct handoff_request request = delivery_request(d);
    struct summary summary = {0};
    if (summary_read(copied->manifest, d->recipients != NULL, &summary, err) < 0)
        return err_wrap(err, "%s", run->bundle);
    if (copied->title && strcmp(copied->title, request.title) != 0 && run->title_redacted)
        run->title_redacted(run->ctx, copied->title);
    request.title = copied->title;
    request.file = ret->copy;
    request.summary = summary.text;
    request.reading = summary.reading;
    int rc = send_copy(d, run, &request, ret, err);
    summary_release(&summary);
    return rc;
}

/* Removes a copy that was not sent, because a repeated hand-off makes a new copy. */
static void remove_copy(struct delivery_result *r)
{
    file_remove(r->copy, NULL);
    free(r->copy);
    r->copy = NULL;
}

int delivery_run(const struct delivery *d, const struct delivery_run *run, struct delivery_result *ret,
                 struct err *err)
{
    struct bundle_copy_result copied = {0};
    *ret = (struct delivery_result){0};
    if (make_copy(d, run, &copied, err) < 0)
        return -1;
    if (run->copied)
        run->copied(run->ctx, &copied);
    ret->copy = copied.path;
    copied.path = NULL;
    int rc = d->tracker ? attach_copy(d, run, &copied, ret, err) : 0;
    bundle_copy_result_release(&copied);
    ret->attached = rc == 0 && d->tracker && !d->options->dry_run;
    if (d->options->dry_run || (rc < 0 && ret->handoff.sent <= HANDOFF_SENT_ISSUE))
        remove_copy(ret);
    return rc;
}

void delivery_result_release(struct delivery_result *r)
{
    free(r->copy);
    *r = (struct delivery_result){0};
}
