/* Compresses and inflates gzip in memory: with libdeflate, or with zlib in a build without libdeflate. */
#ifndef PROTO_GZIP_H
#define PROTO_GZIP_H

#include <stddef.h>

#include "base/base.h"

enum gzip_result {
    GZIP_DONE,
    GZIP_NO_ROOM, /* the inflated member is larger than `room` */
    GZIP_DAMAGED, /* damaged or truncated */
};

struct gzip;
struct gzip *gzip_new(struct err *err);
void gzip_free(struct gzip *g);

/* The n bytes that begin with the member to inflate, and `room` bytes for the result at `to`. */
struct gzip_member {
    const void *p;
    size_t n;
    void *to;
    size_t room;
    size_t n_read, n_written; /* set by gzip_inflate: bytes read from p, and bytes written to `to` */
};
/* Inflates one member. */
enum gzip_result gzip_inflate(struct gzip *g, struct gzip_member *m);

/*
 * Compresses n bytes into one member without a time in its header. The result is about as large as with Go's
 * gzip. The caller frees *ret.
 */
int gzip_compress(const void *p, size_t n, void **ret, size_t *ret_n, struct err *err);

/* ---- writing a stream ---- */

/* Receives the next bytes of the output. If it returns -1, writing ends with its error. */
typedef int gzip_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

/* The largest size of one member before compression, in bytes. */
#define GZIP_MEMBER_BYTES ((size_t)8 << 20)

/*
 * Compresses a stream: one member, or several for more than GZIP_MEMBER_BYTES bytes, as the format allows. If
 * there are several and a second processor is available, a helper thread also compresses. The sink runs in
 * the caller's thread. Memory: up to three members and their compressed forms.
 */
struct gzip_writer;
struct gzip_writer *gzip_writer_new(gzip_sink_fn *sink, void *ctx, struct err *err);
void gzip_writer_free(struct gzip_writer *w);
/* Adds bytes to the stream. `writer` is the struct gzip_writer, but a void * so that the function is a
 * gzip_sink_fn. After a failure call only gzip_writer_free. */
int gzip_writer_add(void *writer, const void *p, size_t n, struct err *err);
int gzip_writer_end(struct gzip_writer *w, struct err *err);

#endif
