#include "page/flame_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static int add_node(struct flame_tree *t, struct flame_node node, struct err *err)
{
    if (array_reserve((void **)&t->nodes, &t->cap_nodes, t->n + 1, sizeof *t->nodes, err) < 0 ||
        array_reserve((void **)&t->weights, &t->cap_weights, t->n + 1, sizeof *t->weights, err) < 0 ||
        array_reserve((void **)&t->values, &t->cap_values, (t->n + 1) * t->n_types, sizeof *t->values, err) <
            0)
        return -1;
    t->nodes[t->n] = node;
    t->weights[t->n] = 0;
    memset(t->values + t->n * t->n_types, 0, t->n_types * sizeof *t->values);
    t->n++;
    return 0;
}

int flame_tree_init(struct flame_tree *t, size_t n_types, const double *scale, struct err *err)
{
    *t = (struct flame_tree){.n_types = n_types, .cutoff = -1};
    memcpy(t->scale, scale, n_types * sizeof *scale);
    return add_node(t, (struct flame_node){.function = FLAME_ROOT}, err);
}

void flame_tree_release(struct flame_tree *t)
{
    free(t->nodes);
    free(t->values);
    free(t->weights);
    *t = (struct flame_tree){0};
}

int flame_tree_grow(struct flame_tree *t, uint32_t caller, uint32_t function, uint32_t *ret, struct err *err)
{
    bool folded = function == FLAME_SMALLER;
    uint32_t known = folded ? t->nodes[caller].smaller : 0;
    *ret = known ? known : (uint32_t)t->n;
    if (known)
        return 0;
    if (add_node(t, (struct flame_node){caller, function, t->nodes[caller].depth + 1, 0}, err) < 0)
        return -1;
    if (folded)
        t->nodes[caller].smaller = *ret;
    return 0;
}

static void add_values(struct flame_tree *t, uint32_t node, const int64_t *values)
{
    int64_t *own = t->values + node * t->n_types;
    for (size_t i = 0; i < t->n_types; i++)
        own[i] = (int64_t)((uint64_t)own[i] + (uint64_t)values[i]);
}

void flame_tree_add(struct flame_tree *t, uint32_t node, const int64_t *values)
{
    double weight = 0;
    for (size_t i = 0; i < t->n_types; i++)
        weight += fabs((double)values[i]) * t->scale[i];
    add_values(t, node, values);
    t->weights[node] += weight;
    /* flame_tree_complete_node ignores this node. */
    if (t->nodes[node].function == FLAME_SMALLER)
        t->weights[t->nodes[node].caller] += weight;
}

int flame_tree_complete_node(struct flame_tree *t, uint32_t node, struct err *err)
{
    const struct flame_node left = t->nodes[node];
    size_t n = left.smaller ? 2 : 1;
    double weight = t->weights[node];
    int64_t values[2 * FLAME_MAX_TYPES];
    uint32_t smaller = 0;
    if (left.function == FLAME_SMALLER || node == 0)
        return 0;
    t->weights[left.caller] += weight;
    /* Only nodes at the end of the array can be removed: the node itself, and its folded callees. */
    if (weight > t->cutoff || t->n != node + n)
        return 0;
    memcpy(values, t->values + node * t->n_types, n * t->n_types * sizeof *values);
    t->n = node;
    if (flame_tree_grow(t, left.caller, FLAME_SMALLER, &smaller, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_values(t, smaller, values + i * t->n_types);
    t->weights[smaller] += weight;
    return 0;
}

/* ---- folding ------------------------------------------------------------------------------------------- */

struct node_weight {
    double weight;
    uint32_t node;
};

/* The heaviest first, then the oldest, so that callers precede their callees. */
static int compare_weights(const void *a, const void *b)
{
    const struct node_weight *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* Sorts by weight. The root and the nodes of the path are first. */
static void sort_by_weight(const struct flame_tree *t, const uint32_t *path, size_t n_path,
                           struct node_weight *ret)
{
    for (size_t i = 0; i < t->n; i++)
        ret[i] = (struct node_weight){t->weights[i], (uint32_t)i};
    ret[0].weight = HUGE_VAL;
    for (size_t i = 0; i < n_path; i++)
        ret[path[i]].weight = HUGE_VAL;
    qsort(ret, t->n, sizeof *ret, compare_weights);
}

/* The number of the heaviest nodes that can stay, if each caller of a folded node needs one more. `lightest`
 * gives the rank of each node's lightest callee. */
static size_t count_staying(const struct flame_tree *t, const struct node_weight *order,
                            const uint32_t *lightest, size_t most, int64_t *change)
{
    size_t staying = 1;
    int64_t folded = 0;
    /* A caller needs one from its own rank up to the rank of its lightest callee. */
    for (size_t rank = 0; rank < t->n; rank++) {
        uint32_t last = lightest[order[rank].node];
        if (last > rank) {
            change[rank + 1]++;
            change[last + 1]--;
        }
    }
    for (size_t n = 1; n <= t->n; n++) {
        folded += change[n];
        if (n + (size_t)folded <= most)
            staying = n;
    }
    return staying;
}

/* Copies the nodes that stay, and folds the others. `rank` becomes the new numbers. */
static int move_nodes(const struct flame_tree *t, uint32_t *rank, size_t staying, struct flame_tree *to,
                      struct err *err)
{
    rank[0] = 0;
    add_values(to, 0, t->values);
    to->weights[0] = t->weights[0];
    for (size_t i = 1; i < t->n; i++) {
        const struct flame_node *node = &t->nodes[i];
        bool stays = rank[i] < staying;
        uint32_t caller = rank[node->caller];
        if (to->nodes[caller].function == FLAME_SMALLER) {
            rank[i] = caller;
        } else {
            if (flame_tree_grow(to, caller, stays ? node->function : FLAME_SMALLER, &rank[i], err) < 0)
                return -1;
            to->weights[rank[i]] += t->weights[i];
        }
        add_values(to, rank[i], t->values + i * t->n_types);
    }
    return 0;
}

/* Finds each node's rank, and the rank of its lightest callee. */
static void rank_nodes(const struct flame_tree *t, const struct node_weight *order, uint32_t *rank,
                       uint32_t *lightest)
{
    for (size_t i = 0; i < t->n; i++)
        rank[order[i].node] = (uint32_t)i;
    for (size_t i = 1; i < t->n; i++) {
        uint32_t caller = t->nodes[i].caller;
        lightest[caller] = rank[i] > lightest[caller] ? rank[i] : lightest[caller];
    }
}

int flame_tree_fold(struct flame_tree *t, size_t most, uint32_t *path, size_t n_path, struct err *err)
{
    struct flame_tree to = {0};
    struct node_weight *order = calloc(t->n, sizeof *order);
    uint32_t *rank = calloc(t->n, sizeof *rank), *lightest = calloc(t->n, sizeof *lightest);
    int64_t *change = calloc(t->n + 2, sizeof *change);
    int rc = -1;
    if (!order || !rank || !lightest || !change) {
        err_nomem(err);
        goto out;
    }
    sort_by_weight(t, path, n_path, order);
    rank_nodes(t, order, rank, lightest);
    size_t staying = count_staying(t, order, lightest, most, change);
    if (flame_tree_init(&to, t->n_types, t->scale, err) == 0 && move_nodes(t, rank, staying, &to, err) == 0) {
        if (staying < t->n && order[staying].weight < HUGE_VAL)
            to.cutoff = order[staying].weight;
        for (size_t i = 0; i < n_path; i++)
            path[i] = rank[path[i]];
        flame_tree_release(t);
        *t = to;
        to = (struct flame_tree){0};
        rc = 0;
    }
out:
    flame_tree_release(&to);
    free(order);
    free(rank);
    free(lightest);
    free(change);
    return rc;
}
