/*
 * bcrypt_pbkdf: how OpenSSH makes a key of the passphrase of a private key file. PBKDF2 in form, with bcrypt
 * over SHA-512 hashes in place of its HMAC, and with the bytes of its blocks interleaved.
 */
#ifndef KEYS_BCRYPT_PBKDF_H
#define KEYS_BCRYPT_PBKDF_H

#include "base/base.h"

/* More than that is refused: it would take a minute. ssh-keygen's own is 16 to 24. */
#define BCRYPT_ROUNDS_MAX 8192

struct bcrypt_salt {
    const void *p;
    size_t n;
    unsigned rounds;
};

/* Fills in n bytes, at most 256, which the caller wipes. */
int bcrypt_pbkdf(const struct secret *passphrase, const struct bcrypt_salt *salt, void *ret, size_t n,
                 struct err *err);

#endif
