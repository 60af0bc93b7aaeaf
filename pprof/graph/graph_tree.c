/*
 * A call tree: a node for each path to a place, so that each node has at most one caller.
 *
 * graph_init has found the places of each stack. A node is a place below another node. Callers are made
 * before their callees, so that a walk in the order of indices meets callers first.
 */
#include <stdlib.h>
#include <string.h>

#include "pprof/graph/graph.h"
#include "base/banned.h"

struct tree_growth {
    struct graph *g;
    struct node *nodes;
    size_t n_nodes, cap_nodes;
    uint64_t *keys; /* by node: caller + 1 and place */
    size_t cap_keys;
    struct hash_index by_key;
};

struct wanted {
    const struct tree_growth *t;
    uint64_t key;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    return w->t->keys[index] == w->key;
}

/* Adds an edge into the last node. */
static int add_edge(struct tree_growth *t, uint32_t from, bool inlined, struct err *err)
{
    struct graph *g = t->g;
    if (array_reserve((void **)&g->edges, &g->cap_edges, g->n_edges + 1, sizeof *g->edges, err) < 0)
        return -1;
    struct node *to = &t->nodes[t->n_nodes - 1];
    g->edges[g->n_edges] = (struct edge){.from = from,
                                         .to = (uint32_t)t->n_nodes - 1,
                                         .next_in = GRAPH_NONE,
                                         .next_out = t->nodes[from].first_out,
                                         .inlined = inlined};
    t->nodes[from].first_out = to->first_in = (uint32_t)g->n_edges++;
    return 0;
}

static int add_node(struct tree_growth *t, uint64_t key, uint64_t hash, uint32_t place, struct err *err)
{
    if (array_reserve((void **)&t->nodes, &t->cap_nodes, t->n_nodes + 1, sizeof *t->nodes, err) < 0 ||
        array_reserve((void **)&t->keys, &t->cap_keys, t->n_nodes + 1, sizeof *t->keys, err) < 0 ||
        hash_index_add(&t->by_key, hash, err) < 0)
        return -1;
    t->keys[t->n_nodes] = key;
    t->nodes[t->n_nodes++] = (struct node){
        .info = t->g->nodes[place].info, .first_in = GRAPH_NONE, .first_out = GRAPH_NONE, .kept = true};
    return 0;
}

/* *node is the caller, or GRAPH_NONE for a root. Sets *node to the caller's callee at the place. Makes the
 * callee if it is missing. */
static int find_node(struct tree_growth *t, uint32_t *node, uint32_t place, bool inlined, struct err *err)
{
    uint32_t caller = *node;
    uint64_t key = (uint64_t)(caller + 1) << 32 | place; /* GRAPH_NONE becomes 0 */
    uint64_t hash = hash_index_mix(hash_index_seed(&t->by_key), key);
    uint32_t at = hash_index_find(&t->by_key, hash, is_wanted, &(struct wanted){t, key});
    if (at == HASH_INDEX_NONE) {
        at = (uint32_t)t->n_nodes;
        if (add_node(t, key, hash, place, err) < 0 ||
            (caller != GRAPH_NONE && add_edge(t, caller, inlined, err) < 0))
            return -1;
    }
    *node = at;
    return 0;
}

static void count_node(struct tree_growth *t, uint32_t at, int64_t w, int64_t div, bool inlined)
{
    struct node *n = &t->nodes[at];
    n->cum = measure_sum(n->cum, w);
    n->cum_div = measure_sum(n->cum_div, div);
    if (n->first_in == GRAPH_NONE)
        return;
    struct edge *e = &t->g->edges[n->first_in];
    e->weight = measure_sum(e->weight, w);
    e->weight_div = measure_sum(e->weight_div, div);
    e->inlined = e->inlined && inlined;
}

/* Adds the stack of a sample, unless its weight is 0. *ret: the node of its leaf, or GRAPH_NONE. */
static int add_stack(struct tree_growth *t, size_t sample, uint32_t *ret, struct err *err)
{
    const struct graph *g = t->g;
    const struct profile_sample *s = &g->profile->samples[sample];
    int64_t w = 0, div = 0;
    uint32_t node = GRAPH_NONE;
    *ret = GRAPH_NONE;
    if (!graph_weight(g, sample, &w, &div))
        return 0;
    for (size_t i = s->depth; i-- > 0;) {
        uint32_t location = profile_frame(g->profile, s, i);
        size_t first = g->frame_at[location], outermost = g->frame_at[location + 1] - 1;
        for (size_t at = outermost + 1; at-- > first;) {
            if (find_node(t, &node, g->frames[at], at != outermost, err) < 0)
                return -1;
            count_node(t, node, w, div, at != outermost);
        }
    }
    if (node != GRAPH_NONE) {
        t->nodes[node].flat = measure_sum(t->nodes[node].flat, w);
        t->nodes[node].flat_div = measure_sum(t->nodes[node].flat_div, div);
    }
    *ret = node;
    return 0;
}

static int add_samples(struct tree_growth *t, struct err *err)
{
    struct graph *g = t->g;
    const struct profile *p = g->profile;
    g->leaves = malloc((p->n_samples + 1) * sizeof *g->leaves);
    if (!g->leaves)
        return err_nomem(err);
    for (size_t i = 0; i < p->n_samples; i++)
        if (add_stack(t, i, &g->leaves[i], err) < 0)
            return -1;
    g->order = malloc((t->n_nodes + 1) * sizeof *g->order);
    return g->order ? 0 : err_nomem(err);
}

int graph_grow_tree(struct graph *g, struct err *err)
{
    struct tree_growth t = {.g = g};
    int rc = add_samples(&t, err);
    free(t.keys);
    hash_index_release(&t.by_key);
    if (rc < 0) {
        free(t.nodes);
        return -1;
    }
    free(g->nodes);
    g->nodes = t.nodes;
    g->n_nodes = t.n_nodes;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (graph_shows(g, &g->nodes[i]))
            g->order[g->n_order++] = (uint32_t)i;
    return 0;
}

/* ---- pruning ------------------------------------------------------------------------------------------- */

/* Redirects an edge past its hidden callers. Removes the edge if no caller is left. The edges of the callers
 * were redirected earlier. */
static void redirect_edge(struct graph *g, struct edge *e)
{
    const struct node *from = &g->nodes[e->from];
    if (e->gone || from->kept || !graph_shows(g, from))
        return;
    const struct edge *above = from->first_in == GRAPH_NONE ? NULL : &g->edges[from->first_in];
    if (!above || above->gone) {
        e->gone = true;
        return;
    }
    e->from = above->from;
    e->residual = true;
    e->inlined = e->inlined && above->inlined;
}

/* A node that graph_shows refuses stays in the tree, but is never shown. */
void graph_prune_tree(struct graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].first_in != GRAPH_NONE)
            redirect_edge(g, &g->edges[g->nodes[i].first_in]);
    for (size_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].first_out = GRAPH_NONE;
    for (size_t i = 0; i < g->n_edges; i++) {
        struct edge *e = &g->edges[i];
        const struct node *to = &g->nodes[e->to];
        bool pruned = !to->kept && graph_shows(g, to);
        if (e->gone || pruned)
            continue;
        e->next_out = g->nodes[e->from].first_out;
        g->nodes[e->from].first_out = (uint32_t)i;
    }
}
