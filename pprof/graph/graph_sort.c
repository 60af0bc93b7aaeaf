/* Sorts a graph for display. Equal weights are sorted by name, so that a report depends only on the
 * profile. */
#include <math.h>
#include <stdlib.h>

#include "pprof/graph/graph.h"
#include "base/banned.h"

/* ---- nodes --------------------------------------------------------------------------------------------- */

/* Compares the absolute values, in descending order. */
static int compare_weights(int64_t a, int64_t b)
{
    return (measure_abs(a) < measure_abs(b)) - (measure_abs(a) > measure_abs(b));
}

struct ranked {
    const struct graph *g;
    uint32_t node;
    int64_t first;  /* the first criterion */
    int64_t second; /* the criterion after the name */
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int order = compare_weights(a->first, b->first);
    if (order)
        return order;
    const struct node_info *x = &a->g->nodes[a->node].info, *y = &a->g->nodes[b->node].info;
    order = node_compare_names(a->g, x, y);
    if (!order)
        order = compare_weights(a->second, b->second);
    if (!order)
        order = node_compare_all(a->g, x, y);
    /* In a call tree, several nodes can have the same node_info. */
    return order ? order : (a->node > b->node) - (a->node < b->node);
}

/* The algorithm of Go's math.Log2, which is exact for powers of two, so that scores equal those of pprof. */
static double log2_of(double v)
{
    int exponent = 0;
    double fraction = frexp(v, &exponent);
    return fraction == 0.5 ? exponent - 1 : log(fraction) * (1 / M_LN2) + exponent;
}

/* The entropy of a part of the total. A total of 0 gives NaN, as in pprof. */
static double entropy_of(int64_t part, int64_t total)
{
    double fraction = (double)measure_abs(part) / (double)total;
    return -fraction * log2_of(fraction);
}

/* The entropy of the edges into or out of a node; `self` is the node's own part. */
static double edge_entropy(const struct graph *g, uint32_t first, bool in, int64_t self)
{
    double score = 0;
    int64_t total = self;
    for (uint32_t at = first; at != GRAPH_NONE; at = in ? g->edges[at].next_in : g->edges[at].next_out)
        if (!g->edges[at].gone && g->edges[at].weight > 0)
            total = measure_sum(total, g->edges[at].weight);
    if (total == 0)
        return 0;
    for (uint32_t at = first; at != GRAPH_NONE; at = in ? g->edges[at].next_in : g->edges[at].next_out)
        if (!g->edges[at].gone)
            score += entropy_of(g->edges[at].weight, total);
    return self > 0 ? score + entropy_of(self, total) : score;
}

bool graph_has_edges(const struct graph *g, uint32_t first, bool in)
{
    for (uint32_t at = first; at != GRAPH_NONE; at = in ? g->edges[at].next_in : g->edges[at].next_out)
        if (!g->edges[at].gone)
            return true;
    return false;
}

/* The score of a node by the entropy of its edges: low if the node only passes calls on. Roots and leaves
 * score higher. */
static int64_t entropy_score(const struct graph *g, const struct node *n)
{
    double score = graph_has_edges(g, n->first_in, true) ? edge_entropy(g, n->first_in, true, 0) : 1;
    score += graph_has_edges(g, n->first_out, false) ? edge_entropy(g, n->first_out, false, n->flat) : 1;
    return measure_sum(profile_double_to_int(score * (double)n->cum), n->flat);
}

int graph_sort(struct graph *g, enum graph_order by, struct err *err)
{
    struct ranked *ranks = malloc((g->n_order + 1) * sizeof *ranks);
    if (!ranks)
        return err_nomem(err);
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        ranks[i] =
            (struct ranked){.g = g, .node = g->order[i], .second = by == GRAPH_BY_FLAT ? n->cum : n->flat};
        ranks[i].first = by == GRAPH_BY_FLAT ? n->flat : by == GRAPH_BY_CUM ? n->cum : entropy_score(g, n);
    }
    qsort(ranks, g->n_order, sizeof *ranks, compare_ranked);
    for (size_t i = 0; i < g->n_order; i++)
        g->order[i] = ranks[i].node;
    free(ranks);
    return 0;
}

/* ---- edges --------------------------------------------------------------------------------------------- */

struct ranked_edge {
    const struct graph *g;
    uint32_t edge;
};

static int compare_edges(const void *left, const void *right)
{
    const struct ranked_edge *a = left, *b = right;
    const struct graph *g = a->g;
    const struct edge *x = &g->edges[a->edge], *y = &g->edges[b->edge];
    if (measure_abs(x->weight) != measure_abs(y->weight))
        return compare_weights(x->weight, y->weight);
    int order =
        x->from == y->from ? 0 : node_compare_names(g, &g->nodes[x->from].info, &g->nodes[y->from].info);
    if (!order && x->to != y->to)
        order = node_compare_names(g, &g->nodes[x->to].info, &g->nodes[y->to].info);
    return order ? order : (a->edge > b->edge) - (a->edge < b->edge);
}

int graph_sort_edges(const struct graph *g, uint32_t *edges, size_t n, struct err *err)
{
    struct ranked_edge *ranks = malloc((n + 1) * sizeof *ranks);
    if (!ranks)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        ranks[i] = (struct ranked_edge){g, edges[i]};
    qsort(ranks, n, sizeof *ranks, compare_edges);
    for (size_t i = 0; i < n; i++)
        edges[i] = ranks[i].edge;
    free(ranks);
    return 0;
}

int graph_edges(const struct graph *g, uint32_t node, bool in, struct graph_edges *ret, struct err *err)
{
    uint32_t first = in ? g->nodes[node].first_in : g->nodes[node].first_out;
    size_t n = 0;
    for (uint32_t at = first; at != GRAPH_NONE; at = in ? g->edges[at].next_in : g->edges[at].next_out)
        n += !g->edges[at].gone;
    uint32_t *edges = malloc((n + 1) * sizeof *edges);
    if (!edges)
        return err_nomem(err);
    size_t i = 0;
    for (uint32_t at = first; at != GRAPH_NONE; at = in ? g->edges[at].next_in : g->edges[at].next_out)
        if (!g->edges[at].gone)
            edges[i++] = at;
    if (graph_sort_edges(g, edges, n, err) < 0) {
        free(edges);
        return -1;
    }
    *ret = (struct graph_edges){edges, n};
    return 0;
}
