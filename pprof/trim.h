/* Trims a report: removes the smallest parts of its graph, and the beginning of file names. */
#ifndef PPROF_TRIM_H
#define PPROF_TRIM_H

#include "pprof/graph_tags.h"

/*
 * Makes the graph of the report without its smallest parts, and chooses the unit. For a picture (`tags` is
 * not NULL) also finds the tags, counts them as nodes for the limit nodecount, and drops redundant edges.
 * Call graph_release and graph_tags_release even after a failure.
 */
int trim_graph(struct report *report, struct graph *g, struct graph_tags *tags);

/* Shortens the file names of functions as the settings trim_path and source_path say (source_code_trim). */
int trim_paths(struct report *report);

#endif
