/* Redaction of a whole bundle: what of its members changes, before the copy is written. */
#ifndef BUNDLE_SIFT_H
#define BUNDLE_SIFT_H

#include <jansson.h>

#include "bundle/bundle.h"

struct sift {
    char *dir;          /* of the members that changed, private */
    json_t *replaced;   /* by path: the name of the file in `dir` */
    json_t *redactions; /* as the manifest's `handoff` lists them */
    json_t *unsearched; /* the paths that nothing looked into */
    uint64_t n;         /* values that went */
};

/*
 * Reads the bundle and redacts what its manifest `root` describes. Of a member that changed the item gets the
 * new size and hash, and the old ones as `original`. `beside`: a path next to which the directory is made.
 */
int sift_bundle(const struct bundle_copy *how, const char *beside, json_t *root, struct sift *ret,
                struct err *err);

/* Removes the directory. A zero-initialised one is fine. */
void sift_release(struct sift *s);

/* The members that the manifest describes, by path: their items. NULL without memory, or as err says. */
json_t *sift_items(const json_t *root, struct err *err);

#endif
