#include "report/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "report/flame.h"
#include "base/banned.h"

struct wanted {
    const struct flame_tree *t;
    uint32_t caller, function;
};

static bool is_wanted(const void *ctx, uint32_t number)
{
    const struct wanted *w = ctx;
    /* The root is in no finder: its things are the nodes behind it. */
    const struct flame_node *node = &w->t->nodes[number + 1];
    return node->caller == w->caller && node->function == w->function;
}

static int add_node(struct flame_tree *t, struct flame_node node, struct err *err)
{
    if (array_reserve((void **)&t->nodes, &t->cap_nodes, t->n + 1, sizeof *t->nodes, err) < 0 ||
        array_reserve((void **)&t->values, &t->cap_values, (t->n + 1) * t->n_types, sizeof *t->values, err) <
            0)
        return -1;
    t->nodes[t->n] = node;
    memset(t->values + t->n * t->n_types, 0, t->n_types * sizeof *t->values);
    t->n++;
    return 0;
}

int flame_tree_init(struct flame_tree *t, size_t n_types, struct err *err)
{
    *t = (struct flame_tree){.n_types = n_types};
    return add_node(t, (struct flame_node){.function = FLAME_ROOT}, err);
}

void flame_tree_release(struct flame_tree *t)
{
    free(t->nodes);
    free(t->values);
    finder_release(&t->by_key);
    *t = (struct flame_tree){0};
}

int flame_tree_step(struct flame_tree *t, uint32_t caller, uint32_t function, uint32_t *ret, struct err *err)
{
    uint64_t hash = finder_mix(finder_seed(&t->by_key), (uint64_t)caller << 32 | function);
    uint32_t at = finder_find(&t->by_key, hash, is_wanted, &(struct wanted){t, caller, function});
    if (at != FINDER_NONE) {
        *ret = at + 1;
        return 0;
    }
    struct flame_node node = {caller, function, t->nodes[caller].depth + 1};
    if (add_node(t, node, err) < 0)
        return -1;
    if (finder_add(&t->by_key, hash, err) < 0) {
        t->n--;
        return -1;
    }
    *ret = (uint32_t)t->n - 1;
    return 0;
}

void flame_tree_add(struct flame_tree *t, uint32_t node, const int64_t *values)
{
    int64_t *own = t->values + node * t->n_types;
    for (size_t i = 0; i < t->n_types; i++)
        own[i] = (int64_t)((uint64_t)own[i] + (uint64_t)values[i]);
}

/* ---- folding ---------------------------------------------------------------------------------------------
 */

struct weighed {
    double weight;
    uint32_t node;
};

/* Heaviest first; of equal ones those that came first, so that callers stand before what they call. */
static int by_weight(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

static double magnitude(int64_t v)
{
    return v < 0 ? -(double)v : (double)v;
}

/* What each node weighs with all that it calls: its shares of what all samples have of each type. */
static void weigh(const struct flame_tree *t, struct weighed *ret)
{
    for (size_t i = 0; i < t->n; i++)
        ret[i] = (struct weighed){.node = (uint32_t)i};
    for (size_t type = 0; type < t->n_types; type++) {
        double all = 0;
        for (size_t i = 0; i < t->n; i++)
            all += magnitude(t->values[i * t->n_types + type]);
        for (size_t i = 0; all > 0 && i < t->n; i++)
            ret[i].weight += magnitude(t->values[i * t->n_types + type]) / all;
    }
    for (size_t i = t->n; i-- > 1;)
        ret[t->nodes[i].caller].weight += ret[i].weight;
}

/* How many of the heaviest can stay, when each caller of one that goes needs a node for what is folded.
 * `lightest`: of each node, the rank of the lightest that it calls. */
static size_t count_staying(const struct flame_tree *t, const struct weighed *order, const uint32_t *lightest,
                            size_t most, int64_t *change)
{
    size_t staying = 1;
    int64_t folded = 0;
    /* A caller needs one from where it stays itself to where all that it calls stays. */
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

/* The nodes that stay, and what is folded, into another tree. `rank` becomes the numbers they have there. */
static int move(const struct flame_tree *t, uint32_t *rank, size_t staying, struct flame_tree *to,
                struct err *err)
{
    rank[0] = 0;
    flame_tree_add(to, 0, t->values);
    for (size_t i = 1; i < t->n; i++) {
        const struct flame_node *node = &t->nodes[i];
        bool stays = rank[i] < staying;
        uint32_t caller = rank[node->caller];
        if (to->nodes[caller].function == FLAME_SMALLER)
            rank[i] = caller;
        else if (flame_tree_step(to, caller, stays ? node->function : FLAME_SMALLER, &rank[i], err) < 0)
            return -1;
        flame_tree_add(to, rank[i], t->values + i * t->n_types);
    }
    return 0;
}

int flame_tree_fold(struct flame_tree *t, size_t most, struct err *err)
{
    struct flame_tree to = {0};
    struct weighed *order = calloc(t->n, sizeof *order);
    uint32_t *rank = calloc(t->n, sizeof *rank), *lightest = calloc(t->n, sizeof *lightest);
    int64_t *change = calloc(t->n + 2, sizeof *change);
    int rc = -1;
    if (!order || !rank || !lightest || !change) {
        err_nomem(err);
        goto out;
    }
    weigh(t, order);
    qsort(order, t->n, sizeof *order, by_weight);
    for (size_t i = 0; i < t->n; i++)
        rank[order[i].node] = (uint32_t)i;
    for (size_t i = 1; i < t->n; i++) {
        uint32_t caller = t->nodes[i].caller;
        lightest[caller] = rank[i] > lightest[caller] ? rank[i] : lightest[caller];
    }
    size_t staying = count_staying(t, order, lightest, most, change);
    if (flame_tree_init(&to, t->n_types, err) == 0 && move(t, rank, staying, &to, err) == 0) {
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
