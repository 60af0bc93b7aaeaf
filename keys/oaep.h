/* Encrypts a few bytes to an SSH RSA key: RSA-OAEP (RFC 8017) with SHA-256 and a label. */
#ifndef KEYS_OAEP_H
#define KEYS_OAEP_H

#include "base/base.h"
#include "keys/sshwire.h"

struct evp_pkey_ctx_st;

/* Returns the size in bits of an ssh-rsa key; 0 if it is malformed or of another type. */
int oaep_key_bits(const struct ssh_blob *key);

/* Encrypts the data. *ret is from malloc. */
int oaep_encrypt(const struct ssh_blob *key, const char *label, const struct ssh_blob *data,
                 struct ssh_blob *ret, struct err *err);

/* Selects the padding that oaep_encrypt uses, in an OpenSSL context that is initialised for encryption or
 * decryption. */
int oaep_set_padding(struct evp_pkey_ctx_st *context, const char *label);

#endif
