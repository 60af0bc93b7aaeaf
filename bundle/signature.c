#include "bundle/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/manifest_json.h"
#include "bundle/path.h"
#include "base/banned.h"

enum { KEYGEN_MS = 10000, MAX_RECIPIENTS = 1000 };

/* ---- the signature ------------------------------------------------------------------------------------- */

static int set_state(struct bundle_summary *summary, enum bundle_signature state, const char *why)
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
    } else if (sshsig_check(&s, manifest->data, manifest->len, &why) < 0) {
        rc = report_bad_signature(summary, &why, err);
    } else {
        summary->signature.state = BUNDLE_SIGNED;
        rc = options->allowed_signers ? find_principal(options, manifest, armor, summary, err) : 0;
    }
    sshsig_release(&s);
    return rc;
}

/* ---- the manifest's statements ------------------------------------------------------------------------- */

static void copy_text(char *dst, size_t cap, const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    text_printable(dst, cap, s ? s : "", s ? strlen(s) : 0);
}

/* Formats USER on WORKSTATION, each if it is known. */
static void format_person(char *dst, size_t cap, const json_t *o)
{
    char user[120], workstation[120];
    copy_text(user, sizeof user, o, "user");
    copy_text(workstation, sizeof workstation, o, "workstation");
    snprintf(dst, cap, "%s%s%s", user, *user && *workstation ? " on " : "", workstation);
}

static int read_recipients(const json_t *list, struct strlist *ret, struct err *err)
{
    char shown[300];
    for (size_t i = 0; i < json_array_size(list) && i < MAX_RECIPIENTS; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && strlist_add(ret, text_printable(shown, sizeof shown, name, strlen(name)), err) < 0)
            return -1;
    }
    return 0;
}

static int count_changed(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    size_t *n = ctx;
    (void)err;
    /* Do not count report.html: it was not collected, and every redacted copy has a new one. */
    *n += json_object_get(item, "original") && strcmp(file->path, PATH_REPORT) != 0;
    return 0;
}

static int expect_readme(const json_t *readme, json_t *expected, struct err *err)
{
    const json_t *bytes = json_object_get(readme, "bytes");
    const char *hex = json_string_value(json_object_get(readme, "sha256"));
    if (!readme)
        return 0;
    if (!json_is_integer(bytes) || json_integer_value(bytes) < 0 || !hex)
        return err_set(err, ERR_FAILED, "%s is malformed: size or SHA-256 of %s is missing", PATH_MANIFEST,
                       PATH_README);
    json_t *file = json_pack("{s:I, s:s}", "bytes", json_integer_value(bytes), "sha256", hex);
    return json_object_set_new(expected, PATH_README, file) < 0 ? err_nomem(err) : 0;
}

int signature_read_statements(const json_t *root, json_t *expected, struct bundle_summary *summary,
                              struct err *err)
{
    const json_t *handoff = json_object_get(root, "handoff");
    format_person(summary->collector, sizeof summary->collector, json_object_get(root, "collector"));
    copy_text(summary->collected, sizeof summary->collected, root, "started");
    if (!handoff)
        return 0;
    summary->handed_off = true;
    format_person(summary->sender, sizeof summary->sender, handoff);
    copy_text(summary->sent, sizeof summary->sent, handoff, "time");
    if (read_recipients(json_object_get(handoff, "recipients"), &summary->recipients, err) < 0 ||
        manifest_json_visit_items(root, count_changed, &summary->redacted, err) < 0)
        return -1;
    return expect_readme(json_object_get(handoff, "readme"), expected, err);
}

void bundle_summary_release(struct bundle_summary *s)
{
    free(s->signature.principal);
    s->signature.principal = NULL;
    strlist_release(&s->recipients);
}
