/*
 * Writes one gzip member (RFC 1952) of any length, quickly where its content cannot shrink.
 *
 * Most bytes of a bundle are profiles that their server gzip'ed. Compressing those again takes longer than
 * fetching them and saves less than one percent, so pieces whose bytes are spread evenly become stored blocks
 * (RFC 1951, 3.2.4). All other pieces are deflated, except pieces that would bring the member beyond the
 * bound of gzfile_most, which are stored too. The decision depends on the content alone: a piece of gzip,
 * zstd or xz is stored whatever its file is called, and the same bytes always make the same output.
 */
#ifndef BUNDLE_GZPACK_H
#define BUNDLE_GZPACK_H

#include <stddef.h>

#include "base/base.h"

struct gzpack;

/* Takes the compressed bytes, in order. */
typedef int gzpack_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

/* About 400 kB of memory, whatever the length. */
int gzpack_new(gzpack_sink_fn *sink, void *ctx, struct gzpack **ret, struct err *err);
/* Adds a piece. Pieces below 8 kB are always deflated; the caller hands over the content of a file in pieces
 * as large as it has them. After a failure only gzpack_free is allowed. */
int gzpack_add(struct gzpack *g, const void *p, size_t n, struct err *err);
/* Writes the end of the member. */
int gzpack_finish(struct gzpack *g, struct err *err);
/* Frees it, finished or not. NULL is fine. */
void gzpack_free(struct gzpack *g);

#endif
