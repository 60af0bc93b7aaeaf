/*
 * Source files that a profile names, line by line.
 *
 * A profile may name any file, and whoever reads its report shows it to others. So, unlike upstream, only
 * regular files are read whose name, with links resolved, ends as that of a source file does, or that lie
 * below a directory which the user named (-source_path); and no more than SOURCE_MAX of each. Where they are
 * looked for is google/pprof's rule (internal/report/source.go, openSourceFile): an absolute path as it is,
 * another one below each directory of the search path and below all directories above those.
 */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include "proto/proto.h"

#define SOURCE_MAX ((size_t)64 << 20)
/* A line that is longer ends the file, as it does for upstream. */
#define SOURCE_LINE_MAX 65535u

/* The lines of one file. */
struct source_lines {
    struct str *items;
    size_t n;
};

/* The lines of a text, without their ends; they point into it. The caller frees ret->items. */
int source_split(struct str text, struct source_lines *ret, struct err *err);

struct sources;

/* The paths are the caller's, and stay. An empty search path is the current directory. */
int sources_new(struct profile *p, const char *source_path, const char *trim_path, struct sources **ret,
                struct err *err);
void sources_free(struct sources *s);

/* The lines of the file of that name; valid until the next call. *ret_wrong: NULL, or why it cannot be read,
 * in upstream's words. -1 only if something else went wrong. */
int sources_get(struct sources *s, uint32_t path, const struct source_lines **ret, const char **ret_wrong,
                struct err *err);

#endif
