/*
 * Tags: the labels that a picture shows at a graph's nodes.
 *
 * A tag is either the joined text labels of a sample, or one of the sample's numbers together with these
 * labels. Only numbers with the key "bytes" become tags, as in pprof. Tags that are below the cutoff at every
 * node are never created: they could exhaust the memory, because each sample of a profile can have a
 * different label.
 *
 * Source: google/pprof internal/graph.
 */
#ifndef PPROF_GRAPH_TAGS_H
#define PPROF_GRAPH_TAGS_H

#include "pprof/graph/graph.h"
#include "pprof/report.h"

/* A node shows at most this many tags of text labels. Each of these tags, and the node itself, has at most
 * this many tags of numbers. */
enum { TAGS_SHOWN = 4 };

/* label, number and unit are indices of the profile's strings. */
struct tag {
    uint32_t node, next;                  /* next: the node's next tag, or GRAPH_NONE */
    uint32_t label;                       /* the text labels, joined; 0: none */
    uint32_t number;                      /* the number's text; 0: a tag of text labels */
    uint32_t unit;                        /* of the number */
    int64_t value;                        /* the first number with that text */
    int64_t flat, flat_div, cum, cum_div; /* *_div: the divisors of means; 0: none */
};

struct graph_tags {
    struct tag *tags;
    size_t n_tags, cap_tags;
    uint32_t *first;           /* by node: its first tag, or GRAPH_NONE */
    struct hash_index by_name; /* finds a tag by node, label and number */
};

/* Makes the tags whose value is at least the cutoff, for the shown nodes of g. Call it before the report's
 * unit is chosen. Call graph_tags_release even after a failure. */
int graph_tags_make(struct graph_tags *t, struct report *report, const struct graph *g, int64_t cutoff);
void graph_tags_release(struct graph_tags *t);

/* Returns the number of a node's tags that have a flat value. */
size_t graph_tags_count(const struct graph_tags *t, uint32_t node);

/* Sorts tags: the heaviest first, by flat (`by_flat`) or by cum, then by name. */
int graph_tags_sort(const struct profile *p, struct tag *tags, size_t n, bool by_flat, struct err *err);

#endif
