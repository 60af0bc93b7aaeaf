/* Paths as Go's path/filepath treats them on Unix. */
#ifndef PPROF_PATH_H
#define PPROF_PATH_H

#include "proto/proto.h"

/* Interns the path without "//", "." and, where possible, "..". An empty path becomes ".". */
int path_clean(struct profile *p, uint32_t path, uint32_t *ret, struct err *err);

/* The text after the last slash; "." for an empty path, "/" for a path of slashes. */
struct str path_base(struct str path);

#endif
