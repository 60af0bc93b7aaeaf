/* A look at a private key file, to know before offering it whether it can be used and whether an agent has
 * it. */
#ifndef KEYS_KEYFILE_H
#define KEYS_KEYFILE_H

#include <stdbool.h>

#include "base/base.h"
#include "keys/sshwire.h"

struct keyfile {
    char type[64];        /* "ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa", ...; "" if it cannot be told */
    bool encrypted;       /* a passphrase protects it */
    unsigned rounds;      /* of bcrypt that a passphrase takes in OpenSSH's form; 0: none */
    bool absent;          /* FILE has no private half that can be read: it may be in an agent */
    bool is_public;       /* FILE is a public key itself */
    char unusable[300];   /* why FILE cannot be read as a private key, where FILE.pub stands in for it; "" if
                             there is no FILE, or it is a public key */
    struct ssh_blob blob; /* the public key; empty if neither the file nor its .pub shows it */
};

/* Reads FILE as a private or a public key and, for the forms that hide the public half and where FILE is
 * neither, FILE.pub. */
int keyfile_inspect(const char *path, struct keyfile *ret, struct err *err);
/* The same over the file's bytes, without the .pub. */
int keyfile_parse(const void *p, size_t n, struct keyfile *ret, struct err *err);
void keyfile_release(struct keyfile *k);

/* Reads the one public key or certificate of a FILE.pub; lines that are empty or begin with # may stand in
 * front of it. */
int keyfile_read_public(const char *path, struct ssh_blob *ret, struct err *err);

/* The private section of OpenSSH's own form, which the caller wipes; *ret comes empty for any other form.
 * `passphrase` may be NULL. ERR_NOT_FOUND: it is not what opens the file. ERR_UNSUPPORTED: its cipher is not
 * known here. */
int keyfile_private_section(const void *p, size_t n, const struct secret *passphrase, struct ssh_blob *ret,
                            struct err *err);

/* What a private key file may hold. */
#define KEYFILE_MAX (64u << 10)

#endif
