/*
 * A gzip file (RFC 1952) as a stream of bytes, read to its last one.
 *
 * Not libarchive's own filter, because that does not look at the CRC and the length behind the data, and
 * those are what tells a damaged or cut bundle from a whole one before any hash is known.
 */
#ifndef BUNDLE_GZFILE_H
#define BUNDLE_GZFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "seal/seal.h"

struct gzfile;

/*
 * The most bytes that a bundle of `size` bytes may inflate to: 256 MiB and 64 times its size. deflate reaches
 * 1032 times, profiles reach 10 and dumps of goroutines 50. gzpack.c keeps each bundle below this bound, so
 * that a bundle beyond it is damaged or hostile.
 */
uint64_t gzfile_most(uint64_t size);

/* A file that is encrypted is read by those identities (NULL: none), and gzip'ed within. ERR_NOT_FOUND if
 * there is no such file, or it is encrypted to others; ERR_FAILED if it is not gzip'ed. */
int gzfile_open(const char *path, struct age_identities *by, struct gzfile **ret, struct err *err);
void gzfile_free(struct gzfile *g);

/* Reads between 1 and cap bytes; *ret_n is 0 only at the end, once every CRC and length was right. Several
 * gzip members in a row are one stream (RFC 1952, 2.2); anything else behind a member is an error. ERR_LIMIT
 * once the file has inflated to more than gzfile_most of its size. */
int gzfile_read(struct gzfile *g, void *p, size_t cap, size_t *ret_n, struct err *err);

#endif
