/*
 * bcrypt_pbkdf derives a key from a passphrase; the key encrypts an OpenSSH private key file. The algorithm
 * is PBKDF2 in which bcrypt of SHA-512 hashes replaces HMAC, and the bytes of the blocks are interleaved.
 */
#ifndef KEYS_BCRYPT_PBKDF_H
#define KEYS_BCRYPT_PBKDF_H

#include "keys/passphrase.h"

/* More rounds are refused because they would take a minute. ssh-keygen uses 16 to 24. */
#define BCRYPT_ROUNDS_MAX 8192

struct bcrypt_options {
    const void *salt;
    size_t n_salt;
    unsigned rounds;
};

/* Derives n bytes, at most 256; the caller wipes them. ERR_FAILED: the number of rounds is not allowed. */
int bcrypt_pbkdf(const struct passphrase *passphrase, const struct bcrypt_options *options, void *ret,
                 size_t n, struct err *err);

#endif
