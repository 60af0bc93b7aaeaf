/*
 * Redacts a manifest: every string of it, under any key, and the names of the members.
 *
 * A word that the rules of redact.h match in one string is redacted in all others too (redact_words.h). If an
 * item's request contained a secret, its file is renamed, because the name was made from the request. A
 * redacted member is called `redacted`, with its ending, and `-2`, `-3`, ... if that name is taken.
 */
#ifndef BUNDLE_REDACT_SCRUB_H
#define BUNDLE_REDACT_SCRUB_H

#include <jansson.h>

#include "bundle/redact/redact_words.h"

#define SCRUB_NAME "redacted" /* valid in a path and in a shell */

struct scrub {
    struct redact_words words; /* redacted words */
    json_t *renamed;           /* new paths of members, by their old paths */
    json_t *by_request;        /* members whose requests contained a secret, by their old paths */
    json_t *hashes;            /* of the members, as keys */
    struct redact_tally tally;
    const struct stop *stop;
    size_t since_check; /* bytes searched since the last check of `stop` */
};

/*
 * Changes `root` in place; `items` are its items by their old paths. Strings stay valid UTF-8. The time is
 * linear in the manifest. Fails without memory, and by `stop`, which is checked between strings and must
 * outlive the result. The caller calls scrub_release in any case.
 */
int scrub_manifest(json_t *root, const json_t *items, const struct stop *stop, struct scrub *ret,
                   struct err *err);

/* Does the same for an object that will be part of that manifest. */
int scrub_object(struct scrub *s, json_t *object, struct err *err);

/* Returns whether the member's request contained a secret; `path` is the old one. */
bool scrub_is_of_secret_request(const struct scrub *s, const char *path);

/* Writes the new path of a directory of members into an initialised buffer. */
void scrub_directory(struct scrub *s, const char *path, struct buf *ret);

/* Returns the new name of the bundle. */
const char *scrub_name(struct scrub *s, const char *name);

void scrub_release(struct scrub *s);

#endif
