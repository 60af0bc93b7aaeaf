/* OpenSSL's keys made from SSH's numbers; for the files of this folder. */
#ifndef KEYS_EVP_KEY_H
#define KEYS_EVP_KEY_H

#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "keys/sshwire.h"

/* A number above zero in its shortest form (RFC 4251's mpint); NULL for any other. One key has one form, and
 * so one fingerprint. */
BIGNUM *evp_read_number(struct ssh_reader *r);

/* A key of that type ("RSA", "EC") from what was pushed to the builder, which copies its numbers only now:
 * they must be there still. `selection`: EVP_PKEY_PUBLIC_KEY or EVP_PKEY_KEYPAIR. NULL if that is no key. */
EVP_PKEY *evp_from_parameters(const char *type, int selection, OSSL_PARAM_BLD *build);

/* The public exponent and the modulus of an ssh-rsa key; NULL if they are none. */
EVP_PKEY *evp_read_rsa(struct ssh_reader *r);

#endif
