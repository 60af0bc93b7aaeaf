/* Gzip of things that are in memory: with libdeflate, which is made for that, or else with zlib. */
#ifndef PROTO_GZIP_H
#define PROTO_GZIP_H

#include <stddef.h>

#include "base/base.h"

enum gzip_result {
    GZIP_DONE,
    GZIP_NO_ROOM, /* the member is larger than the room for it */
    GZIP_DAMAGED, /* or cut short */
};

struct gzip;
struct gzip *gzip_new(struct err *err);
void gzip_free(struct gzip *g);

/* Inflates one member: how much of p it took, and what it made. */
enum gzip_result gzip_inflate(struct gzip *g, const void *p, size_t n, void *to, size_t room, size_t *ret_in,
                              size_t *ret_out);

/*
 * One member of all, without a time in its header, about as large as Go's gzip makes it. *ret is freed by the
 * caller.
 */
int gzip_compress(const void *p, size_t n, void **ret, size_t *ret_n, struct err *err);

/* ---- writing what comes bit by bit ---- */

/* Takes bytes in order; -1 ends it with err as it was left. */
typedef int gzip_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

/* So much goes into one member. */
#define GZIP_MEMBER ((size_t)8 << 20)

/*
 * Writes gzip of what it is given: one member, or of more than GZIP_MEMBER one after the other, as the format
 * allows it; then a thread of its own helps, where there is a second processor. The sink is called by whoever
 * adds. Memory: up to three members, and what becomes of them.
 */
struct gzip_writer;
struct gzip_writer *gzip_writer_new(gzip_sink_fn *sink, void *ctx, struct err *err);
void gzip_writer_free(struct gzip_writer *w);
/* A gzip_sink_fn itself, of the writer. After a failure only gzip_writer_free is allowed. */
int gzip_writer_add(void *writer, const void *p, size_t n, struct err *err);
int gzip_writer_end(struct gzip_writer *w, struct err *err);

#endif
