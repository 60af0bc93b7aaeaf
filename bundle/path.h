/* Rules for paths inside a bundle: writers obey them, readers check them. */
#ifndef BUNDLE_PATH_H
#define BUNDLE_PATH_H

#include "bundle/bundle.h"

#define PATH_MANIFEST "manifest.json"
#define PATH_README "README.md"
#define PATH_SIGNATURE "manifest.json.sig"
#define PATH_REPORT BUNDLE_REPORT

/* The most components of a path. */
enum { PATH_MAX_DEPTH = 32 };

/*
 * Returns 0 if `path` is relative, consists of printable ASCII without a backslash, has at most 1024 bytes
 * and 32 components, and no component is empty, `.`, `..` or longer than 255 bytes. Otherwise ERR_FAILED with
 * the reason.
 */
int path_check(const char *path, struct err *err);

/* Adds the length of a member's path to *total. ERR_FAILED if that exceeds BUNDLE_MAX_PATHS. */
int path_add_length(size_t *total, const char *path, struct err *err);

/* Returns the number of directories of a path that are not in the previous path (NULL: there is none). */
size_t path_count_new_directories(const char *previous, const char *path);

#endif
