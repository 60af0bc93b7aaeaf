/* The few pieces of the SSH data types (RFC 4251 section 5) that we read and write ourselves, and base64. */
#ifndef KEYS_SSHWIRE_H
#define KEYS_SSHWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* A public key as it goes over the wire; it is at most this large. */
#define SSH_BLOB_MAX 16384

struct ssh_blob {
    unsigned char *data;
    size_t n;
};
int ssh_blob_copy(struct ssh_blob *b, const void *p, size_t n, struct err *err);
void ssh_blob_release(struct ssh_blob *b);
bool ssh_blob_equal(const struct ssh_blob *a, const struct ssh_blob *b);

/* Its first string, the key's type, printable; "?" when there is none. Returns dst. */
char *ssh_blob_type(const struct ssh_blob *b, char *dst, size_t cap);

#define SSH_FINGERPRINT 64
/* SHA256:base64, as ssh-keygen -l prints it. Returns dst. */
char *ssh_blob_fingerprint(const struct ssh_blob *b, char dst[SSH_FINGERPRINT]);

/* Base64 (RFC 4648) of n characters. */
int ssh_base64_decode(const char *p, size_t n, struct ssh_blob *ret, struct err *err);

/* Adds the n bytes in base64, padded. */
void ssh_base64_add(struct buf *b, const void *p, size_t n);

/* Reads from the front of what is left; -1 when it is too short. A string is not copied. */
struct ssh_reader {
    const unsigned char *p;
    size_t left;
};
int ssh_read_u32(struct ssh_reader *r, uint32_t *ret);
int ssh_read_string(struct ssh_reader *r, const unsigned char **ret, size_t *ret_n);

void ssh_put_u32(struct buf *b, uint32_t v);
void ssh_put_string(struct buf *b, const void *p, size_t n);

#endif
