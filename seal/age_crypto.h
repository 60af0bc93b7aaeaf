/*
 * The primitives of the age format on OpenSSL: HKDF-SHA-256, HMAC-SHA-256, X25519, and ChaCha20-Poly1305 for
 * a file key. age_stream.h encrypts the file's content.
 */
#ifndef SEAL_AGE_CRYPTO_H
#define SEAL_AGE_CRYPTO_H

#include "base/base.h"

#define AGE_FILE_KEY 16                          /* bytes of the key that encrypts a file */
#define AGE_KEY 32                               /* bytes of a key of X25519, ChaCha20, HMAC */
#define AGE_TAG 16                               /* bytes that ChaCha20-Poly1305 adds */
#define AGE_WRAPPED_KEY (AGE_FILE_KEY + AGE_TAG) /* bytes of a wrapped file key */

struct age_bytes {
    const void *p;
    size_t n;
};

/* HKDF (RFC 5869) with a result of 32 bytes. Salt and key may be empty. */
int age_hkdf(struct age_bytes key, struct age_bytes salt, const char *info, unsigned char ret[AGE_KEY],
             struct err *err);

int age_hmac(const unsigned char key[AGE_KEY], struct age_bytes text, unsigned char ret[AGE_KEY],
             struct err *err);

int age_random(void *p, size_t n, struct err *err);

/* X25519 (RFC 7748): scalar times point, or times the base point. ERR_FAILED if the result is zero, which a
 * malicious point can cause. */
int age_x25519(const unsigned char scalar[AGE_KEY], const unsigned char point[AGE_KEY],
               unsigned char ret[AGE_KEY], struct err *err);
int age_x25519_base(const unsigned char scalar[AGE_KEY], unsigned char ret[AGE_KEY], struct err *err);

/* Wraps a file key with a key that is used only once. */
int age_wrap(const unsigned char key[AGE_KEY], const unsigned char file_key[AGE_FILE_KEY],
             unsigned char ret[AGE_WRAPPED_KEY], struct err *err);
/* Unwraps a file key. With the wrong key sets *ret_matches to false and leaves ret_file_key unchanged. */
int age_unwrap(const unsigned char key[AGE_KEY], const unsigned char body[AGE_WRAPPED_KEY], bool *ret_matches,
               unsigned char ret_file_key[AGE_FILE_KEY], struct err *err);

#endif
