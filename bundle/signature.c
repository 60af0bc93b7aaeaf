#include "bundle/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { KEYGEN_MS = 10000, MAX_RECIPIENTS = 1000 };

/* ---- the signature ------------------------------------------------------------------------------------- */

static int set_state(struct bundle_summary *summary, enum bundle_signature_state state, const char *why)
{
    summary->signature.state = state;
    snprintf(summary->signature.why, sizeof summary->signature.why, "%s", why);
    return 0;
}

/* Reports an invalid signature, or returns the error of a failed allocation. */
static int report_bad_signature(struct bundle_summary *summary, const struct err *why, struct err *err)
{
    return why->kind == ERR_LOCAL_IO ? err_nomem(err)
                                     : set_state(summary, BUNDLE_SIGNATURE_INVALID, why->msg);
}

static int find_principal(const struct bundle_verify_options *options, const struct buf *manifest,
                          const struct buf *armor, struct bundle_summary *summary, struct err *err)
{
    struct proc_limits limits = {.timeout_ms = KEYGEN_MS, .cancel_fd = options->cancel_fd};
    struct sshsig_claim claim = {
        .armor = buf_str(armor), .namespace = BUNDLE_NAMESPACE, .p = manifest->data, .n = manifest->len};
    struct err why = ERR_INIT;
    if (sshsig_find_principal(options->allowed_signers, &claim, &limits, &summary->signature.principal,
                              &why) == 0)
        return 0;
    if (why.kind == ERR_DENIED)
        return set_state(summary, BUNDLE_SIGNED, why.msg);
    if (err)
        *err = why;
    return -1;
}

int signature_verify(const struct bundle_verify_options *options, const struct buf *manifest,
                     const struct buf *armor, struct bundle_summary *summary, struct err *err)
{
    struct sshsig s = {0};
    struct err why = ERR_INIT;
    if (armor->failed)
        return set_state(summary, BUNDLE_SIGNATURE_INVALID, "it is larger than any signature");
    if (sshsig_parse(buf_str(armor), armor->len, &s, &why) < 0)
        return report_bad_signature(summary, &why, err);
    snprintf(summary->signature.type, sizeof summary->signature.type, "%s", s.type);
    snprintf(summary->signature.fingerprint, sizeof summary->signature.fingerprint, "%s", s.fingerprint);
    int rc;
    if (strcmp(s.namespace, BUNDLE_NAMESPACE) != 0) {
        char words[SSHSIG_NAMESPACE + 100];
        snprintf(words, sizeof words, "it was made for \"%s\", not for a bundle", s.namespace);
        rc = set_state(summary, BUNDLE_SIGNED_OTHER_NAMESPACE, words);
    } else if (sshsig_verify(&s, manifest->data, manifest->len, &why) < 0) {
        rc = report_bad_signature(summary, &why, err);
    } else {
        summary->signature.state = BUNDLE_SIGNED;
        rc = options->allowed_signers ? find_principal(options, manifest, armor, summary, err) : 0;
    }
    sshsig_release(&s);
    return rc;
}

/* ---- the manifest's statements ------------------------------------------------------------------------- */

static void copy_text(char *dst, size_t cap, const char *s)
{
    text_printable(dst, cap, s ? s : "", s ? strlen(s) : 0);
}

/* Formats USER on WORKSTATION, each if it is known. */
static void format_person(char *dst, size_t cap, const char *user, const char *workstation)
{
    char shown_user[120], shown_workstation[120];
    copy_text(shown_user, sizeof shown_user, user);
    copy_text(shown_workstation, sizeof shown_workstation, workstation);
    snprintf(dst, cap, "%s%s%s", shown_user, *shown_user && *shown_workstation ? " on " : "",
             shown_workstation);
}

static int read_recipients(const struct manifest_handoff *handoff, struct strlist *ret, struct err *err)
{
    char shown[300];
    for (size_t i = 0; i < handoff->n_recipients && i < MAX_RECIPIENTS; i++) {
        const char *name = handoff->recipients[i];
        if (name && strlist_add(ret, text_printable(shown, sizeof shown, name, strlen(name)), err) < 0)
            return -1;
    }
    return 0;
}

static size_t count_redacted(const struct manifest_item *items, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += items[i].file && items[i].has_original;
    return count;
}

int signature_read_statements(const struct manifest *m, struct bundle_summary *summary, struct err *err)
{
    const struct manifest_handoff *handoff = &m->handoff;
    format_person(summary->collector, sizeof summary->collector, m->user, m->workstation);
    copy_text(summary->collected, sizeof summary->collected, m->started);
    if (!m->has_handoff)
        return 0;
    summary->handed_off = true;
    format_person(summary->sender, sizeof summary->sender, handoff->user, handoff->workstation);
    copy_text(summary->sent, sizeof summary->sent, handoff->time);
    summary->redacted = count_redacted(m->files, m->n_files);
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++)
            summary->redacted +=
                count_redacted(m->hosts[i].services[k].items, m->hosts[i].services[k].n_items);
    return read_recipients(handoff, &summary->recipients, err);
}

void bundle_summary_release(struct bundle_summary *s)
{
    free(s->signature.principal);
    s->signature.principal = NULL;
    strlist_release(&s->recipients);
}
