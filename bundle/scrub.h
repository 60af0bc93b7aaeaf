/*
 * Redaction of a manifest: every string of it, whatever key it stands under, and the names of the members.
 *
 * A word that the rules of redact.h take out of one string goes from all others too (redact_words.h). An item
 * whose request held a secret loses its file's name, which was made from the request. The name of a member
 * becomes `redacted`, with its ending, and `-2`, `-3`, ... where that is taken.
 */
#ifndef BUNDLE_SCRUB_H
#define BUNDLE_SCRUB_H

#include <jansson.h>

#include "bundle/redact_words.h"
#include "bundle/stop.h"

#define SCRUB_NAME "redacted" /* that a path and a shell take as it is */

struct scrub {
    struct redact_words words; /* that went */
    json_t *renamed;           /* members, by the path that they had: the new one */
    json_t *by_request;        /* the members whose requests held a secret, by the path that they had */
    struct redact_tally tally;
    const struct stop *stop;
    size_t since_check; /* bytes searched since `stop` was last checked */
};

/*
 * Changes `root` in place; `items` are its items by path, from before. Strings stay valid UTF-8. The time
 * grows with the manifest. Fails without memory, and by `stop`, which is checked between strings and must
 * live as long as the result. The caller calls scrub_release in any case.
 */
int scrub_manifest(json_t *root, const json_t *items, const struct stop *stop, struct scrub *ret,
                   struct err *err);

/* The same for an object of ours that is to become part of that manifest. */
int scrub_object(struct scrub *s, json_t *object, struct err *err);

/* Whether the request for the member, by the path that it had, held a secret. */
bool scrub_held_secret(const struct scrub *s, const char *path);

/* The path of a directory of members, as it is now, into an initialised buffer. */
void scrub_directory(struct scrub *s, const char *path, struct buf *ret);

/* The bundle's name, as it is now. */
const char *scrub_name(struct scrub *s, const char *name);

void scrub_release(struct scrub *s);

#endif
