/*
 * A call tree while it grows: nodes by caller, in the order in which they came. What is left behind is left
 * for good, and folded at once where it weighs less than what had to be folded before.
 */
#ifndef REPORT_FLAME_TREE_H
#define REPORT_FLAME_TREE_H

#include "report/flame.h"

struct flame_node {
    uint32_t caller;   /* a node that came before; the root's own: 0 */
    uint32_t function; /* as in struct flame */
    uint32_t depth;
    uint32_t smaller; /* where those that it calls are folded, of function FLAME_SMALLER; 0: not so far */
};

struct flame_tree {
    size_t n_types;
    double scale[FLAME_MAX_TYPES]; /* what a value of each type weighs */
    double cutoff;                 /* what weighs no more is folded */
    struct flame_node *nodes;
    int64_t *values; /* n_types for each: its own */
    double *weights; /* of each, with all that it calls and that was left */
    size_t n, cap_nodes, cap_values, cap_weights;
};

/* A tree of nothing but its root. */
int flame_tree_init(struct flame_tree *t, size_t n_types, const double *scale, struct err *err);
void flame_tree_release(struct flame_tree *t);

/* A node below its caller: a new one, or of FLAME_SMALLER the one that there is. */
int flame_tree_grow(struct flame_tree *t, uint32_t caller, uint32_t function, uint32_t *ret, struct err *err);

/* Adds to a node's own values, modulo 2^64. */
void flame_tree_add(struct flame_tree *t, uint32_t node, const int64_t *values);

/* Nothing more comes of this node, nor of any that it calls: those were left before. */
int flame_tree_leave(struct flame_tree *t, uint32_t node, struct err *err);

/*
 * Leaves at most that many nodes, the heaviest: the others go into FLAME_SMALLER below the caller that stays.
 * Nodes get other numbers, and still come behind their callers. Those of `path`, which were not left, may
 * still become heavier: they stay before all others, and get their new numbers.
 */
int flame_tree_fold(struct flame_tree *t, size_t most, uint32_t *path, size_t n_path, struct err *err);

#endif
