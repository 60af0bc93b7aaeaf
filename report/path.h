/* Paths as Go's path/filepath treats them on Unix. */
#ifndef REPORT_PATH_H
#define REPORT_PATH_H

#include "proto/proto.h"

/* The path without "//", "." and, as far as that can be said, "..": interned. An empty one becomes ".". */
int path_clean(struct profile *p, uint32_t path, uint32_t *ret, struct err *err);

/* What stands behind the last slash; "." for an empty path, "/" for one of slashes. */
struct str path_base(struct str path);

#endif
