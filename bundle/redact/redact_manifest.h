/*
 * Redacts a manifest: every string of it, under any key, and the names of the members.
 *
 * A word that the rules of redact.h match in one string is redacted in all others too (redact_words.h). If an
 * item's request contained a secret, its file is renamed, because the name was made from the request. A
 * redacted member is called `redacted`, with its ending, and `-2`, `-3`, ... if that name is taken.
 */
#ifndef BUNDLE_REDACT_REDACT_MANIFEST_H
#define BUNDLE_REDACT_REDACT_MANIFEST_H

#include <jansson.h>

#include "bundle/redact/redact_words.h"

#define REDACTED_NAME "redacted" /* valid in a path and in a shell */

struct redact_manifest {
    struct redact_words words;    /* redacted words */
    json_t *path_map;             /* new paths of members, by their old paths; `false`: the path stays */
    json_t *secret_request_paths; /* members whose requests contained a secret, by their old paths */
    json_t *hashes;               /* of the members, as keys */
    struct redact_tally tally;
    const struct stop *stop;
    size_t since_check; /* bytes searched since the last check of `stop` */
    size_t grown;       /* bytes by which redacted strings are longer than before, in all */
};

/*
 * Changes `root` in place; `items` are its items by their old paths. Strings stay valid UTF-8. The time is
 * linear in the manifest. Fails without memory, if strings become longer by more than 16 MiB in all
 * (ERR_FAILED), and if `stop` ends the redaction; `stop` is checked between strings and must outlive the
 * result. The caller calls redact_manifest_release in any case.
 */
int redact_manifest_run(json_t *root, const json_t *items, const struct stop *stop,
                        struct redact_manifest *ret, struct err *err);

/* Redacts an object that will be part of the manifest in the same way. */
int redact_manifest_object(struct redact_manifest *m, json_t *object, struct err *err);

/* Returns whether the member's request contained a secret; `path` is the old one. */
bool redact_manifest_has_secret_request(const struct redact_manifest *m, const char *path);

/* Writes the new path of a directory of members into an initialised buffer. */
void redact_manifest_directory(struct redact_manifest *m, const char *path, struct buf *ret);

/* Returns the new name of the bundle. */
const char *redact_manifest_name(struct redact_manifest *m, const char *name);

void redact_manifest_release(struct redact_manifest *m);

#endif
