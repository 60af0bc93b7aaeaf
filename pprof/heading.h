/* The lines above a report. */
#ifndef PPROF_HEADING_H
#define PPROF_HEADING_H

#include "pprof/graph/graph.h"
#include "pprof/report.h"

struct heading {
    struct buf text;
    size_t n_lines;
    size_t first_length; /* of the first line, without its line end */
};
#define HEADING_INIT                                                                                         \
    {                                                                                                        \
        .text = BUF_INIT(REPORT_NAME_MAX)                                                                    \
    }
/* Adds the lines about the profile. */
void heading_add_profile(const struct report *report, struct heading *to);
/* Adds the lines of a picture's legend. */
void heading_add_picture(const struct report *report, const struct graph *g, struct heading *to);
/* Writes the lines above a report that shows a graph as text. */
int heading_write(struct report *report, const struct graph *g);
/* Writes them as a JSON array of strings. */
int heading_write_json(struct report *report, const struct graph *g);

#endif
