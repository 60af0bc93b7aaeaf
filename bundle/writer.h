/* Writes the tarball of a bundle: gzip'ed restricted pax, directories 0700, files 0600, no owners. reader.h
 * reads it. */
#ifndef BUNDLE_WRITER_H
#define BUNDLE_WRITER_H

#include <stdint.h>

#include "base/base.h"

struct writer;

/* Receives the tarball's bytes, in order. */
typedef int writer_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

struct writer_output {
    const char *top;   /* the top directory */
    const char *shown; /* the file's name in messages */
    writer_sink_fn *sink;
    void *ctx;
};
int writer_open(const struct writer_output *to, struct writer **ret, struct err *err);
void writer_free(struct writer *w);

/* Writes a directory. A path is below the top directory; "" is that directory. `mtime` is in seconds. */
int writer_dir(struct writer *w, const char *path, int64_t mtime, struct err *err);

/* Begins a file: writer_data must add exactly `size` bytes. */
int writer_file(struct writer *w, const char *path, uint64_t size, int64_t mtime, struct err *err);
int writer_data(struct writer *w, const void *p, size_t n, struct err *err);

/* Ends the tarball. */
int writer_finish(struct writer *w, struct err *err);

#endif
