/* The graph of a report without its smallest parts. */
#ifndef PPROF_TRIM_H
#define PPROF_TRIM_H

#include "pprof/graph_tags.h"

/* Makes the graph of the report without its smallest parts, and chooses the unit. Call graph_release even
 * after a failure. */
int trim_graph(struct job *j, struct graph *g);
/* Does the same for pictures: adds tags, counts them in the limit, and drops redundant edges. Call
 * graph_tags_release even after a failure. */
int trim_picture(struct job *j, struct graph *g, struct graph_tags *tags);

#endif
