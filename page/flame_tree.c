#include "page/flame_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* If more nodes than this many times the limit may still be kept, the lightest of them are dropped. */
#define PENDING_FACTOR 4

/* A node that is kept, or that may be. Its samples are entries[begin] to entries[end - 1]. */
struct grown_node {
    uint32_t caller; /* its index in `kept` */
    uint32_t function, depth;
    uint32_t begin, end;
    uint32_t age; /* the number of nodes made before */
    double weight;
};

struct kept_node {
    struct flame_node node;
    uint32_t n_callees, n_kept_callees;
};

/* A sample and the position in its stack: the next calls are calls[at] to calls[end - 1], and then those of
 * the frames from `frame` - 1 down to `leaf`, indices in the profile's `stack`. `function` is that of the
 * next call once the entry was counted, or the number of functions if the stack ends. */
struct entry {
    uint32_t sample, leaf, frame, at, end, function;
};

/* The samples of a node whose next call is the same. */
struct division {
    uint32_t function;   /* as in struct entry */
    uint32_t n, at, end; /* at, end: its entries that may be in the wrong place */
    double weight;
};

struct grower {
    const struct flame_stacks *stacks;
    size_t n_types, most;
    double scale[FLAME_MAX_TYPES]; /* the weight of one unit of each type */
    struct entry *entries;

    struct grown_node *nodes;
    int64_t *totals; /* n_types values for each node, with its callees */
    size_t n_nodes, cap_nodes, cap_totals;
    uint32_t *unused; /* indices of dropped nodes */
    size_t n_unused, cap_unused;
    uint32_t n_made;

    uint32_t *pending; /* indices of nodes that may be kept, a heap: the heaviest first */
    size_t n_pending, cap_pending;

    struct kept_node *kept;   /* room for `most` */
    int64_t *own, *folded;    /* n_types values for each kept node: its own, and those of callees not kept */
    size_t n_kept, n_folding; /* n_folding: kept nodes with a callee that is not kept */

    struct division *divisions;
    int64_t *sums; /* n_types values for each division */
    size_t n_divisions, cap_divisions, cap_sums;
    uint32_t *division_of; /* by function, as in struct entry; valid if divided_for has the present number */
    uint32_t *divided_for;
    uint32_t n_divided; /* the number of nodes whose samples were divided */
};

static void subtract_values(int64_t *from, const int64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] = (int64_t)((uint64_t)from[i] - (uint64_t)values[i]);
}

/* ---- pending nodes ------------------------------------------------------------------------------------- */

static bool is_before(const struct grower *g, uint32_t a, uint32_t b)
{
    const struct grown_node *x = &g->nodes[a], *y = &g->nodes[b];
    return x->weight != y->weight ? x->weight > y->weight : x->age < y->age;
}

static int compare_pending(const void *a, const void *b, void *ctx)
{
    const struct grower *g = ctx;
    return is_before(g, *(const uint32_t *)a, *(const uint32_t *)b) ? -1 : 1;
}

/* Drops the lightest pending nodes: more than `most` nodes cannot be kept. */
static int drop_lightest(struct grower *g, struct err *err)
{
    if (array_reserve((void **)&g->unused, &g->cap_unused, g->n_unused + g->n_pending, sizeof *g->unused,
                      err) < 0)
        return -1;
    qsort_r(g->pending, g->n_pending, sizeof *g->pending, compare_pending, g);
    while (g->n_pending > g->most)
        g->unused[g->n_unused++] = g->pending[--g->n_pending];
    return 0;
}

static void swap_pending(struct grower *g, size_t i, size_t k)
{
    uint32_t node = g->pending[i];
    g->pending[i] = g->pending[k];
    g->pending[k] = node;
}

static int add_pending(struct grower *g, uint32_t node, struct err *err)
{
    if (g->n_pending >= PENDING_FACTOR * g->most && drop_lightest(g, err) < 0)
        return -1;
    if (array_reserve((void **)&g->pending, &g->cap_pending, g->n_pending + 1, sizeof *g->pending, err) < 0)
        return -1;
    size_t at = g->n_pending++;
    g->pending[at] = node;
    for (; at > 0 && is_before(g, g->pending[at], g->pending[(at - 1) / 2]); at = (at - 1) / 2)
        swap_pending(g, at, (at - 1) / 2);
    return 0;
}

static uint32_t take_heaviest(struct grower *g)
{
    uint32_t node = g->pending[0];
    g->pending[0] = g->pending[--g->n_pending];
    for (size_t at = 0, first; (first = 2 * at + 1) < g->n_pending; at = first) {
        if (first + 1 < g->n_pending && is_before(g, g->pending[first + 1], g->pending[first]))
            first++;
        if (!is_before(g, g->pending[first], g->pending[at]))
            break;
        swap_pending(g, at, first);
    }
    return node;
}

/* *ret: the index of a new node. */
static int make_node(struct grower *g, const struct grown_node *node, const int64_t *total, uint32_t *ret,
                     struct err *err)
{
    if (g->n_unused > 0) {
        *ret = g->unused[--g->n_unused];
    } else {
        if (array_reserve((void **)&g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof *g->nodes, err) < 0 ||
            array_reserve((void **)&g->totals, &g->cap_totals, (g->n_nodes + 1) * g->n_types,
                          sizeof *g->totals, err) < 0)
            return -1;
        *ret = (uint32_t)g->n_nodes++;
    }
    g->nodes[*ret] = *node;
    g->nodes[*ret].age = g->n_made++;
    memcpy(g->totals + *ret * g->n_types, total, g->n_types * sizeof *total);
    return 0;
}

/* ---- dividing ------------------------------------------------------------------------------------------ */

/* Finds the function of the next call, and goes past it. */
static void take_call(const struct flame_stacks *stacks, struct entry *e)
{
    while (e->at == e->end && e->frame > e->leaf) {
        uint32_t location = profile_frame_at(stacks->p, --e->frame);
        e->at = stacks->calls_at[location];
        e->end = stacks->calls_at[location + 1];
    }
    e->function = e->at < e->end ? stacks->calls[e->at++] : (uint32_t)stacks->n_functions;
}

/* Counts an entry in the division of its next call. */
static int count_entry(struct grower *g, struct entry *e, struct err *err)
{
    take_call(g->stacks, e);
    uint32_t function = e->function;
    const int64_t *values = g->stacks->p->values + e->sample * g->stacks->p->n_sample_types;
    if (g->divided_for[function] != g->n_divided) {
        if (array_reserve((void **)&g->divisions, &g->cap_divisions, g->n_divisions + 1, sizeof *g->divisions,
                          err) < 0 ||
            array_reserve((void **)&g->sums, &g->cap_sums, (g->n_divisions + 1) * g->n_types, sizeof *g->sums,
                          err) < 0)
            return -1;
        g->divisions[g->n_divisions] = (struct division){.function = function};
        memset(g->sums + g->n_divisions * g->n_types, 0, g->n_types * sizeof *g->sums);
        g->divided_for[function] = g->n_divided;
        g->division_of[function] = (uint32_t)g->n_divisions++;
    }
    struct division *d = &g->divisions[g->division_of[function]];
    d->n++;
    for (size_t i = 0; i < g->n_types; i++)
        d->weight += fabs((double)values[i]) * g->scale[i];
    flame_stacks_add_values(g->sums + g->division_of[function] * g->n_types, values, g->n_types);
    return 0;
}

/* Sorts the entries of a node by their division. */
static void sort_entries(struct grower *g, uint32_t begin)
{
    for (size_t i = 0; i < g->n_divisions; i++) {
        g->divisions[i].at = begin;
        begin += g->divisions[i].n;
        g->divisions[i].end = begin;
    }
    for (size_t i = 0; g->n_divisions > 1 && i < g->n_divisions; i++) {
        struct division *d = &g->divisions[i];
        while (d->at < d->end) {
            struct entry entry = g->entries[d->at];
            struct division *right = &g->divisions[g->division_of[entry.function]];
            if (right == d) {
                d->at++;
                continue;
            }
            g->entries[d->at] = g->entries[right->at];
            g->entries[right->at++] = entry;
        }
    }
}

/* Divides the samples of a node by their next call. */
static int divide(struct grower *g, const struct grown_node *node, struct err *err)
{
    g->n_divisions = 0;
    g->n_divided++;
    for (uint32_t i = node->begin; i < node->end; i++)
        if (count_entry(g, &g->entries[i], err) < 0)
            return -1;
    sort_entries(g, node->begin);
    return 0;
}

/* ---- keeping ------------------------------------------------------------------------------------------- */

static bool is_folding(const struct kept_node *k)
{
    return k->n_kept_callees < k->n_callees;
}

/* Makes the callees of the last kept node from the divisions. */
static int add_callees(struct grower *g, uint32_t begin, struct err *err)
{
    uint32_t caller = (uint32_t)g->n_kept - 1;
    struct kept_node *k = &g->kept[caller];
    for (size_t i = 0; i < g->n_divisions; i++) {
        const struct division *d = &g->divisions[i];
        const int64_t *sums = g->sums + i * g->n_types;
        uint32_t node;
        begin += d->n;
        if (d->function == g->stacks->n_functions) {
            flame_stacks_add_values(g->own + caller * g->n_types, sums, g->n_types);
            continue;
        }
        k->n_callees++;
        flame_stacks_add_values(g->folded + caller * g->n_types, sums, g->n_types);
        if (k->node.depth + 1 >= FLAME_MAX_DEPTH)
            continue;
        const struct grown_node callee = {.caller = caller,
                                          .function = d->function,
                                          .depth = k->node.depth + 1,
                                          .begin = begin - d->n,
                                          .end = begin,
                                          .weight = d->weight};
        if (make_node(g, &callee, sums, &node, err) < 0 || add_pending(g, node, err) < 0)
            return -1;
    }
    return 0;
}

/* Keeps a node, unless the tree has no room for it. *ret_kept: whether it was kept. */
static int keep(struct grower *g, uint32_t index, bool *ret_kept, struct err *err)
{
    const struct grown_node node = g->nodes[index];
    bool is_root = g->n_kept == 0, has_callees = false;
    if (divide(g, &node, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n_divisions; i++)
        has_callees = has_callees || g->divisions[i].function != g->stacks->n_functions;
    struct kept_node *caller = &g->kept[node.caller];
    bool is_last = !is_root && caller->n_kept_callees + 1 == caller->n_callees;
    size_t n_folding = g->n_folding + has_callees - is_last;
    *ret_kept = g->n_kept + 1 + n_folding <= g->most;
    if (!*ret_kept)
        return 0;
    g->n_folding = n_folding;
    if (!is_root) {
        caller->n_kept_callees++;
        subtract_values(g->folded + node.caller * g->n_types, g->totals + index * g->n_types, g->n_types);
    }
    g->kept[g->n_kept++] = (struct kept_node){.node = {node.caller, node.function, node.depth}};
    return add_callees(g, node.begin, err);
}

/* ---- the tree ------------------------------------------------------------------------------------------ */

static int grower_init(struct grower *g, struct err *err)
{
    size_t n = g->stacks->p->n_samples, n_functions = g->stacks->n_functions + 1;
    g->entries = n < UINT32_MAX ? calloc(n + 1, sizeof *g->entries) : NULL;
    g->kept = calloc(g->most, sizeof *g->kept);
    g->own = calloc(g->most * g->n_types, sizeof *g->own);
    g->folded = calloc(g->most * g->n_types, sizeof *g->folded);
    g->division_of = calloc(n_functions, sizeof *g->division_of);
    g->divided_for = calloc(n_functions, sizeof *g->divided_for);
    if (!g->entries || !g->kept || !g->own || !g->folded || !g->division_of || !g->divided_for)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const struct profile_sample *s = &g->stacks->p->samples[i];
        g->entries[i] = (struct entry){(uint32_t)i, s->stack_at, s->stack_at + s->depth, 0, 0, 0};
    }
    flame_stacks_scale(g->stacks, g->n_types, g->scale);
    return 0;
}

static void grower_release(struct grower *g)
{
    free(g->entries);
    free(g->nodes);
    free(g->totals);
    free(g->unused);
    free(g->pending);
    free(g->kept);
    free(g->own);
    free(g->folded);
    free(g->divisions);
    free(g->sums);
    free(g->division_of);
    free(g->divided_for);
}

static int grow(struct grower *g, struct err *err)
{
    const struct grown_node root = {.function = FLAME_ROOT, .end = (uint32_t)g->stacks->p->n_samples};
    const int64_t zeros[FLAME_MAX_TYPES] = {0};
    uint32_t node;
    bool kept = true;
    int rc = make_node(g, &root, zeros, &node, err);
    if (rc == 0)
        rc = keep(g, node, &kept, err);
    while (rc == 0 && kept && g->n_pending > 0) {
        node = take_heaviest(g);
        rc = array_reserve((void **)&g->unused, &g->cap_unused, g->n_unused + 1, sizeof *g->unused, err);
        if (rc == 0)
            rc = keep(g, node, &kept, err);
        if (rc == 0)
            g->unused[g->n_unused++] = node;
    }
    return rc;
}

static void put_node(struct flame_tree *tree, struct flame_node node, const int64_t *values)
{
    tree->nodes[tree->n] = node;
    memcpy(tree->values + tree->n * tree->n_types, values, tree->n_types * sizeof *values);
    tree->n++;
}

/* Copies the kept nodes, and then a node FLAME_FOLDED for each that folds callees. */
static int copy_tree(const struct grower *g, struct flame_tree *tree, struct err *err)
{
    size_t n = g->n_kept + g->n_folding;
    tree->nodes = calloc(n, sizeof *tree->nodes);
    tree->values = calloc(n * g->n_types, sizeof *tree->values);
    if (!tree->nodes || !tree->values)
        return err_nomem(err);
    for (size_t i = 0; i < g->n_kept; i++)
        put_node(tree, g->kept[i].node, g->own + i * g->n_types);
    for (size_t i = 0; i < g->n_kept; i++)
        if (is_folding(&g->kept[i]))
            put_node(tree, (struct flame_node){(uint32_t)i, FLAME_FOLDED, g->kept[i].node.depth + 1},
                     g->folded + i * g->n_types);
    return 0;
}

int flame_tree_make(const struct flame_stacks *stacks, size_t n_types, size_t most, struct flame_tree *ret,
                    struct err *err)
{
    struct grower g = {.stacks = stacks, .n_types = n_types, .most = most};
    *ret = (struct flame_tree){.n_types = n_types};
    int rc = grower_init(&g, err);
    if (rc == 0)
        rc = grow(&g, err);
    if (rc == 0)
        rc = copy_tree(&g, ret, err);
    grower_release(&g);
    return rc;
}

void flame_tree_release(struct flame_tree *tree)
{
    free(tree->nodes);
    free(tree->values);
    *tree = (struct flame_tree){0};
}
