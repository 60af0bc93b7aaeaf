/* Reads and writes the SSH data types (RFC 4251 section 5) that profgrab uses, and base64. */
#ifndef KEYS_SSHWIRE_H
#define KEYS_SSHWIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* The maximum size of a public key in wire format, in bytes. */
#define SSH_BLOB_MAX 16384

/* Bytes, such as a public key in wire format. */
struct ssh_blob {
    unsigned char *data;
    size_t n;
};
/* Copies n bytes into a new blob. */
int ssh_blob_copy(struct ssh_blob *ret, const void *p, size_t n, struct err *err);
void ssh_blob_release(struct ssh_blob *b);
/* Compares the bytes. An empty blob equals no blob, because it is no key. */
bool ssh_blob_equal(const struct ssh_blob *a, const struct ssh_blob *b);

/* Writes the key's type, its first string, made printable; "?" if it has none. Returns dst. */
char *ssh_blob_type(const struct ssh_blob *b, char *dst, size_t cap);

#define SSH_FINGERPRINT 64
/* Writes SHA256:base64, as ssh-keygen -l prints it. Returns dst. */
char *ssh_blob_fingerprint(const struct ssh_blob *b, char dst[SSH_FINGERPRINT]);

/* Decodes n characters of padded base64 (RFC 4648) into at most SSH_BLOB_MAX bytes. */
int ssh_base64_decode(const char *p, size_t n, struct ssh_blob *ret, struct err *err);

/* Appends the n bytes in padded base64. */
void ssh_base64_add(struct buf *b, const void *p, size_t n);

/* A reader of SSH data. Each function reads from the front of the remaining bytes and returns -1 if they are
 * too few. Strings are not copied. */
struct ssh_reader {
    const unsigned char *p;
    size_t left;
};
int ssh_read_u32(struct ssh_reader *r, uint32_t *ret);
int ssh_read_string(struct ssh_reader *r, const unsigned char **ret, size_t *ret_n);

void ssh_add_u32(struct buf *b, uint32_t v);
void ssh_add_string(struct buf *b, const void *p, size_t n);

#endif
