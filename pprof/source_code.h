/*
 * Source files that a profile names, line by line.
 *
 * A profile may name any file, and the reader of its report may show the report to others. Therefore, unlike
 * upstream, this module reads only regular files whose resolved name has the ending of a source file, or
 * which are below a directory that the user named (-source_path). It reads at most SOURCE_MAX bytes of each.
 * The search follows google/pprof (internal/report/source.go, openSourceFile): it opens an absolute path as
 * it is, and looks for a relative path below each directory of the search path and below all parents of that
 * directory.
 */
#ifndef PPROF_SOURCE_CODE_H
#define PPROF_SOURCE_CODE_H

#include "proto/proto.h"

#define SOURCE_MAX ((size_t)64 << 20)
/* A longer line ends the file, as in upstream. */
#define SOURCE_LINE_MAX 65535u

/* The lines of one file. */
struct source_code_lines {
    struct str *items;
    size_t n;
};

/* Splits a text into lines without their ends. The lines point into the text. The caller frees ret->items. */
int source_code_split(struct str text, struct source_code_lines *ret, struct err *err);

struct source_code;

/* Creates the reader of source files. Copies both paths; the caller keeps the profile until source_code_free.
 * An empty search path means the current directory. */
int source_code_new(struct profile *p, const char *source_path, const char *trim_path,
                    struct source_code **ret, struct err *err);
void source_code_free(struct source_code *s);

/* Makes the reader also look for Go's standard library and for modules where this machine has them, whatever
 * their place was on the machine that compiled the program: in $GOROOT, that of the `go` on PATH, or
 * /usr/local/go; in $GOMODCACHE, $GOPATH/pkg/mod or ~/go/pkg/mod. Upstream does not. */
int source_code_search_go(struct source_code *s, struct err *err);

/* Uses the text in place of a file. Copies the text. */
int source_code_put(struct source_code *s, uint32_t path_id, struct str text, struct err *err);

/* Gets the lines of the file; path_id is its path among the profile's strings. The lines are valid until the
 * next call. *ret_message is NULL, or the message why the file cannot be read. Returns -1 only for other
 * errors. */
int source_code_get(struct source_code *s, uint32_t path_id, const struct source_code_lines **ret,
                    const char **ret_message, struct err *err);

/* Removes the beginning of a file's name, which depends on the machine that compiled the file. trim_path and
 * source_path, two lists of directories, determine the beginning. Returns the rest. */
struct str source_code_trim(struct str path, const char *trim_path, const char *source_path);

#endif
