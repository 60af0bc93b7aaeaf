/* Gzip of things that are in memory whole: with libdeflate, which is made for that, or else with zlib. */
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

#endif
