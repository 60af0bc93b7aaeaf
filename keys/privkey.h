/*
 * Private keys that OpenSSL holds: those of the PEM forms (PKCS#1, PKCS#8, SEC1) and those of OpenSSH's own
 * form, with or without a passphrase.
 */
#ifndef KEYS_PRIVKEY_H
#define KEYS_PRIVKEY_H

#include <stdbool.h>

#include "base/base.h"
#include "keys/sshwire.h"

struct privkey;

/* Reads a file's bytes. `passphrase` may be NULL. ERR_NOT_FOUND: with this passphrase, or without one, it
 * cannot be opened. */
int privkey_parse(const void *p, size_t n, const struct secret *passphrase, struct privkey **ret,
                  struct err *err);
/* Wipes and frees. NULL is fine. */
void privkey_free(struct privkey *k);

/* The public half as SSH has it, from malloc. */
int privkey_public(const struct privkey *k, struct ssh_blob *ret, struct err *err);

/* Signs. *ret is the inner signature, without its algorithm's name (what libssh2 wants), from malloc. The
 * name says which hash an RSA key takes: rsa-sha2-512, rsa-sha2-256 or ssh-rsa, also of a certificate. */
int privkey_sign(const struct privkey *k, const char *algorithm, const struct ssh_blob *data,
                 struct ssh_blob *ret, struct err *err);

/* What a ssh-ed25519 key is to X25519 (RFC 7748): its secret scalar, which the caller wipes. */
#define PRIVKEY_X25519 32
int privkey_x25519(const struct privkey *k, unsigned char ret[PRIVKEY_X25519], struct err *err);

/* Decrypts what was encrypted to an RSA key (oaep.h). *ret is from malloc, and the caller's to wipe.
 * ERR_NOT_FOUND: it was not encrypted to this key. */
int privkey_decrypt(const struct privkey *k, const char *label, const struct ssh_blob *data,
                    struct ssh_blob *ret, struct err *err);

#endif
