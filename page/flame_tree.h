/*
 * A growing call tree. Nodes are in the order of their creation. A node is complete when its last callee and
 * its last value were added. The tree folds a complete node at once if the node weighs at most `cutoff`, and
 * no node is newer except the node's own callee FLAME_FOLDED.
 */
#ifndef PAGE_FLAME_TREE_H
#define PAGE_FLAME_TREE_H

#include "page/flame.h"

struct flame_node {
    uint32_t caller;   /* an older node; 0 for the root */
    uint32_t function; /* as in struct flame */
    uint32_t depth;
    uint32_t folded; /* the callee FLAME_FOLDED, which stands for all folded callees; 0: none yet */
};

struct flame_tree {
    size_t n_types;
    double scale[FLAME_MAX_TYPES]; /* the weight of one unit of each type */
    double cutoff; /* the weight of the heaviest node that the previous flame_tree_fold folded; -1: none */
    struct flame_node *nodes;
    int64_t *values; /* n_types own values for each node */
    double *weights; /* by node: the weight of the node and all its complete callees */
    size_t n, cap_nodes, cap_values, cap_weights;
};

/* Makes a tree that is only a root. */
int flame_tree_init(struct flame_tree *tree, size_t n_types, const double *scale, struct err *err);
void flame_tree_release(struct flame_tree *tree);

/* Adds a node below its caller. For FLAME_FOLDED, returns the existing node if there is one. */
int flame_tree_grow(struct flame_tree *tree, uint32_t caller, uint32_t function, uint32_t *ret,
                    struct err *err);

/* Adds to a node's own values, modulo 2^64. */
void flame_tree_add(struct flame_tree *tree, uint32_t node, const int64_t *values);

/* Call this after the last sample of a node: the tree may then fold the node. Complete the callees first. */
int flame_tree_complete_node(struct flame_tree *tree, uint32_t node, struct err *err);

/*
 * Keeps the heaviest nodes, and folds the others into the node FLAME_FOLDED of their nearest kept caller. The
 * tree then has at most `most` nodes. Nodes get new numbers, but still follow their callers. The n_path nodes
 * in `path` are not complete yet: they count as the heaviest, and `path` gets their new numbers.
 */
int flame_tree_fold(struct flame_tree *tree, size_t most, uint32_t *path, size_t n_path, struct err *err);

#endif
