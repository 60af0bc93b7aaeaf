/*
 * A manifest as it was read, for everything that shows or draws a bundle.
 *
 * Reading accepts any manifest of our format and version, because it may be from anywhere: a value of an
 * unexpected type counts as missing, and unknown keys are ignored. Any string may be NULL. manifest_load is
 * strict, for a manifest that will be changed.
 */
#ifndef BUNDLE_CONTENTS_H
#define BUNDLE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/manifest_records.h"

struct manifest_resumption {
    const char *time, *user, *workstation;
};

struct manifest_redaction {
    const char *file;
    const char *rule;
    int64_t count;
};

struct manifest_unsearched {
    const char *file;
    const char *reason;
};

/* The members of hosts, services and items that only add to a manifest (host, service) are not set. */
struct manifest_contents {
    const char *name;
    const char *version; /* of the program */
    const char *user;    /* who collected it */
    const char *workstation;
    const char *reason;
    const char *started, *finished; /* as in the manifest */
    bool interrupted, complete;
    const struct manifest_resumption *resumed;
    size_t n_resumed;
    const struct manifest_sentence *summary;
    size_t n_summary;
    const struct manifest_host *hosts;
    size_t n_hosts;
    const struct manifest_item *files; /* local ones */
    size_t n_files;
    bool has_report;
    bool has_handoff; /* it is a copy: the next members describe the hand-off */
    const char *sent, *sender, *sender_workstation;
    const char *const *recipients;
    size_t n_recipients;
    bool has_redactions; /* it was searched for secrets */
    const struct manifest_redaction *redactions;
    size_t n_redactions;
    const struct manifest_unsearched *unsearched;
    size_t n_unsearched;
};

/* Reads the text of a manifest. ERR_FAILED for other text, and for a manifest that would take too much
 * memory. The caller frees *ret, which owns all of its strings. */
int manifest_read(const char *text, size_t n, struct manifest_contents **ret, struct err *err);
void manifest_contents_free(struct manifest_contents *c);

/* Reads a parsed manifest (bundle_manifest_parse), of which it keeps a reference. The caller must not change
 * the JSON before manifest_contents_free. */
struct json_t;
int manifest_read_json(struct json_t *root, struct manifest_contents **ret, struct err *err);

#endif
