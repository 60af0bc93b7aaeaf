/*
 * Private keys that OpenSSL holds: those of the PEM forms (PKCS#1, PKCS#8, SEC1), with or without a
 * passphrase, and those of OpenSSH's own form without one. OpenSSH's form with a passphrase is left to
 * libssh2, which has its key derivation (bcrypt) to itself.
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

#endif
