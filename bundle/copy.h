/* The copy of a bundle for a hand-off: redacted, signed, encrypted. */
#ifndef BUNDLE_COPY_H
#define BUNDLE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "bundle/archive.h"
#include "seal/seal.h"

/* The namespace of a bundle's signature, which covers the bytes of manifest.json. */
#define BUNDLE_NAMESPACE "profgrab-bundle"

/* A copy that is not written yet, for the function that draws the copy's page: the copy's manifest, and its
 * members, which `visit` reads as bundle_visit does. */
struct bundle_preview {
    const struct manifest *manifest;
    uint64_t bytes;   /* the size of the original bundle on disk */
    int cancel_fd;    /* or -1 */
    int64_t cpu_ms;   /* limit for the page's processor time; 0: none */
    int fd;           /* the file of changed members, from which `visit` reads; -1: none */
    const void *from; /* data of `visit` */
    const void *ctx;  /* the draw_ctx of struct bundle_copy_options */
    int (*visit)(const struct bundle_preview *bundle, const struct bundle_visitor *visitor, struct err *err);
};

/* Writes the page to fd, at its current offset. ERR_CANCELLED ends the copy; after any other failure the copy
 * has no page. */
typedef int bundle_draw_fn(const struct bundle_preview *bundle, int fd, struct err *err);

/* The options of a copy. */
struct bundle_copy_options {
    const char *bundle; /* the path of the local bundle, which stays unchanged */
    /* The path of the copy, ending in .tar.gz or, encrypted, .tar.gz.age; ERR_EXISTS if it exists. NULL:
     * beside the bundle, `NAME-handoff.tar.gz` or `NAME.tar.gz.age`, with `-2`, `-3`, ... if that exists. */
    const char *output;
    const char *user, *workstation; /* the user who hands off the copy, and their workstation; may be NULL */
    const char *title;              /* the title of the issue, to be redacted too; NULL: none */
    /* Labels and assignees of the issue, to be sent unchanged: ERR_FAILED if redaction would change one. May
     * be NULL. */
    const struct strlist *issue_labels, *assignees;
    bool redact;                  /* redact secrets and values of labels: docs/formats.md, "Redaction" */
    bundle_draw_fn *draw;         /* makes report.html of a redacted copy; NULL: no page */
    const void *draw_ctx;         /* for `draw` */
    const struct strlist *labels; /* globs of further profile labels whose values to redact; may be NULL */
    const struct sshsig_signer *signer;      /* NULL: no signature */
    bool signature_optional;                 /* go on without a signature if signing fails */
    const struct age_recipients *recipients; /* NULL: no encryption */
    int cancel_fd;                           /* or -1 */
    int64_t cpu_ms;                          /* limit for the processor time of the copy; 0: none */
};

/* The result of a copy. */
struct bundle_copy_result {
    char *path;
    uint64_t bytes;
    uint64_t redactions; /* the number of redacted values */
    size_t changed;      /* members that differ from the collected ones */
    size_t unsearched;   /* members that were not searched for secrets: traces, files of an unknown kind */
    struct strlist unsearched_files;   /* `PATH: REASON` of each unsearched member, printable */
    struct strlist failed_searches;    /* as above, only of members too large or of a wrong format */
    char *manifest;                    /* the text of the copy's manifest */
    char *title;                       /* the redacted title of the issue; NULL: none */
    struct err page_error;             /* ERR_NONE, or why the copy has no report.html */
    char fingerprint[SSH_FINGERPRINT]; /* of the signing key; "": no signature */
    struct err signing_error;          /* ERR_NONE, or why the optional signature is missing */
};

/*
 * Makes the copy. Compares each member with the manifest, so that the copy has no file with a wrong hash.
 * Redaction needs disk space beside the copy for all changed members and for one copy of the largest member.
 * Adds the key `handoff` to the manifest and makes README.md again; with `redact`, also report.html. Both the
 * manifest and README.md record the user, the time and the recipients. Signs the copy, then encrypts it.
 * After a failure no file stays. A member that redaction cannot search (too large, or of another format) is
 * copied unchanged and listed in the manifest, README.md and *ret; the user decides who gets the copy.
 *
 * ERR_LIMIT: the copy needs more than cpu_ms, or the bundle inflates to more than gzfile_max_inflated allows.
 * ERR_USAGE: the bundle is a copy already. ERR_FAILED: a label or an assignee contains text that looks like a
 * secret. If signing fails, the error is that of sshsig_sign.
 */
int bundle_copy(const struct bundle_copy_options *options, struct bundle_copy_result *ret, struct err *err);
void bundle_copy_result_release(struct bundle_copy_result *c);

#endif
