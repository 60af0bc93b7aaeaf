#include "page/flame.h"

#include <stdlib.h>
#include <string.h>

#include "page/flame_stacks.h"
#include "page/flame_tree.h"
#include "pprof/pprof.h"
#include "base/banned.h"

struct tree_builder {
    struct profile *p;
    struct flame *f;
    struct flame_stacks stacks;
    struct flame_tree tree;
};

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

static int make_tree(struct tree_builder *builder, size_t max_nodes, struct err *err)
{
    struct flame *f = builder->f;
    struct profile *p = builder->p;
    if (report_prune(p, err) < 0 || profile_default_type(p, &f->default_type, err) < 0)
        return -1;
    f->n_types = p->n_sample_types < FLAME_MAX_TYPES ? p->n_sample_types : FLAME_MAX_TYPES;
    if (f->default_type >= f->n_types)
        f->default_type = 0;
    if (flame_stacks_init(&builder->stacks, p, err) < 0 ||
        flame_tree_make(&builder->stacks, f->n_types, max_nodes, &builder->tree, err) < 0)
        return -1;
    return write_tree(builder, err) < 0 ? -1 : keep_functions(builder, err);
}

int flame_new(struct profile *profile, size_t max_nodes, struct flame **ret, struct err *err)
{
    struct flame *f = calloc(1, sizeof *f);
    struct tree_builder builder = {.p = profile, .f = f};
    int rc = f ? make_tree(&builder, max_nodes, err) : err_nomem(err);
    flame_stacks_release(&builder.stacks);
    flame_tree_release(&builder.tree);
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
