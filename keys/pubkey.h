/* Public keys that OpenSSL can check signatures with: Ed25519, RSA, ECDSA, and the FIDO forms of the first
 * and the last. */
#ifndef KEYS_PUBKEY_H
#define KEYS_PUBKEY_H

#include <stdbool.h>

#include "base/base.h"
#include "keys/sshwire.h"

/*
 * Whether `signature` (as it goes over the wire: its algorithm's name, the inner signature, and of a FIDO key
 * the flags and the counter) is one of the key's over `data`.
 *
 * ERR_DENIED: it is not. ERR_UNSUPPORTED: a key or an algorithm that is not known here or not good enough:
 * RSA with SHA-1 or of less than 2048 bits, DSA, certificates. ERR_FAILED: the key itself is damaged. A FIDO
 * key's flags are covered by its signature; whether they say that it was touched is not asked.
 */
int pubkey_verify(const struct ssh_blob *key, const struct ssh_blob *signature, const struct ssh_blob *data,
                  struct err *err);

/* Whether pubkey_verify knows keys of that type. */
bool pubkey_is_known(const char *type);

#endif
