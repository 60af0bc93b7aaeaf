/* Paths as Go's path/filepath treats them on Unix. */
#ifndef BASE_DATA_PATH_H
#define BASE_DATA_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/str.h"

/* Returns whether a path is clean: not empty, no empty, "." or ".." element, and no trailing slash. */
bool path_is_clean(struct str path);
/* Writes the path without "//", "." and, where possible, "..". An empty path becomes ".". `to` has path.n + 2
 * bytes. Returns the length. */
size_t path_clean(struct str path, char *to);

/* Returns the text after the last slash; "." for an empty path, "/" for a path of slashes. */
struct str path_base(struct str path);

/* Iterates over a list of paths separated by colons. path_list starts it; an empty text is an empty list.
 * path_list_next gives the next path, and returns false at the end. */
const char *path_list(const char *text);
bool path_list_next(const char **list, struct str *ret);

#endif
