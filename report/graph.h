/*
 * What a report shows of a profile: nodes, which are places in the program, and edges, which are calls
 * between them.
 *
 * A node is all that is known of a place once the profile was aggregated: at the granularity of functions,
 * functions of one name are one node. A sample counts once for each node and each edge on its stack, however
 * often they stand there; only the innermost place gets it as its own (flat).
 *
 * A graph is made in steps, each over all samples, so that large profiles cost no more than the report needs:
 *
 *     graph_init      places
 *     graph_count     flat and cum of all of them; in a call tree, also the edges
 *     graph_keep      which of them are worth showing
 *     graph_connect   the edges between those; calls over others become residual
 *
 * Source: google/pprof internal/graph.
 */
#ifndef REPORT_GRAPH_H
#define REPORT_GRAPH_H

#include "proto/proto.h"

/* No node; no edge. */
#define GRAPH_NONE UINT32_MAX

/* Strings are the profile's. */
struct node_info {
    uint64_t address;
    int64_t line, column, start_line;
    uint32_t name, file, objfile;
};

struct node {
    struct node_info info;
    int64_t flat, flat_div, cum, cum_div;
    uint32_t first_in, first_out; /* its edges, by next_in and next_out */
    uint64_t inlined; /* with only_inlined: what its calls weigh that were inlined, never too little */
    bool kept;
};

struct edge {
    uint32_t from, to; /* nodes */
    uint32_t next_in, next_out;
    int64_t weight, weight_div;
    bool residual; /* goes over places that are not kept */
    bool inlined;  /* in every sample the call was inlined */
    bool gone;     /* taken out: not to be shown */
};

struct graph_options {
    size_t value_index; /* of the sample types */
    bool mean;          /* divide by the first sample type */
    bool objnames; /* places of different binaries are different ones, and know where their function begins */
    bool drop_negative;
    bool tree; /* a node for each place on each way to it */
    /* Edges matter only where they say whether a place is inlined, and only those of at least this |weight|:
     * others may be missing. */
    bool only_inlined;
    int64_t least;
    unsigned threads; /* 1 or 2; 0: as many as pay */
};

struct graph {
    struct profile *profile;
    struct graph_options options;
    struct node *nodes;
    size_t n_nodes;
    struct edge *edges;
    size_t n_edges, cap_edges;
    uint32_t *order; /* the nodes to be shown */
    size_t n_order;

    /* The node of each line of a location; one for a location that has no lines. */
    uint32_t *frames;
    uint32_t *frame_at; /* by location; n_locations + 1 of them */

    uint32_t *leaves; /* of a tree: the innermost node of each sample; GRAPH_NONE if it counts for nothing */
};

/* Finds the places. Interns into the profile's strings. graph_release is due whatever it says. */
int graph_init(struct graph *g, struct profile *profile, const struct graph_options *options,
               struct err *err);
void graph_release(struct graph *g);

/* Counts, and puts into `order` every node that has anything (and, if asked, nothing negative). */
int graph_count(struct graph *g, struct err *err);
/* graph_count of a call tree, whose nodes take the places' place. */
int graph_grow_tree(struct graph *g, struct err *err);
/* A sample's value, and its divisor where means are wanted. False if it counts for nothing. */
static inline bool graph_weight(const struct graph *g, size_t sample, int64_t *w, int64_t *div)
{
    const int64_t *values = &g->profile->values[sample * g->profile->n_sample_types];
    *w = values[g->options.value_index];
    *div = g->options.mean ? values[0] : 0;
    return *w != 0 || *div != 0;
}
/* Whether a node has anything to show. */
bool graph_shows(const struct graph *g, const struct node *n);
/* Keeps those of `order` whose |cum| is at least the cutoff: how many went. Only when some go, the rest are
 * no longer kept either. */
size_t graph_keep(struct graph *g, int64_t cutoff);
/* Keeps the first n of `order` alone. */
void graph_keep_first(struct graph *g, size_t n);
/* Makes the edges between the kept nodes, anew; in a call tree, of those there are. */
int graph_connect(struct graph *g, struct err *err);
/* The same of a call tree. */
void graph_prune_tree(struct graph *g);

enum graph_order { GRAPH_BY_FLAT, GRAPH_BY_CUM, GRAPH_BY_ENTROPY };
int graph_sort(struct graph *g, enum graph_order by, struct err *err);

/* Takes out edges into shown nodes with less weight: how many that were. */
size_t graph_drop_edges(struct graph *g, int64_t cutoff);
/* Takes out residual edges that other edges make superfluous. */
int graph_drop_redundant(struct graph *g, struct err *err);

/* Whether any edge of such a list is to be shown. */
bool graph_has_edges(const struct graph *g, uint32_t first, bool in);
/* Heaviest first, then by name. */
int graph_sort_edges(const struct graph *g, uint32_t *edges, size_t n, struct err *err);
/* The edges into or out of a node, heaviest first, then by name: *ret to be freed by the caller. */
int graph_edges(const struct graph *g, uint32_t node, bool in, uint32_t **ret, size_t *ret_n,
                struct err *err);

/* Adds what a place is called: "0000000000401000 main.f /src/f.go:12". */
void node_name(const struct graph *g, const struct node_info *info, struct buf *to);
/* Like strcmp of two such names, without making them where that can be seen at once. */
int node_compare_names(const struct graph *g, const struct node_info *a, const struct node_info *b);
/* The last resort: by all that is known of both. */
int node_compare_all(const struct graph *g, const struct node_info *a, const struct node_info *b);

/* What is shown of a node: the mean, if there is a divisor. */
int64_t node_flat(const struct node *n);
int64_t node_cum(const struct node *n);

#endif
