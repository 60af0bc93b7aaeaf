/* Paths as Go's path/filepath treats them on Unix. */
#ifndef BASE_DATA_PATH_H
#define BASE_DATA_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/data/str.h"

/* Returns whether a path is clean: not empty, no empty, "." or ".." element, and no trailing slash. */
bool path_is_clean(struct str path);

/* Writes the path without empty and "." elements, and removes each ".." together with the element before it
 * (Go's filepath.Clean). An empty path becomes ".". `to` has path.n + 2 bytes. Returns the length; adds no
 * NUL. */
size_t path_clean(struct str path, char *to);

/* Returns the last element without slashes after it; "." for an empty path, "/" for a path of slashes. */
struct str path_base(struct str path);

/* Iterate over paths separated by colons. colon_list_begin returns the position of the first path, NULL for
 * an empty text. colon_list_next moves *list and sets *ret to the next path, or returns false at the end. */
const char *colon_list_begin(const char *text);
bool colon_list_next(const char **list, struct str *ret);

#endif
