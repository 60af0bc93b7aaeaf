/*
 * The graph of a report. A node is a place in the program, such as a function or a line; an edge is a call.
 *
 * The granularity determines which places are one node. For example, with functions, all functions of one
 * name are one node. A sample counts once for each node and edge on its stack, even if the node or edge is
 * there several times. It counts as flat only for the innermost node.
 *
 * A graph is made in steps, so that a large profile costs only the parts of the graph that the report needs:
 *
 * graph_init finds the places. graph_count computes flat and cum of all of them; graph_grow_tree does so for
 * a call tree, with its edges. graph_keep selects the nodes to show. graph_connect makes the edges between
 * them; an edge across hidden nodes is residual.
 *
 * Source: google/pprof internal/graph.
 */
#ifndef PPROF_GRAPH_GRAPH_H
#define PPROF_GRAPH_GRAPH_H

#include "proto/proto.h"

/* No node; no edge. */
#define GRAPH_NONE UINT32_MAX

/* A place. name, file and objfile are indices of the profile's strings; 0: unknown. */
struct node_info {
    uint64_t address;
    int64_t line, column, start_line;
    uint32_t name, file, objfile;
};

struct node {
    struct node_info info;
    int64_t flat, flat_div, cum, cum_div; /* *_div: the divisors of means; 0: none */
    uint32_t first_in, first_out;         /* its edges, linked by next_in and next_out; GRAPH_NONE: none */
    uint64_t inlined_bound; /* with only_inlined: an upper bound of the weight of the inlined calls into it */
    bool kept;              /* false: hidden */
};

struct edge {
    uint32_t from, to; /* indices of nodes */
    uint32_t next_in, next_out;
    int64_t weight, weight_div;
    bool residual; /* crosses hidden nodes */
    bool inlined;  /* the call is inlined in every sample */
    bool gone;     /* the edge was removed and is not shown */
};

struct graph_options {
    size_t value_index; /* index of the sample type */
    bool mean;          /* divide by the first sample type */
    bool objnames;      /* distinguish places of different binaries, and record start lines */
    bool drop_negative;
    bool tree; /* call tree: a node for each path to a place */
    /* Compute only the edges into nodes with inlined calls, and only those whose |weight| is at least
     * min_edge_weight. */
    bool only_inlined;
    int64_t min_edge_weight;
    unsigned threads; /* 1 or 2; 0: chosen by size */
};

struct graph {
    struct profile *profile;
    struct graph_options options;
    struct node *nodes;
    size_t n_nodes;
    struct edge *edges;
    size_t n_edges, cap_edges;
    uint32_t *order; /* the nodes to show */
    size_t n_order;

    /* The nodes of the lines of all locations. A location without lines has one node. */
    uint32_t *frames;
    uint32_t *frame_at; /* by location, n_locations + 1 items: the first index in `frames` */

    /* in a tree: the innermost node of each sample; GRAPH_NONE if the sample has no weight */
    uint32_t *leaves;
};

/* Finds the places. May add strings to the profile. Call graph_release even after a failure. */
int graph_init(struct graph *g, struct profile *profile, const struct graph_options *options,
               struct err *err);
void graph_release(struct graph *g);

/* Computes flat and cum. Puts every node with a value to show (graph_shows) into `order`. */
int graph_count(struct graph *g, struct err *err);
/* Works like graph_count for a call tree, whose nodes replace those of graph_init. */
int graph_grow_tree(struct graph *g, struct err *err);
/* Computes a sample's value, and its divisor for means. Returns false if the sample has no weight. */
static inline bool graph_weight(const struct graph *g, size_t sample, int64_t *w, int64_t *div)
{
    const int64_t *values = &g->profile->values[sample * g->profile->n_sample_types];
    *w = values[g->options.value_index];
    *div = g->options.mean ? values[0] : 0;
    return *w != 0 || *div != 0;
}
/* Returns whether a node has a value to show. */
static inline bool graph_shows(const struct graph *g, const struct node *n)
{
    if (n->cum == 0 && n->flat == 0)
        return false;
    return !g->options.drop_negative || !(n->flat < 0 || (n->flat == 0 && n->cum < 0));
}
/* Keeps the nodes of `order` whose |cum| is at least the cutoff. Returns the number of nodes that it
 * removes from `order`. If it removes any, also hides all nodes outside `order`. */
size_t graph_keep(struct graph *g, int64_t cutoff);
/* Keeps only the first n nodes of `order`. */
void graph_keep_first(struct graph *g, size_t n);
/* Makes the edges between the kept nodes. In a call tree, selects them from the existing edges. */
int graph_connect(struct graph *g, struct err *err);
/* Removes hidden nodes from a call tree. */
void graph_prune_tree(struct graph *g);

enum graph_order { GRAPH_BY_FLAT, GRAPH_BY_CUM, GRAPH_BY_ENTROPY };
int graph_sort(struct graph *g, enum graph_order by, struct err *err);

/* Removes each edge into a shown node if the edge's |weight| is below the cutoff. Returns the number of
 * removed edges. */
size_t graph_drop_edges(struct graph *g, int64_t cutoff);
/* Removes residual edges that other paths make redundant. */
int graph_drop_redundant(struct graph *g, struct err *err);

/* Returns whether the list of edges that begins with `first` has a shown edge. `in`: the list is linked by
 * next_in, else by next_out. */
bool graph_has_edges(const struct graph *g, uint32_t first, bool in);
/* Sorts edges: the heaviest first, then by name. */
int graph_sort_edges(const struct graph *g, uint32_t *edges, size_t n, struct err *err);
/* The edges into or out of a node, sorted as graph_sort_edges does. The caller frees ret->items. */
struct graph_edges {
    uint32_t *items;
    size_t n;
};
int graph_edges(const struct graph *g, uint32_t node, bool in, struct graph_edges *ret, struct err *err);

/* Adds a place's name: "0000000000401000 main.f /src/f.go:12". */
void node_name(const struct graph *g, const struct node_info *info, struct buf *to);
/* Compares the names of two places like strcmp, but builds the names only if necessary. */
int node_compare_names(const struct graph *g, const struct node_info *a, const struct node_info *b);
/* Compares all members, as the last criterion of an order. */
int node_compare_all(const struct graph *g, const struct node_info *a, const struct node_info *b);

/* Returns the value to show: the mean, if there is a divisor. */
int64_t node_flat(const struct node *n);
int64_t node_cum(const struct node *n);

#endif
