/*
 * Reads a gzip file (RFC 1952) as a stream, up to its last byte.
 *
 * libarchive's own filter does not check the CRC and the length at the end, which detect a damaged or cut
 * bundle.
 */
#ifndef BUNDLE_GZFILE_H
#define BUNDLE_GZFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "seal/seal.h"

struct gzfile;

/*
 * Returns the most bytes to which a bundle of `size` bytes may inflate: 256 MiB plus 64 times its size. A
 * deflated file can inflate to 1032 times its size; profiles reach 10 times and dumps of goroutines 50.
 * gzpack.c keeps each bundle below this bound, so a bundle above it is damaged or hostile.
 */
uint64_t gzfile_max_inflated(uint64_t size);

/* Opens a gzip file. Decrypts an encrypted file with `identities` (NULL: none). ERR_NOT_FOUND if there is no
 * such file, ERR_NO_KEY if no identity can decrypt it, ERR_FAILED if it is not gzip. */
int gzfile_open(const char *path, struct age_identities *identities, struct gzfile **ret, struct err *err);
void gzfile_free(struct gzfile *g);

/* Reads between 1 and cap bytes; *ret_n is 0 only at the end, if every CRC and length was correct. Several
 * gzip members in a row are one stream (RFC 1952, 2.2); any other data after a member is an error. ERR_LIMIT
 * if the file inflates to more than gzfile_max_inflated of its size. */
int gzfile_read(struct gzfile *g, void *p, size_t cap, size_t *ret_n, struct err *err);

#endif
