/*
 * What labels say of a graph's nodes: the tags that a picture hangs on them.
 *
 * A tag is all text labels of a sample together, or one of its numbers ("bytes" alone, as pprof has it) below
 * those. Tags that are too light to be shown anywhere are never made: profiles may have a label of its own
 * for each sample.
 *
 * Source: google/pprof internal/graph.
 */
#ifndef REPORT_GRAPH_TAGS_H
#define REPORT_GRAPH_TAGS_H

#include "report/job.h"

/* So many of a node's tags are shown, of either kind. */
enum { TAGS_SHOWN = 4 };

/* Strings are the profile's. */
struct tag {
    uint32_t node, next; /* of the same node; GRAPH_NONE ends them */
    uint32_t label;      /* the text labels, joined; 0: there are none */
    uint32_t number;     /* how a number is written; 0: the tag is the label's own */
    uint32_t unit;       /* the number's */
    int64_t value;       /* the first number that is written so */
    int64_t flat, flat_div, cum, cum_div;
};

struct graph_tags {
    struct tag *tags;
    size_t n_tags, cap_tags;
    uint32_t *first;       /* by node */
    struct finder by_name; /* node, label and number */
};

/* Hangs tags on the nodes of g that are to be shown, those of at least the cutoff; before the unit of the
 * report is chosen. graph_tags_release is due whatever it says. */
int graph_tags_find(struct graph_tags *t, struct job *j, const struct graph *g, int64_t cutoff);
void graph_tags_release(struct graph_tags *t);

/* How many of a node's tags are its own, not only of what it calls. */
size_t graph_tags_count(const struct graph_tags *t, uint32_t node);

/* The heaviest first: by what is their own (flat), or with what was called; then by name. */
int graph_tags_sort(const struct profile *p, struct tag *tags, size_t n, bool flat, struct err *err);

#endif
