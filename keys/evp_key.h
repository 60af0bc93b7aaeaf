/* Builds OpenSSL keys from SSH numbers. Private to this folder. */
#ifndef KEYS_EVP_KEY_H
#define KEYS_EVP_KEY_H

#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "keys/sshwire.h"

/* Reads a positive number (RFC 4251's mpint) in its shortest form. NULL for any other form, so that each key
 * has one encoding and one fingerprint. */
BIGNUM *evp_read_number(struct ssh_reader *r);

/* Builds a key of `type` ("RSA", "EC") from the builder's parameters. This call copies the numbers that were
 * pushed to the builder; they must exist until then. `selection`: EVP_PKEY_PUBLIC_KEY or EVP_PKEY_KEYPAIR.
 * NULL if the parameters are not a valid key. */
EVP_PKEY *evp_from_parameters(const char *type, int selection, OSSL_PARAM_BLD *build);

/* Reads the public exponent and the modulus of an ssh-rsa key; NULL if they are invalid. */
EVP_PKEY *evp_read_rsa(struct ssh_reader *r);

#endif
