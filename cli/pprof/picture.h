/* Pictures of graphs, which graphviz draws within limits. */
#ifndef CLI_PPROF_PICTURE_H
#define CLI_PPROF_PICTURE_H

#include "base/base.h"

/* The most bytes of a picture. */
#define PICTURE_BYTES_MAX ((size_t)1 << 30)

/* Makes dot draw the graph in the file `graph_fd`, in a format of graphviz, such as "svg". *ret gets the
 * picture; the caller releases it. ERR_NOT_FOUND: dot could not be started. */
int picture_draw(const char *format, int graph_fd, struct buf *ret, struct err *err);

/* Lets dot have its own limits if a confined child starts it. */
void picture_allow(struct proc_fork_limits *limits);

#endif
