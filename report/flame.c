/*
 * The tree grows sample by sample. A profile can have far more ways through the program than anybody wants to
 * see, so that it is folded whenever it has grown to several times what is wanted, and once more at the end.
 */
#include "report/flame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/flame_tree.h"
#include "report/report.h"
#include "base/banned.h"

/* It may grow to so many times what is wanted. */
#define GROWTH 3
/* A location stands for so many inlined calls at most: there are never more than dozens, and a file of a few
 * bytes could have a great many. */
#define MAX_INLINED 1000

struct drawing {
    struct profile *p;
    struct flame *f;
    size_t cap_functions;
    struct finder by_name; /* f->functions */
    uint32_t *of_function; /* by the profile's functions: ours */
    uint32_t *of_location; /* by its locations that have no lines: ours */
    struct flame_tree tree;
    size_t most;
    /* The stack before: its outermost locations, and the node that each led to. */
    uint32_t path[FLAME_MAX_DEPTH], nodes[FLAME_MAX_DEPTH];
    size_t n_path;
};

/* ---- functions -------------------------------------------------------------------------------------------
 */

struct named {
    const struct flame *f;
    uint32_t name, file;
};

static bool is_named(const void *ctx, uint32_t number)
{
    const struct named *w = ctx;
    return w->f->functions[number].name == w->name && w->f->functions[number].file == w->file;
}

static int find_function(struct drawing *d, struct flame_function function, uint32_t *ret, struct err *err)
{
    struct flame *f = d->f;
    uint64_t hash = finder_mix(finder_seed(&d->by_name), (uint64_t)function.name << 32 | function.file);
    uint32_t at = finder_find(&d->by_name, hash, is_named, &(struct named){f, function.name, function.file});
    if (at == FINDER_NONE) {
        at = (uint32_t)f->n_functions;
        if (array_reserve((void **)&f->functions, &d->cap_functions, at + 1, sizeof *f->functions, err) < 0 ||
            finder_add(&d->by_name, hash, err) < 0)
            return -1;
        f->functions[f->n_functions++] = function;
    }
    *ret = at;
    return 0;
}

static int find_functions(struct drawing *d, struct err *err)
{
    for (size_t i = 0; i < d->p->n_functions; i++) {
        const struct profile_function *known = &d->p->functions[i];
        struct flame_function function = {known->name ? known->name : known->system_name, known->filename,
                                          known->start_line};
        if (find_function(d, function, &d->of_function[i], err) < 0)
            return -1;
    }
    return 0;
}

/* What a location without lines is called: after the file that it lies in. */
static int find_places(struct drawing *d, struct err *err)
{
    for (size_t i = 0; i < d->p->n_locations; i++) {
        const struct profile_location *location = &d->p->locations[i];
        struct flame_function function = {0};
        char name[300] = "<unknown>";
        if (location->n_lines > 0)
            continue;
        if (location->mapping != PROFILE_NONE) {
            char file[256];
            struct str path = profile_str(d->p, d->p->mappings[location->mapping].file);
            text_printable(file, sizeof file, path.p, path.n);
            if (*file_base(file))
                snprintf(name, sizeof name, "[%s]", file_base(file));
        }
        if (profile_intern(d->p, name, strlen(name), &function.name, err) < 0 ||
            find_function(d, function, &d->of_location[i], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- growing ---------------------------------------------------------------------------------------------
 */

/* A call below *node; what is too deep is folded there. */
static int step(struct drawing *d, uint32_t *node, uint32_t function, struct err *err)
{
    const struct flame_node *at = &d->tree.nodes[*node];
    if (at->function == FLAME_SMALLER)
        return 0;
    if (at->depth + 1 >= FLAME_MAX_DEPTH)
        function = FLAME_SMALLER;
    return flame_tree_step(&d->tree, *node, function, node, err);
}

/* The calls of a location, the outermost first. */
static int step_location(struct drawing *d, uint32_t location, uint32_t *node, struct err *err)
{
    const struct profile_location *l = &d->p->locations[location];
    if (l->n_lines == 0)
        return step(d, node, d->of_location[location], err);
    uint32_t n = l->n_lines < MAX_INLINED ? l->n_lines : MAX_INLINED;
    for (uint32_t i = n; i-- > 0;) {
        uint32_t function = d->p->lines[l->line_at + i].function;
        if (function != PROFILE_NONE && step(d, node, d->of_function[function], err) < 0)
            return -1;
    }
    return 0;
}

/* Goes from the outermost call of a stack to the leaf, over what it has in common with the one before. */
static int walk(struct drawing *d, const struct profile_sample *s, uint32_t *ret, struct err *err)
{
    uint32_t node = 0;
    bool follows = true;
    for (size_t i = 0; i < s->depth; i++) {
        uint32_t location = profile_frame(d->p, s, s->depth - 1 - i);
        follows = follows && i < d->n_path && d->path[i] == location;
        if (follows) {
            node = d->nodes[i];
            continue;
        }
        if (step_location(d, location, &node, err) < 0)
            return -1;
        if (i >= FLAME_MAX_DEPTH || d->tree.nodes[node].function == FLAME_SMALLER)
            break;
        d->path[i] = location;
        d->nodes[i] = node;
        d->n_path = i + 1;
    }
    *ret = node;
    return 0;
}

static int add_sample(struct drawing *d, size_t i, struct err *err)
{
    uint32_t node = 0;
    if (d->tree.n > d->most * GROWTH) {
        d->n_path = 0;
        if (flame_tree_fold(&d->tree, d->most, err) < 0)
            return -1;
    }
    if (walk(d, &d->p->samples[i], &node, err) < 0)
        return -1;
    flame_tree_add(&d->tree, node, d->p->values + i * d->p->n_sample_types);
    return 0;
}

/* ---- laying out ------------------------------------------------------------------------------------------
 */

struct child {
    uint64_t weight; /* of the default type, without its sign */
    uint32_t caller, node;
};

static int by_caller(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->node < y->node ? -1 : 1;
}

/* All nodes but the root, by caller, the heaviest first. */
static void order_children(const struct drawing *d, int64_t *sums, struct child *ret)
{
    const struct flame_tree *t = &d->tree;
    for (size_t i = 0; i < t->n; i++)
        sums[i] = t->values[i * t->n_types + d->f->default_type];
    for (size_t i = t->n; i-- > 1;) {
        uint32_t caller = t->nodes[i].caller;
        sums[caller] = (int64_t)((uint64_t)sums[caller] + (uint64_t)sums[i]);
        ret[i - 1] =
            (struct child){sums[i] < 0 ? -(uint64_t)sums[i] : (uint64_t)sums[i], caller, (uint32_t)i};
    }
    qsort(ret, t->n - 1, sizeof *ret, by_caller);
}

static void put_node(struct flame *f, const struct flame_tree *t, uint32_t node)
{
    size_t at = f->n_nodes++;
    f->depth[at] = t->nodes[node].depth;
    f->function[at] = t->nodes[node].function;
    memcpy(f->self + at * t->n_types, t->values + node * t->n_types, t->n_types * sizeof *f->self);
}

/* Nodes in preorder. `first`: of each, where its own begin among the children; `pending`: a stack of those
 * whose turn will come. */
static void put_nodes(const struct drawing *d, const struct child *children, uint32_t *first,
                      uint32_t *pending)
{
    const struct flame_tree *t = &d->tree;
    size_t n_pending = 1, n = t->n - 1;
    for (size_t i = n; i-- > 0;)
        first[children[i].caller] = (uint32_t)i;
    pending[0] = 0;
    while (n_pending > 0) {
        uint32_t node = pending[--n_pending];
        size_t end = first[node];
        put_node(d->f, t, node);
        while (end < n && children[end].caller == node)
            end++;
        while (end > first[node])
            pending[n_pending++] = children[--end].node;
    }
}

static int lay_out(struct drawing *d, struct err *err)
{
    struct flame *f = d->f;
    size_t n = d->tree.n;
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
        memset(first, 0xff, n * sizeof *first); /* behind the end: it calls nothing */
        order_children(d, sums, children);
        put_nodes(d, children, first, pending);
        rc = 0;
    }
    free(sums);
    free(children);
    free(first);
    free(pending);
    return rc;
}

/* Leaves out the functions that no node has, the others in the order in which they are met. */
static int keep_functions(struct flame *f, struct err *err)
{
    struct flame_function *kept = calloc(f->n_functions + 1, sizeof *kept);
    uint32_t *number = malloc((f->n_functions + 1) * sizeof *number);
    uint32_t n = 0;
    if (!kept || !number) {
        free(kept);
        free(number);
        return err_nomem(err);
    }
    memset(number, 0xff, (f->n_functions + 1) * sizeof *number);
    for (size_t i = 0; i < f->n_nodes; i++) {
        uint32_t function = f->function[i];
        if (function >= FLAME_SMALLER)
            continue;
        if (number[function] == UINT32_MAX) {
            kept[n] = f->functions[function];
            number[function] = n++;
        }
        f->function[i] = number[function];
    }
    free(number);
    free(f->functions);
    f->functions = kept;
    f->n_functions = n;
    return 0;
}

/* ---- all of it -------------------------------------------------------------------------------------------
 */

static int draw(struct drawing *d, struct err *err)
{
    struct flame *f = d->f;
    struct profile *p = d->p;
    if (report_prune(p, err) < 0 || report_sample_index(p, NULL, &f->default_type, err) < 0)
        return -1;
    f->n_types = p->n_sample_types < FLAME_MAX_TYPES ? p->n_sample_types : FLAME_MAX_TYPES;
    if (f->default_type >= f->n_types)
        f->default_type = 0;
    d->of_function = calloc(p->n_functions + 1, sizeof *d->of_function);
    d->of_location = calloc(p->n_locations + 1, sizeof *d->of_location);
    if (!d->of_function || !d->of_location)
        return err_nomem(err);
    if (find_functions(d, err) < 0 || find_places(d, err) < 0 ||
        flame_tree_init(&d->tree, f->n_types, err) < 0)
        return -1;
    for (size_t i = 0; i < p->n_samples; i++)
        if (add_sample(d, i, err) < 0)
            return -1;
    if (d->tree.n > d->most && flame_tree_fold(&d->tree, d->most, err) < 0)
        return -1;
    return lay_out(d, err) < 0 ? -1 : keep_functions(f, err);
}

int flame_new(struct profile *p, size_t max_nodes, struct flame **ret, struct err *err)
{
    struct drawing *d = calloc(1, sizeof *d);
    struct flame *f = calloc(1, sizeof *f);
    int rc = -1;
    if (!d || !f) {
        err_nomem(err);
    } else {
        d->p = p;
        d->f = f;
        d->most = max_nodes;
        rc = draw(d, err);
        finder_release(&d->by_name);
        flame_tree_release(&d->tree);
        free(d->of_function);
        free(d->of_location);
    }
    free(d);
    if (rc < 0)
        flame_free(f);
    else
        *ret = f;
    return rc;
}

void flame_free(struct flame *f)
{
    if (!f)
        return;
    free(f->depth);
    free(f->function);
    free(f->self);
    free(f->functions);
    free(f);
}
