/*
 * The heaviest nodes of a profile's call tree.
 *
 * The weight of a node is the share that its samples have in all sample types. A callee is never heavier than
 * its caller, so the tree grows from the root: it keeps the heaviest node that is not kept yet, and divides
 * that node's samples among its callees, until it has enough nodes. The time therefore depends on the samples
 * and the kept nodes, not on the depth of the stacks.
 */
#ifndef PAGE_FLAME_TREE_H
#define PAGE_FLAME_TREE_H

#include "page/flame_stacks.h"

struct flame_node {
    uint32_t caller;   /* an older node; 0 for the root */
    uint32_t function; /* as in struct flame */
    uint32_t depth;
};

struct flame_tree {
    size_t n_types, n;
    struct flame_node *nodes;
    int64_t *values; /* n_types own values for each node */
};

/* Makes the tree of the first n_types sample types, with at most `most` nodes (at least 3). The callees that
 * a node does not keep are one node FLAME_FOLDED. The caller releases *ret. */
int flame_tree_make(const struct flame_stacks *stacks, size_t n_types, size_t most, struct flame_tree *ret,
                    struct err *err);
void flame_tree_release(struct flame_tree *tree);

#endif
