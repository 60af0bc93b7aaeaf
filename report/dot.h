/* A picture in graphviz's language: what its parts share. */
#ifndef REPORT_DOT_H
#define REPORT_DOT_H

#include "report/graph_tags.h"

struct dot {
    struct job *j;
    const struct graph *g;
    const struct graph_tags *tags;
    uint32_t *ids; /* of the nodes, from 1 in the order in which they are shown; 0: it is not */
    struct buf text;
};

/* Adds a text as it stands between quotes: \ and " are escaped, lines end at the left (\l). */
void dot_escape(struct buf *to, struct str s);
/* A node's name on several short lines: "util" "(*Cache)" "Get" of example.org/x/util.(*Cache).Get. */
void dot_node_lines(const struct graph *g, const struct node_info *info, struct buf *to);
/* What of a function's name is enough in a picture: no Go module path, no package of Java, no outer
 * namespaces of C++. A part of it, or, where something in the middle goes, made in `scratch`. */
struct str dot_shorten(struct str name, struct buf *scratch);

/* "#b2ab9a": from green at -1 over grey to red at 1; light ones for what stands behind text. */
struct dot_color {
    char text[8];
};
struct dot_color dot_color(double score, bool light);

/* Writes a node's tags: whether there were any. */
int dot_nodelets(struct dot *d, uint32_t node, bool *ret_any);

#endif
