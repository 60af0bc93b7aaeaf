/*
 * The tree grows stack by stack, with stacks that begin alike next to each other: a stack adds nodes only
 * where it differs from the previous one. A profile can have far more paths than a picture can show, so the
 * tree is folded whenever it exceeds GROWTH times its limit, and once more at the end.
 */
#include "page/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/flame_stacks.h"
#include "page/flame_tree.h"
#include "pprof/pprof.h"
#include "base/banned.h"

/* The tree may exceed its limit by this factor before it is folded. */
#define GROWTH 3

struct tree_builder {
    struct profile *p;
    struct flame *f;
    struct flame_stacks stacks;
    struct flame_tree tree;
    size_t max_nodes;
    /* The previous stack: its calls, the outermost first, and the node of each. */
    uint32_t path[FLAME_MAX_DEPTH], nodes[FLAME_MAX_DEPTH];
    size_t n_path;
};

/* ---- growing ------------------------------------------------------------------------------------------- */

/* Completes the nodes of the path from that depth on. */
static int complete_nodes(struct tree_builder *builder, size_t depth, struct err *err)
{
    while (builder->n_path > depth)
        if (flame_tree_complete_node(&builder->tree, builder->nodes[--builder->n_path], err) < 0)
            return -1;
    return 0;
}

/* Adds the nodes of a stack from the outermost call to the leaf. *ret is the last node, or the node into
 * which it is folded. */
static int add_stack(struct tree_builder *builder, const struct profile_sample *s, uint32_t *ret,
                     struct err *err)
{
    struct flame_calls calls = flame_calls_of(&builder->stacks, s);
    uint32_t node = 0, function = 0;
    bool same_path = true;
    for (size_t i = 0;
         builder->tree.nodes[node].function != FLAME_FOLDED && flame_calls_next(&calls, &function); i++) {
        /* Calls that are too deep are folded. */
        if (i + 1 >= FLAME_MAX_DEPTH)
            function = FLAME_FOLDED;
        same_path = same_path && i < builder->n_path && builder->path[i] == function;
        if (!same_path) {
            if (complete_nodes(builder, i, err) < 0 ||
                flame_tree_grow(&builder->tree, node, function, &builder->nodes[i], err) < 0)
                return -1;
            builder->path[i] = function;
            builder->n_path = i + 1;
        }
        node = builder->nodes[i];
    }
    *ret = node;
    return 0;
}

static int add_sample(struct tree_builder *builder, size_t i, struct err *err)
{
    uint32_t node = 0;
    if (builder->tree.n > builder->max_nodes * GROWTH &&
        flame_tree_fold(&builder->tree, builder->max_nodes, builder->nodes, builder->n_path, err) < 0)
        return -1;
    if (add_stack(builder, &builder->p->samples[i], &node, err) < 0)
        return -1;
    flame_tree_add(&builder->tree, node, builder->p->values + i * builder->p->n_sample_types);
    return 0;
}

/* ---- laying out ---------------------------------------------------------------------------------------- */

struct child {
    uint64_t weight; /* the absolute value of the default type, with all callees */
    uint32_t caller, node;
};

static int compare_callers(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* Sorts all nodes but the root by caller, the heaviest first. */
static void order_children(const struct tree_builder *builder, int64_t *sums, struct child *ret)
{
    const struct flame_tree *t = &builder->tree;
    for (size_t i = 0; i < t->n; i++)
        sums[i] = t->values[i * t->n_types + builder->f->default_type];
    for (size_t i = t->n; i-- > 1;) {
        uint32_t caller = t->nodes[i].caller;
        sums[caller] = (int64_t)((uint64_t)sums[caller] + (uint64_t)sums[i]);
        ret[i - 1] =
            (struct child){sums[i] < 0 ? -(uint64_t)sums[i] : (uint64_t)sums[i], caller, (uint32_t)i};
    }
    qsort(ret, t->n - 1, sizeof *ret, compare_callers);
}

static void put_node(struct flame *flame, const struct flame_tree *tree, uint32_t node)
{
    size_t at = flame->n_nodes++;
    flame->depth[at] = tree->nodes[node].depth;
    flame->function[at] = tree->nodes[node].function;
    memcpy(flame->self + at * tree->n_types, tree->values + node * tree->n_types,
           tree->n_types * sizeof *flame->self);
}

/* Writes the nodes in preorder. `first` gives the first callee of each node in `children`; `pending` is a
 * stack of nodes. */
static void put_nodes(const struct tree_builder *builder, const struct child *children, uint32_t *first,
                      uint32_t *pending)
{
    const struct flame_tree *t = &builder->tree;
    size_t n_pending = 1, n = t->n - 1;
    for (size_t i = n; i-- > 0;)
        first[children[i].caller] = (uint32_t)i;
    pending[0] = 0;
    while (n_pending > 0) {
        uint32_t node = pending[--n_pending];
        size_t end = first[node];
        put_node(builder->f, t, node);
        while (end < n && children[end].caller == node)
            end++;
        while (end > first[node])
            pending[n_pending++] = children[--end].node;
    }
}

static int write_tree(struct tree_builder *builder, struct err *err)
{
    struct flame *f = builder->f;
    size_t n = builder->tree.n;
    int64_t *sums = calloc(n, sizeof *sums);
    struct child *children = calloc(n, sizeof *children);
    uint32_t *first = malloc(n * sizeof *first), *pending = calloc(n, sizeof *pending);
    int rc = -1;
    f->depth = calloc(n, sizeof *f->depth);
    f->function = calloc(n, sizeof *f->function);
    f->self = calloc(n * f->n_types, sizeof *f->self);
    if (!sums || !children || !first || !pending || !f->depth || !f->function || !f->self) {
        err_nomem(err);
    } else {
        memset(first, 0xff, n * sizeof *first); /* a node without callees has an index past the end */
        order_children(builder, sums, children);
        put_nodes(builder, children, first, pending);
        rc = 0;
    }
    free(sums);
    free(children);
    free(first);
    free(pending);
    return rc;
}

/* Keeps the functions of the nodes, in the order of their first node. */
static int keep_functions(const struct tree_builder *builder, struct err *err)
{
    struct flame *f = builder->f;
    size_t n = builder->stacks.n_functions;
    uint32_t *number = malloc((n + 1) * sizeof *number);
    f->functions = calloc(n + 1, sizeof *f->functions);
    if (!number || !f->functions) {
        free(number);
        return err_nomem(err);
    }
    memset(number, 0xff, (n + 1) * sizeof *number);
    for (size_t i = 0; i < f->n_nodes; i++) {
        uint32_t function = f->function[i];
        if (function >= FLAME_FOLDED)
            continue;
        if (number[function] == UINT32_MAX) {
            number[function] = (uint32_t)f->n_functions;
            f->functions[f->n_functions++] = builder->stacks.functions[function];
        }
        f->function[i] = number[function];
    }
    free(number);
    return 0;
}

/* ---- entry --------------------------------------------------------------------------------------------- */

/* Sets the weight of one unit of each type: 1 divided by the sum of the absolute values of all samples. */
static void find_scale(const struct profile *profile, size_t n_types, double *ret)
{
    for (size_t type = 0; type < n_types; type++) {
        double all = 0;
        for (size_t i = 0; i < profile->n_samples; i++)
            all += fabs((double)profile->values[i * profile->n_sample_types + type]);
        ret[type] = all > 0 ? 1 / all : 0;
    }
}

static int grow_tree(struct tree_builder *builder, struct err *err)
{
    struct flame *f = builder->f;
    struct profile *p = builder->p;
    double scale[FLAME_MAX_TYPES] = {0};
    if (report_prune(p, err) < 0 || profile_default_type(p, &f->default_type, err) < 0)
        return -1;
    f->n_types = p->n_sample_types < FLAME_MAX_TYPES ? p->n_sample_types : FLAME_MAX_TYPES;
    if (f->default_type >= f->n_types)
        f->default_type = 0;
    find_scale(p, f->n_types, scale);
    if (flame_stacks_init(&builder->stacks, p, err) < 0 ||
        flame_tree_init(&builder->tree, f->n_types, scale, err) < 0)
        return -1;
    for (size_t i = 0; i < p->n_samples; i++)
        if (add_sample(builder, builder->stacks.order[i], err) < 0)
            return -1;
    if (complete_nodes(builder, 0, err) < 0)
        return -1;
    if (builder->tree.n > builder->max_nodes &&
        flame_tree_fold(&builder->tree, builder->max_nodes, NULL, 0, err) < 0)
        return -1;
    return write_tree(builder, err) < 0 ? -1 : keep_functions(builder, err);
}

int flame_new(struct profile *profile, size_t max_nodes, struct flame **ret, struct err *err)
{
    struct tree_builder *builder = calloc(1, sizeof *builder);
    struct flame *f = calloc(1, sizeof *f);
    int rc = -1;
    if (!builder || !f) {
        err_nomem(err);
    } else {
        builder->p = profile;
        builder->f = f;
        builder->max_nodes = max_nodes;
        rc = grow_tree(builder, err);
        flame_stacks_release(&builder->stacks);
        flame_tree_release(&builder->tree);
    }
    free(builder);
    if (rc < 0)
        flame_free(f);
    else
        *ret = f;
    return rc;
}

void flame_free(struct flame *flame)
{
    if (!flame)
        return;
    free(flame->depth);
    free(flame->function);
    free(flame->self);
    free(flame->functions);
    free(flame);
}
