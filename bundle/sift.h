/* Redaction of a whole bundle: what of its members changes, before the copy is written. */
#ifndef BUNDLE_SIFT_H
#define BUNDLE_SIFT_H

#include <jansson.h>

#include "bundle/bundle.h"
#include "bundle/scrub.h"
#include "bundle/stop.h"

struct sift {
    int spool;        /* the members that changed, one behind the other, in a file without a name; -1: none */
    json_t *items;    /* by the path that the member has in the bundle; the item has the one in the copy */
    json_t *replaced; /* by the same: where in `spool` the member begins; its item says how long it is */
    struct scrub scrub;
    json_t *redactions; /* as the manifest's `handoff` lists them */
    json_t *unsearched; /* likewise: the members that nothing looked into, and why */
    struct strlist unsearched_files, unsearchable; /* as bundle_copied has them */
    uint64_t n;                                    /* values that went */
    const struct stop *stop;                       /* the caller's */
};
#define SIFT_INIT                                                                                            \
    {                                                                                                        \
        .spool = -1                                                                                          \
    }

/*
 * Reads the bundle and redacts its manifest `root` and what that describes. Of a member that changed the item
 * gets the new size and hash, and the old ones as `original`. report.html is not looked at: it is to be drawn
 * anew.
 */
struct sift_how {
    const struct bundle_copy *copy;
    const char *beside; /* a path beside which there is room for what changes and for the largest member */
    const struct stop *stop; /* ends it; must live as long as the result */
};
int sift_bundle(const struct sift_how *how, json_t *root, struct sift *ret, struct err *err);

void sift_release(struct sift *s);

/* Lists how often which rule struck in the manifest itself: when all its strings have been looked at. */
int sift_list_manifest(struct sift *s, struct err *err);

/* Calls `take` for the members that are wanted, by the paths and with the bytes that they have in the copy.
 */
struct sift_source {
    const struct sift *sift;
    const char *bundle;
};
int sift_visit(const struct sift_source *from, bundle_wants_fn *wants, bundle_take_fn *take, void *ctx,
               struct err *err);

/* The bytes of a member that changed become those that stand in the spool from `begin` to its end. */
int sift_replace(struct sift *s, json_t *item, const char *path, off_t begin, struct err *err);

/* The members that the manifest describes, by path: their items. NULL without memory, or as err says. */
json_t *sift_items(const json_t *root, struct err *err);

#endif
