/*
 * A profile's call tree, for a picture: every way from the outermost call inwards, with what was measured
 * where it ends.
 *
 * Calls that were inlined are nodes like others, and functions are told apart by name and file. Of places
 * without a name the mapping's file stands there ("[libc.so.6]"), as in pprof. Labels are not looked at.
 *
 * Of every sample type the nodes' own values add up to the profile's, modulo 2^64, whatever was folded.
 */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include "proto/proto.h"

/* What `function` of a node may be besides an index. */
#define FLAME_ROOT UINT32_MAX          /* node 0, above all others */
#define FLAME_SMALLER (UINT32_MAX - 1) /* what was folded below its caller */

/* Sample types beyond so many are not drawn. */
#define FLAME_MAX_TYPES 16
/* Calls deeper than so many are folded. */
#define FLAME_MAX_DEPTH 10000

struct flame_function {
    uint32_t name, file; /* strings of the profile */
    int64_t line;        /* where it begins; 0: not known */
};

struct flame {
    size_t n_types;      /* the profile's first ones */
    size_t default_type; /* by pprof's rules */
    size_t n_nodes;      /* in preorder, the heaviest of the default type first among those of one caller */
    uint32_t *depth;     /* 0: the root */
    uint32_t *function;  /* of functions, or one of the above */
    int64_t *self;       /* n_types for each node */
    struct flame_function *functions; /* those that nodes have */
    size_t n_functions;
};

/*
 * Draws up the tree of a profile, which is pruned on the way (report_prune), and may get further strings. It
 * has at most max_nodes nodes (at least 3): the lightest, by their shares of all sample types, are folded
 * into a node FLAME_SMALLER of their caller. Memory grows with that number, and by 4 bytes for each of the
 * profile's samples and lines; time with the frames in its stacks.
 */
int flame_new(struct profile *p, size_t max_nodes, struct flame **ret, struct err *err);
void flame_free(struct flame *f);

#endif
