/* Redacts the manifest and the members of a bundle, before the copy is written. */
#ifndef BUNDLE_REDACT_BUNDLE_H
#define BUNDLE_REDACT_BUNDLE_H

#include <jansson.h>

#include "bundle/bundle.h"
#include "bundle/redact/redact_manifest.h"

struct redact_bundle {
    int spool;     /* the changed members, concatenated in a nameless file; -1: none */
    json_t *items; /* the manifest's items, by the path of the member in the bundle; an item itself has the
                      path in the copy */
    json_t *spool_offsets; /* the offset of each changed member in `spool`, by the member's path in the
                              bundle; the member's item has the length */
    struct redact_manifest manifest;
    json_t *redactions; /* the list `redactions` of the manifest's `handoff` */
    json_t *unsearched; /* the list `unsearched` of `handoff`: the members that were not searched, with the
                           reason */
    struct strlist unsearched_files, failed_searches; /* as in bundle_copy_result */
    uint64_t n_redactions;                            /* the number of redacted values */
    const struct stop *stop;                          /* owned by the caller */
};
#define REDACT_BUNDLE_INIT                                                                                   \
    {                                                                                                        \
        .spool = -1                                                                                          \
    }

struct redact_bundle_options {
    const struct bundle_copy_options *copy;
    const char *beside; /* a path on a disk with room for all changed members, and for one copy of the largest
                           member */
    const struct stop *stop; /* ends the redaction; must outlive the result */
};
/*
 * Reads the bundle and redacts its manifest `root` and the members. The item of a changed member gets the new
 * size and hash, and the old ones as `original`. Skips report.html, which the caller draws again.
 */
int redact_bundle_run(const struct redact_bundle_options *options, json_t *root, struct redact_bundle *ret,
                      struct err *err);

void redact_bundle_release(struct redact_bundle *redacted);

/* Adds the number of matches of each rule in manifest.json to `redactions`. Call it after all strings of the
 * manifest are redacted. */
int redact_bundle_add_manifest_counts(struct redact_bundle *redacted, struct err *err);

struct redact_bundle_source {
    const struct redact_bundle *redacted;
    const char *bundle; /* the path of the original bundle */
};
/* Visits the members of the copy, for struct bundle_preview: works like bundle_visit, with the paths and
 * bytes of the copy. preview->from is a struct redact_bundle_source. */
int redact_bundle_visit(const struct bundle_preview *preview, const struct bundle_visitor *visitor,
                        struct err *err);

/* The bytes of the reader's current member in the copy: from the spool if it was changed, else from the
 * bundle. */
struct redact_bundle_bytes {
    struct reader *r;
    int spool; /* -1: the bytes are in the bundle */
    off_t at;  /* the offset in the spool */
};
struct redact_bundle_bytes redact_bundle_find_bytes(const struct redact_bundle *redacted, struct reader *r,
                                                    const char *path);
/* Reads at most `cap` bytes. The caller must not read past the end of the member, because other members
 * follow in the spool. */
int redact_bundle_read(struct redact_bundle_bytes *b, char *p, size_t cap, size_t *ret_n, struct err *err);

/* Records that the bytes of the spool from `begin` to its end replace those of a member. */
int redact_bundle_replace(struct redact_bundle *redacted, json_t *item, const char *path, off_t begin,
                          struct err *err);

/* Returns an object with the items of the manifest, by the paths of their files. NULL after an error. */
json_t *redact_bundle_index_items(const json_t *root, struct err *err);

#endif
