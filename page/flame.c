#include "page/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/flame_stacks.h"
#include "page/flame_sums.h"
#include "page/flame_tree.h"
#include "pprof/pprof.h"
#include "base/banned.h"

struct tree_builder {
    const struct page_tree *wanted;
    struct profile *p;
    struct flame *f;
    struct flame_stacks stacks;
    struct flame_tree tree;
    struct flame_sums sums; /* of a folded tree */
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

/* Keeps the functions of the nodes, in the order of their first node. number: by function, UINT32_MAX. */
static void keep_functions_of_nodes(const struct tree_builder *builder, uint32_t *number)
{
    struct flame *f = builder->f;
    for (size_t i = 0; i < f->n_nodes; i++) {
        uint32_t function = f->function[i];
        f->is_folded |= function == FLAME_FOLDED;
        if (function >= FLAME_FOLDED)
            continue;
        if (number[function] == UINT32_MAX) {
            number[function] = (uint32_t)f->n_functions;
            f->functions[f->n_functions++] = builder->stacks.functions[function];
        }
        f->function[i] = number[function];
    }
}

/* A function without a node, and the share that its calls have in all sample types. */
struct weighed_function {
    uint32_t function;
    double weight;
};

static int compare_weights(const void *a, const void *b)
{
    const struct weighed_function *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->function < y->function ? -1 : 1;
}

/* Keeps functions without a node, the heaviest first, until there are `most`. rest: room for all functions.
 */
static void keep_heaviest_functions(const struct tree_builder *builder, const uint32_t *number,
                                    struct weighed_function *rest, size_t most)
{
    struct flame *f = builder->f;
    double scale[FLAME_MAX_TYPES];
    size_t n = 0;
    flame_stacks_scale(&builder->stacks, f->n_types, scale);
    for (uint32_t i = 0; i < builder->stacks.n_functions; i++) {
        const struct flame_sum *sum = flame_sums_at(&builder->sums, i);
        if (number[i] != UINT32_MAX || sum->last_sample == 0)
            continue;
        rest[n] = (struct weighed_function){.function = i};
        for (size_t type = 0; type < f->n_types; type++)
            rest[n].weight += fabs((double)sum->values[f->n_types + type]) * scale[type];
        n++;
    }
    qsort(rest, n, sizeof *rest, compare_weights);
    for (size_t i = 0; i < n && f->n_functions < most; i++)
        f->functions[f->n_functions++] = builder->stacks.functions[rest[i].function];
}

static int copy_sums(const struct tree_builder *builder, struct err *err)
{
    struct flame *f = builder->f;
    size_t n_types = f->n_types, size = n_types * sizeof *f->flat;
    f->flat = calloc(f->n_functions + 1, size);
    f->cum = calloc(f->n_functions + 1, size);
    if (!f->flat || !f->cum)
        return err_nomem(err);
    for (size_t i = 0; i < f->n_functions; i++) {
        const struct flame_sum *sum = flame_sums_at(&builder->sums, f->functions[i].number);
        memcpy(f->flat + i * n_types, sum->values, size);
        memcpy(f->cum + i * n_types, sum->values + n_types, size);
    }
    return 0;
}

static int keep_functions(struct tree_builder *builder, size_t max_nodes, struct err *err)
{
    struct flame *f = builder->f;
    size_t n = builder->stacks.n_functions + 1;
    uint32_t *number = malloc(n * sizeof *number);
    struct weighed_function *rest = calloc(n, sizeof *rest);
    f->functions = calloc(n, sizeof *f->functions);
    int rc = number && rest && f->functions ? 0 : err_nomem(err);
    if (rc == 0) {
        memset(number, 0xff, n * sizeof *number);
        keep_functions_of_nodes(builder, number);
    }
    if (rc == 0 && f->is_folded && builder->wanted->with_sums &&
        (rc = flame_sums_make(&builder->stacks, f->n_types, &builder->sums, err)) == 0) {
        keep_heaviest_functions(builder, number, rest, max_nodes);
        rc = copy_sums(builder, err);
    }
    free(number);
    free(rest);
    return rc;
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
        flame_stacks_keep(&builder->stacks, builder->wanted, err) < 0 ||
        flame_tree_make(&builder->stacks, f->n_types, max_nodes, &builder->tree, err) < 0)
        return -1;
    return write_tree(builder, err) < 0 ? -1 : keep_functions(builder, max_nodes, err);
}

int flame_new(struct profile *profile, const struct page_tree *wanted, size_t max_nodes, struct flame **ret,
              struct err *err)
{
    struct flame *f = calloc(1, sizeof *f);
    struct tree_builder builder = {.wanted = wanted, .p = profile, .f = f};
    int rc = f ? make_tree(&builder, max_nodes, err) : err_nomem(err);
    flame_stacks_release(&builder.stacks);
    flame_tree_release(&builder.tree);
    flame_sums_release(&builder.sums);
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
    free(flame->flat);
    free(flame->cum);
    free(flame);
}
