/*
 * Writes one gzip member (RFC 1952) of any length. Stores content that cannot be compressed.
 *
 * Most bytes of a bundle are profiles that the server has compressed. Compressing those again takes longer
 * than fetching them and saves less than one percent, so pieces with evenly distributed bytes become stored
 * blocks (RFC 1951, 3.2.4). All other pieces are deflated, except pieces with which the member could exceed
 * gzfile_max_inflated. The decision depends on the content, not on the name of the file, and the same pieces
 * always make the same output.
 */
#ifndef BUNDLE_GZPACK_H
#define BUNDLE_GZPACK_H

#include <stddef.h>

#include "base/base.h"

struct gzpack;

/* Receives the compressed bytes, in order. */
typedef int gzpack_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

/* Creates a writer, which uses about 400 kB of memory. */
int gzpack_new(gzpack_sink_fn *sink, void *ctx, struct gzpack **ret, struct err *err);
/* Adds a piece. A piece below 8 kB is deflated even if its bytes are evenly distributed, unless it follows a
 * stored one; callers should pass pieces as large as possible. After a failure only gzpack_free is allowed.
 */
int gzpack_add(struct gzpack *g, const void *p, size_t n, struct err *err);
/* Writes the end of the member. */
int gzpack_finish(struct gzpack *g, struct err *err);
/* Accepts NULL and an unfinished writer. */
void gzpack_free(struct gzpack *g);

#endif
