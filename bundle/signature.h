/* What verify says of who made a bundle: the signature, and what the manifest tells of itself. */
#ifndef BUNDLE_SIGNATURE_H
#define BUNDLE_SIGNATURE_H

#include <jansson.h>

#include "bundle/bundle.h"

/* Fills in sum->signature from the bytes of manifest.json and of its signature. Only what keeps it from being
 * judged is an error: no memory, a file of allowed signers that cannot be read, no ssh-keygen. */
int signature_judge(const struct bundle_check *how, const struct buf *manifest, const struct buf *armor,
                    struct bundle_summary *sum, struct err *err);

/* Fills in the manifest's words. README.md of a copy is a member as any other: it is added to `expected`,
 * where verify has the facts of each file by its path. */
int signature_read_words(const json_t *root, json_t *expected, struct bundle_summary *sum, struct err *err);

#endif
