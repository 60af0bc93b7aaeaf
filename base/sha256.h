/* SHA-256 (FIPS 180-4) of a byte sequence that is added in pieces. The result is 64 lower-case hexadecimal
 * digits. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/data/err.h"

#define SHA256_HEX 65 /* with the NUL */

struct sha256;

struct sha256 *sha256_new(struct err *err);
void sha256_free(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);

/* Finishes the hash; afterwards call only sha256_free. */
int sha256_hex(struct sha256 *h, char ret[SHA256_HEX], struct err *err);

/* The size and the hash of the hashed part of a file. */
struct sha256_file {
    uint64_t bytes;
    char hex[SHA256_HEX];
};

/* Hashes a file from the offset `begin` to its end. Does not change the descriptor's offset. ERR_CANCELLED if
 * cancel_fd (-1: none) is readable. */
int sha256_file(int fd, off_t begin, int cancel_fd, struct sha256_file *ret, struct err *err);

#endif
