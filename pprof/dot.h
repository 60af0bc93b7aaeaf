/* A picture in graphviz's language: the state that dot.c, dot_name.c and dot_nodelets.c share. */
#ifndef PPROF_DOT_H
#define PPROF_DOT_H

#include "pprof/graph_tags.h"

struct dot {
    struct report *report;
    const struct graph *g;
    const struct graph_tags *tags;
    uint32_t *ids; /* by node, from 1 in the order of the report; 0: not shown */
    struct buf text;
};

/* Adds a text for use between quotes: escapes \ and ", and ends lines with \l (left-aligned). */
void dot_escape(struct buf *to, struct str s);
/* Writes a value with the report's unit, for use between quotes. The profile chose the unit, so characters
 * that would end the quotes become question marks. */
void dot_format_value(const struct dot *d, char dst[MEASURE_TEXT], int64_t value);
/* Adds a node's label in short lines: the address, the parts of the shortened name, the file and line. The
 * name example.org/x/util.(*Cache).Get has the parts "util", "(*Cache)" and "Get". */
void dot_node_lines(const struct graph *g, const struct node_info *info, struct buf *to);
/* Shortens a function's name for a picture: removes the path of a Go module, Java packages and outer C++
 * namespaces. The result points into the name, or into `scratch` if a part in the middle is removed. */
struct str dot_shorten(struct str name, struct buf *scratch);

/* A colour as text: "#b2ab9a". */
struct dot_color {
    char text[8];
};
/* Returns the colour of a score: green at -1, grey at 0, red at 1. `light`: a pale colour, for the background
 * of a text. */
struct dot_color dot_color(double score, bool light);

/* Writes the nodelets of a node: small boxes that show its tags. *ret_any: at least one was written. */
int dot_nodelets(struct dot *d, uint32_t node, bool *ret_any);

#endif
