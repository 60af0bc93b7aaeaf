/* Redaction of a whole bundle: what of its members changes, before the copy is written. */
#ifndef BUNDLE_SIFT_H
#define BUNDLE_SIFT_H

#include <jansson.h>

#include "bundle/bundle.h"

struct sift {
    int spool;        /* the members that changed, one behind the other, in a file without a name; -1: none */
    json_t *replaced; /* by path: where in `spool` the member begins; its item says how long it is */
    json_t *redactions;          /* as the manifest's `handoff` lists them */
    json_t *unsearched;          /* likewise: the members that nothing looked into, and why */
    struct strlist unsearchable; /* as bundle_copied has it */
    uint64_t n;                  /* values that went */
};
#define SIFT_INIT                                                                                            \
    {                                                                                                        \
        .spool = -1                                                                                          \
    }

/*
 * Reads the bundle and redacts what its manifest `root` describes. Of a member that changed the item gets the
 * new size and hash, and the old ones as `original`. `beside`: a path beside which there is room for what
 * changes and for the largest member.
 */
int sift_bundle(const struct bundle_copy *how, const char *beside, json_t *root, struct sift *ret,
                struct err *err);

void sift_release(struct sift *s);

/* The members that the manifest describes, by path: their items. NULL without memory, or as err says. */
json_t *sift_items(const json_t *root, struct err *err);

#endif
