/* What a path inside a bundle may look like. Ours obey it when written, foreign ones are held to it. */
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
 * 0 if `path` is relative, made of printable ASCII without a backslash, at most 1024 bytes and 32 components
 * long, and none of its components is empty, `.`, `..` or longer than 255 bytes. Otherwise ERR_FAILED with
 * the reason.
 */
int path_check(const char *path, struct err *err);

#endif
