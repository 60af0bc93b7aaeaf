/* SHA-256 (FIPS 180-4) over pieces, as bytes or as 64 lower-case hexadecimal digits. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define SHA256_BYTES 32
#define SHA256_HEX 65 /* with the NUL */

struct sha256;

struct sha256 *sha256_new(struct err *err);
void sha256_free(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
/* Either ends the hash; afterwards only sha256_free. */
int sha256_bytes(struct sha256 *h, unsigned char ret[SHA256_BYTES], struct err *err);
int sha256_hex(struct sha256 *h, char ret[SHA256_HEX], struct err *err);

/* Of a file from `begin` on, wherever its offset is, which stays. ERR_CANCELLED by cancel_fd (or -1). */
struct sha256_file {
    uint64_t bytes;
    char hex[SHA256_HEX];
};
int sha256_file(int fd, off_t begin, int cancel_fd, struct sha256_file *ret, struct err *err);

#endif
