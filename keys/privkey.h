/*
 * Private keys in OpenSSL's form, read from the PEM formats (PKCS#1, PKCS#8, SEC1) and OpenSSH's own format,
 * with or without a passphrase.
 */
#ifndef KEYS_PRIVKEY_H
#define KEYS_PRIVKEY_H

#include <stdbool.h>

#include "base/base.h"
#include "keys/passphrase.h"
#include "keys/sshwire.h"

struct privkey;

/* Parses a file's bytes. `passphrase` may be NULL. ERR_NOT_FOUND: the passphrase is wrong or missing, or a
 * PEM file is damaged. */
int privkey_parse(const void *p, size_t n, const struct passphrase *passphrase, struct privkey **ret,
                  struct err *err);
/* Checks whether the passphrase is that of the file: the file opens with it, and not without one. The key may
 * be of a type that privkey_parse does not support, such as a security key. ERR_NOT_FOUND: the passphrase is
 * wrong, or a PEM file is damaged. */
int privkey_check_passphrase(const void *p, size_t n, const struct passphrase *passphrase, struct err *err);
/* Wipes and frees. Accepts NULL. */
void privkey_free(struct privkey *k);

/* Encodes the public half in SSH's wire format. *ret is from malloc. */
int privkey_public(const struct privkey *k, struct ssh_blob *ret, struct err *err);

/* Signs the data. *ret is the inner signature, without its algorithm's name (as libssh2 needs it), from
 * malloc. `algorithm` selects the hash of an RSA key: rsa-sha2-512, rsa-sha2-256 or ssh-rsa, or their
 * variants for certificates. */
int privkey_sign(const struct privkey *k, const char *algorithm, const struct ssh_blob *data,
                 struct ssh_blob *ret, struct err *err);

/* Converts an ssh-ed25519 key to its X25519 secret scalar (RFC 7748), which the caller wipes. */
#define PRIVKEY_X25519 32
int privkey_x25519(const struct privkey *k, unsigned char ret[PRIVKEY_X25519], struct err *err);

/* Decrypts data that was encrypted to an RSA key (oaep.h). *ret is from malloc; the caller wipes it.
 * ERR_NOT_FOUND: the data was encrypted to another key. */
int privkey_decrypt(const struct privkey *k, const char *label, const struct ssh_blob *data,
                    struct ssh_blob *ret, struct err *err);

#endif
