/* Verifies signatures with OpenSSL: Ed25519, RSA, ECDSA, and the FIDO variants of Ed25519 and ECDSA. */
#ifndef KEYS_PUBKEY_H
#define KEYS_PUBKEY_H

#include <stdbool.h>

#include "base/base.h"
#include "keys/sshwire.h"

/*
 * Checks that `signature` is the key's signature over `data`. The signature is in wire format: the
 * algorithm's name, the inner signature, and for a FIDO key the flags and the counter.
 *
 * ERR_DENIED: the signature is not the key's. ERR_UNSUPPORTED: an unknown or unsupported key or algorithm,
 * such as RSA with SHA-1, RSA below 2048 or above 16384 bits, DSA, certificates. ERR_FAILED: the key itself
 * is malformed. The signature covers a FIDO key's flags, but the flag for a touch is not checked.
 */
int pubkey_verify(const struct ssh_blob *key, const struct ssh_blob *signature, const struct ssh_blob *data,
                  struct err *err);

/* Returns whether pubkey_verify supports keys of that type. */
bool pubkey_is_supported(const char *type);

#endif
