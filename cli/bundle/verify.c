#include "cli/bundle/verify.h"

#include <jansson.h>
#include <stdio.h>

#include "cli/term/document.h"
#include "cli/term/signals.h"
#include "base/banned.h"

static const char *state_name(enum bundle_file_state state)
{
    static const char *const names[] = {"intact", "CHANGED", "MISSING", "UNKNOWN"};
    return names[state];
}

/* Prints the state of a file, or adds it to the JSON array `ctx` unless that is NULL. */
static void print_file_state(void *ctx, const struct bundle_file_result *f)
{
    json_t *rows = ctx;
    if (rows)
        json_array_append_new(rows, json_pack("{s:s, s:s, s:I}", "path", f->path, "state",
                                              state_name(f->state), "bytes", (json_int_t)f->size));
    else
        printf("%-8s %12llu  %s\n", state_name(f->state), (unsigned long long)f->size, f->path);
}

/* For each state of the signature: its name in JSON, and its text. */
static const struct {
    const char *name, *text;
} signatures[] = {[BUNDLE_UNSIGNED] = {"none", "none: the author is not verified"},
                  [BUNDLE_SIGNED] = {"good", "good"},
                  [BUNDLE_SIGNED_OTHER_NAMESPACE] = {"other", "NOT OF A BUNDLE"},
                  [BUNDLE_SIGNATURE_INVALID] = {"bad", "BAD"}};

static bool is_intact(const struct bundle_summary *s)
{
    return s->changed == 0 && s->missing == 0 && s->unknown == 0;
}

/* Returns whether the file of allowed signers lists the signer; false without that file. */
static bool is_trusted(const struct bundle_summary *s)
{
    return s->signature.principal != NULL;
}

/* Without a file of allowed signers, accepts a missing signature and any valid signature. */
static bool passes_signature(const struct verify_options *o, const struct bundle_summary *s)
{
    if (o->allowed_signers)
        return is_trusted(s);
    return s->signature.state == BUNDLE_UNSIGNED || s->signature.state == BUNDLE_SIGNED;
}

static void print_row(const char *name, const char *text, const char *more)
{
    if (*text)
        printf("%-10s %s%s%s\n", name, text, *more ? ", " : "", more);
}

static void print_signature(const struct verify_options *o, const struct bundle_summary *s)
{
    printf("%-10s %s", "signature", signatures[s->signature.state].text);
    if (*s->signature.fingerprint)
        printf(", %s %s", s->signature.type, s->signature.fingerprint);
    if (s->signature.principal)
        printf(", of %s", s->signature.principal);
    else if (*s->signature.why)
        printf(": %s", s->signature.why);
    else if (s->signature.state == BUNDLE_SIGNED && !o->allowed_signers)
        printf("; the option --allowed-signers FILE identifies its owner");
    putchar('\n');
}

static void print_summary(const struct verify_options *o, const struct bundle_summary *s)
{
    printf("\n");
    print_row("collected", s->collected, s->collector);
    if (s->handed_off)
        print_row("handed off", s->sent, s->sender);
    for (size_t i = 0; i < s->recipients.n; i++)
        print_row(i == 0 ? "recipients" : "", s->recipients.items[i], "");
    if (s->redacted > 0)
        printf("%-10s %zu %s, as manifest.json lists\n", "redacted", s->redacted,
               s->redacted == 1 ? "file" : "files");
    print_signature(o, s);
    if (is_intact(s))
        printf("%-10s %zu files, all match the manifest%s%s\n", "content", s->intact,
               s->complete ? "" : "; some requested items are missing",
               s->interrupted ? " (interrupted)" : "");
    else
        printf("%-10s NOT as the manifest says: %zu intact, %zu changed, %zu missing, %zu unknown\n",
               "content", s->intact, s->changed, s->missing, s->unknown);
}

/* Sets the key, unless the value is missing. */
static void put_text(json_t *o, const char *key, const char *s)
{
    if (s && *s)
        json_object_set_new(o, key, json_string(s));
}

static json_t *signature_json(const struct bundle_summary *s)
{
    json_t *o = json_pack("{s:s}", "state", signatures[s->signature.state].name);
    put_text(o, "key_type", s->signature.type);
    put_text(o, "fingerprint", s->signature.fingerprint);
    put_text(o, "principal", s->signature.principal);
    put_text(o, "why", s->signature.why);
    return o;
}

static json_t *handoff_json(const struct bundle_summary *s)
{
    json_t *o = json_object(), *recipients = json_array();
    put_text(o, "time", s->sent);
    put_text(o, "by", s->sender);
    for (size_t i = 0; i < s->recipients.n; i++)
        json_array_append_new(recipients, json_string(s->recipients.items[i]));
    json_object_set_new(o, "recipients", recipients);
    json_object_set_new(o, "redacted", json_integer((json_int_t)s->redacted));
    return o;
}

static json_t *summary_json(const struct bundle_summary *s, json_t *files)
{
    json_t *all = json_pack("{s:b, s:b, s:b, s:b}", "intact", is_intact(s), "trusted", is_trusted(s),
                            "complete", s->complete, "interrupted", s->interrupted);
    put_text(all, "collected", s->collected);
    put_text(all, "collector", s->collector);
    json_object_set_new(all, "signature", signature_json(s));
    if (s->handed_off)
        json_object_set_new(all, "handoff", handoff_json(s));
    json_object_set_new(all, "files", files);
    return all;
}

static int check_summary(const struct verify_options *o, const struct bundle_summary *s, struct err *err)
{
    if (!is_intact(s))
        return err_set(err, ERR_FAILED, "%s: not as the manifest says: %zu changed, %zu missing, %zu unknown",
                       o->file, s->changed, s->missing, s->unknown);
    if (passes_signature(o, s))
        return 0;
    if (s->signature.state == BUNDLE_UNSIGNED)
        return err_set(err, ERR_FAILED, "%s: it is not signed", o->file);
    return err_set(err, ERR_FAILED, "%s: the signature is not accepted: %s", o->file, s->signature.why);
}

int verify_bundle(const struct verify_options *o, struct age_identities *identities, struct err *err)
{
    struct bundle_summary s = {0};
    json_t *rows = o->json ? json_array() : NULL;
    struct bundle_verify_options check = {.identities = identities,
                                          .allowed_signers = o->allowed_signers,
                                          .on_file = print_file_state,
                                          .ctx = rows,
                                          .cancel_fd = signals_cancel_fd()};
    if (bundle_verify(o->file, &check, &s, err) < 0) {
        json_decref(rows);
        return -1;
    }
    int rc = rows ? document_print(summary_json(&s, rows), stdout, err) : 0;
    if (!rows)
        print_summary(o, &s);
    if (rc == 0)
        rc = check_summary(o, &s, err);
    bundle_summary_release(&s);
    return rc;
}
