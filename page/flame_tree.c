#include "page/flame_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static int add_node(struct flame_tree *tree, struct flame_node node, struct err *err)
{
    if (array_reserve((void **)&tree->nodes, &tree->cap_nodes, tree->n + 1, sizeof *tree->nodes, err) < 0 ||
        array_reserve((void **)&tree->weights, &tree->cap_weights, tree->n + 1, sizeof *tree->weights, err) <
            0 ||
        array_reserve((void **)&tree->values, &tree->cap_values, (tree->n + 1) * tree->n_types,
                      sizeof *tree->values, err) < 0)
        return -1;
    tree->nodes[tree->n] = node;
    tree->weights[tree->n] = 0;
    memset(tree->values + tree->n * tree->n_types, 0, tree->n_types * sizeof *tree->values);
    tree->n++;
    return 0;
}

int flame_tree_init(struct flame_tree *tree, size_t n_types, const double *scale, struct err *err)
{
    *tree = (struct flame_tree){.n_types = n_types, .cutoff = -1};
    memcpy(tree->scale, scale, n_types * sizeof *scale);
    return add_node(tree, (struct flame_node){.function = FLAME_ROOT}, err);
}

void flame_tree_release(struct flame_tree *tree)
{
    free(tree->nodes);
    free(tree->values);
    free(tree->weights);
    *tree = (struct flame_tree){0};
}

int flame_tree_grow(struct flame_tree *tree, uint32_t caller, uint32_t function, uint32_t *ret,
                    struct err *err)
{
    bool is_folded = function == FLAME_FOLDED;
    uint32_t known = is_folded ? tree->nodes[caller].folded : 0;
    *ret = known ? known : (uint32_t)tree->n;
    if (known)
        return 0;
    if (add_node(tree, (struct flame_node){caller, function, tree->nodes[caller].depth + 1, 0}, err) < 0)
        return -1;
    if (is_folded)
        tree->nodes[caller].folded = *ret;
    return 0;
}

static void add_values(struct flame_tree *tree, uint32_t node, const int64_t *values)
{
    int64_t *own = tree->values + node * tree->n_types;
    for (size_t i = 0; i < tree->n_types; i++)
        own[i] = (int64_t)((uint64_t)own[i] + (uint64_t)values[i]);
}

void flame_tree_add(struct flame_tree *tree, uint32_t node, const int64_t *values)
{
    double weight = 0;
    for (size_t i = 0; i < tree->n_types; i++)
        weight += fabs((double)values[i]) * tree->scale[i];
    add_values(tree, node, values);
    tree->weights[node] += weight;
    /* flame_tree_complete_node does not add the weight of a node FLAME_FOLDED to its caller. */
    if (tree->nodes[node].function == FLAME_FOLDED)
        tree->weights[tree->nodes[node].caller] += weight;
}

int flame_tree_complete_node(struct flame_tree *tree, uint32_t node, struct err *err)
{
    const struct flame_node completed = tree->nodes[node];
    size_t n = completed.folded ? 2 : 1;
    double weight = tree->weights[node];
    int64_t values[2 * FLAME_MAX_TYPES];
    uint32_t folded = 0;
    if (completed.function == FLAME_FOLDED || node == 0)
        return 0;
    tree->weights[completed.caller] += weight;
    /* Only nodes at the end of the array can be removed: the node itself, and its folded callees. */
    if (weight > tree->cutoff || tree->n != node + n)
        return 0;
    memcpy(values, tree->values + node * tree->n_types, n * tree->n_types * sizeof *values);
    tree->n = node;
    if (flame_tree_grow(tree, completed.caller, FLAME_FOLDED, &folded, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        add_values(tree, folded, values + i * tree->n_types);
    tree->weights[folded] += weight;
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
static void sort_by_weight(const struct flame_tree *tree, const uint32_t *path, size_t n_path,
                           struct node_weight *ret)
{
    for (size_t i = 0; i < tree->n; i++)
        ret[i] = (struct node_weight){tree->weights[i], (uint32_t)i};
    ret[0].weight = HUGE_VAL;
    for (size_t i = 0; i < n_path; i++)
        ret[path[i]].weight = HUGE_VAL;
    qsort(ret, tree->n, sizeof *ret, compare_weights);
}

/* Returns how many of the heaviest nodes can be kept, if each caller of a folded node needs one more node,
 * for FLAME_FOLDED. `lightest` gives the rank of each node's lightest callee, `change` has tree->n + 2 zeros.
 */
static size_t count_kept(const struct flame_tree *tree, const struct node_weight *order,
                         const uint32_t *lightest, size_t most, int64_t *change)
{
    size_t n_kept = 1;
    int64_t folded = 0;
    /* A caller needs a node FLAME_FOLDED if the first folded rank is after its own rank and not after the
     * rank of its lightest callee. */
    for (size_t rank = 0; rank < tree->n; rank++) {
        uint32_t last = lightest[order[rank].node];
        if (last > rank) {
            change[rank + 1]++;
            change[last + 1]--;
        }
    }
    for (size_t n = 1; n <= tree->n; n++) {
        folded += change[n];
        if (n + (size_t)folded <= most)
            n_kept = n;
    }
    return n_kept;
}

/* Copies the kept nodes, and folds the others. `rank` has the rank of each node, and gets its new number. */
static int move_nodes(const struct flame_tree *tree, uint32_t *rank, size_t n_kept, struct flame_tree *to,
                      struct err *err)
{
    rank[0] = 0;
    add_values(to, 0, tree->values);
    to->weights[0] = tree->weights[0];
    for (size_t i = 1; i < tree->n; i++) {
        const struct flame_node *node = &tree->nodes[i];
        bool is_kept = rank[i] < n_kept;
        uint32_t caller = rank[node->caller];
        if (to->nodes[caller].function == FLAME_FOLDED) {
            rank[i] = caller;
        } else {
            if (flame_tree_grow(to, caller, is_kept ? node->function : FLAME_FOLDED, &rank[i], err) < 0)
                return -1;
            to->weights[rank[i]] += tree->weights[i];
        }
        add_values(to, rank[i], tree->values + i * tree->n_types);
    }
    return 0;
}

/* Finds each node's rank, and the rank of its lightest callee. */
static void rank_nodes(const struct flame_tree *tree, const struct node_weight *order, uint32_t *rank,
                       uint32_t *lightest)
{
    for (size_t i = 0; i < tree->n; i++)
        rank[order[i].node] = (uint32_t)i;
    for (size_t i = 1; i < tree->n; i++) {
        uint32_t caller = tree->nodes[i].caller;
        lightest[caller] = rank[i] > lightest[caller] ? rank[i] : lightest[caller];
    }
}

int flame_tree_fold(struct flame_tree *tree, size_t most, uint32_t *path, size_t n_path, struct err *err)
{
    struct flame_tree to = {0};
    struct node_weight *order = calloc(tree->n, sizeof *order);
    uint32_t *rank = calloc(tree->n, sizeof *rank), *lightest = calloc(tree->n, sizeof *lightest);
    int64_t *change = calloc(tree->n + 2, sizeof *change);
    int rc = -1;
    if (!order || !rank || !lightest || !change) {
        err_nomem(err);
        goto out;
    }
    sort_by_weight(tree, path, n_path, order);
    rank_nodes(tree, order, rank, lightest);
    size_t n_kept = count_kept(tree, order, lightest, most, change);
    if (flame_tree_init(&to, tree->n_types, tree->scale, err) == 0 &&
        move_nodes(tree, rank, n_kept, &to, err) == 0) {
        if (n_kept < tree->n && order[n_kept].weight < HUGE_VAL)
            to.cutoff = order[n_kept].weight;
        for (size_t i = 0; i < n_path; i++)
            path[i] = rank[path[i]];
        flame_tree_release(tree);
        *tree = to;
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
