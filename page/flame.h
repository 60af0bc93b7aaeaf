/*
 * A profile's call tree, for a picture: every path from the outermost call inwards, with the values of its
 * samples.
 *
 * An inlined call is a node like any other. Name and file identify a function. A location without a name gets
 * the mapping's file as its name ("[libc.so.6]"), as in pprof. Labels are ignored.
 *
 * For every sample type, the nodes' own values add up to the profile's total modulo 2^64, whichever nodes are
 * folded.
 */
#ifndef PAGE_FLAME_H
#define PAGE_FLAME_H

#include "page/page.h"
#include "proto/proto.h"

/* Values of `function` that are no index. */
#define FLAME_ROOT UINT32_MAX         /* node 0, the caller of all outermost calls */
#define FLAME_FOLDED (UINT32_MAX - 1) /* the folded callees of its caller */

/* Further sample types are not drawn. */
#define FLAME_MAX_TYPES 16
/* Deeper calls are folded. */
#define FLAME_MAX_DEPTH 10000

struct flame_function {
    uint32_t name, file; /* strings of the profile */
    int64_t line;        /* its first line; 0: unknown */
    uint32_t number;     /* the same for all trees of a profile, whichever samples they have */
};

struct flame {
    size_t n_types;      /* the profile's first types */
    size_t default_type; /* by pprof's rules */
    size_t n_nodes;      /* in preorder; callees of one caller by the default type, the heaviest first */
    uint32_t *depth;     /* by node; 0: the root */
    uint32_t *function;  /* by node: index of a function, or one of the above */
    int64_t *self;       /* n_types values for each node */
    bool is_folded;      /* at least one node is FLAME_FOLDED */
    struct flame_function *functions; /* those of the nodes; with sums, then the heaviest others */
    size_t n_functions;
    int64_t *flat, *cum; /* the sums: n_types values for each function, over all samples; NULL: none */
};

/*
 * Makes a tree of the profile. Removes the samples that it does not have from the profile. Prunes the profile
 * (report_prune), and may add strings to it. The tree has at most max_nodes nodes (at least 3). The lightest
 * nodes, by their shares of all sample types, are folded into a node FLAME_FOLDED of their caller. Only a
 * folded tree has sums, and then at most max_nodes functions. Memory grows with max_nodes and with the
 * profile's samples, lines, locations and functions. Time grows with the frames of all stacks.
 */
int flame_new(struct profile *profile, const struct page_tree *wanted, size_t max_nodes, struct flame **ret,
              struct err *err);
void flame_free(struct flame *flame);

#endif
