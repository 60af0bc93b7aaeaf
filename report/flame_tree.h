/* A call tree while it grows: nodes by caller and function, in the order in which they came. */
#ifndef REPORT_FLAME_TREE_H
#define REPORT_FLAME_TREE_H

#include "base/base.h"

struct flame_node {
    uint32_t caller;   /* a node that came before; the root's own: 0 */
    uint32_t function; /* as in struct flame */
    uint32_t depth;
};

struct flame_tree {
    size_t n_types;
    struct flame_node *nodes;
    int64_t *values; /* n_types for each: its own */
    size_t n, cap_nodes, cap_values;
    struct finder by_key;
};

/* A tree of nothing but its root. */
int flame_tree_init(struct flame_tree *t, size_t n_types, struct err *err);
void flame_tree_release(struct flame_tree *t);

/* The node of a function below its caller, made if there is none. */
int flame_tree_step(struct flame_tree *t, uint32_t caller, uint32_t function, uint32_t *ret, struct err *err);

/* Adds to a node's own values, modulo 2^64. */
void flame_tree_add(struct flame_tree *t, uint32_t node, const int64_t *values);

/* Leaves at most that many nodes, the heaviest: the others go into FLAME_SMALLER below the caller that stays.
 * Nodes get other numbers, and still come behind their callers. */
int flame_tree_fold(struct flame_tree *t, size_t most, struct err *err);

#endif
