/* Removes residual edges whose callee can be reached from their caller on another path. */
#include <stdlib.h>

#include "pprof/graph/graph.h"
#include "base/banned.h"

struct search {
    const struct graph *g;
    uint32_t *seen; /* by node: the number of the last search that reached it */
    uint32_t *queue;
    uint32_t number; /* of the current search */
};

/* Whether another path leads from the edge's caller to its callee. Searches backwards, because nodes have few
 * callers. */
static bool is_redundant(struct search *s, uint32_t edge)
{
    const struct graph *g = s->g;
    uint32_t wanted = g->edges[edge].from;
    size_t first = 0, n = 0;
    s->seen[s->queue[n++] = g->edges[edge].to] = ++s->number;
    while (first < n) {
        const struct node *node = &g->nodes[s->queue[first++]];
        for (uint32_t at = node->first_in; at != GRAPH_NONE; at = g->edges[at].next_in) {
            uint32_t from = g->edges[at].from;
            if (at == edge || g->edges[at].gone || s->seen[from] == s->number)
                continue;
            if (from == wanted)
                return true;
            s->seen[s->queue[n++] = from] = s->number;
        }
    }
    return false;
}

/* Visits the edges into a node, the lightest first, until one is not residual. Removes those that are
 * redundant. */
static int remove_redundant(struct search *s, struct graph *g, uint32_t node, struct err *err)
{
    struct graph_edges in = {NULL, 0};
    if (graph_edges(g, node, true, &in, err) < 0)
        return -1;
    for (size_t i = in.n; i > 0 && g->edges[in.items[i - 1]].residual; i--)
        if (is_redundant(s, in.items[i - 1]))
            g->edges[in.items[i - 1]].gone = true;
    free(in.items);
    return 0;
}

int graph_drop_redundant(struct graph *g, struct err *err)
{
    struct search s = {.g = g,
                       .seen = calloc(g->n_nodes + 1, sizeof *s.seen),
                       .queue = malloc((g->n_nodes + 1) * sizeof *s.queue)};
    int rc = s.seen && s.queue ? 0 : err_nomem(err);
    for (size_t i = g->n_order; i-- > 0 && rc == 0;)
        rc = remove_redundant(&s, g, g->order[i], err);
    free(s.seen);
    free(s.queue);
    return rc;
}
