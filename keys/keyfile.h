/* Inspects a private key file before its key is offered to a server: whether the file is usable, and which
 * public key it has. Below, FILE is the private key file, and FILE.pub has its public key. */
#ifndef KEYS_KEYFILE_H
#define KEYS_KEYFILE_H

#include <stdbool.h>

#include "base/base.h"
#include "keys/passphrase.h"
#include "keys/sshwire.h"

struct keyfile {
    char type[64];          /* "ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa", ...; "" if unknown */
    bool encrypted;         /* a passphrase protects it */
    unsigned rounds;        /* bcrypt rounds of an encrypted file in OpenSSH's format; 0: none */
    bool is_private_absent; /* FILE has no readable private half, but an agent may have the key */
    bool is_public;         /* FILE is a public key itself */
    char unusable[300];   /* why FILE is no readable private key, if FILE.pub is used instead; "" if FILE is a
                             private or public key or does not exist */
    struct ssh_blob blob; /* the public key; empty if neither FILE nor FILE.pub contains it */
};

/* Reads FILE, the file `path`, as a private or public key. Also reads FILE.pub if FILE is neither, or if
 * FILE is in a PEM format, because keyfile_parse reads no public half from these formats. */
int keyfile_inspect(const char *path, struct keyfile *ret, struct err *err);
/* Parses the bytes of FILE without reading FILE.pub. */
int keyfile_parse(const void *p, size_t n, struct keyfile *ret, struct err *err);
void keyfile_release(struct keyfile *k);

/* Reads the single public key or certificate of a FILE.pub. Empty lines and lines that begin with # may
 * precede it. */
int keyfile_read_public(const char *path, struct ssh_blob *ret, struct err *err);

/* Decrypts the private section of a file in OpenSSH's own format; the caller wipes it. *ret is empty for a
 * file in another format. `passphrase` may be NULL. ERR_NOT_FOUND: the passphrase is wrong or missing.
 * ERR_UNSUPPORTED: unknown cipher. */
int keyfile_private_section(const void *p, size_t n, const struct passphrase *passphrase,
                            struct ssh_blob *ret, struct err *err);

/* The size limit of a private key file, in bytes. */
#define KEYFILE_MAX (64u << 10)

#endif
