/* A look at a private key file, to know before offering it whether it can be used and whether an agent has
 * it. */
#ifndef GATEWAY_KEYFILE_H
#define GATEWAY_KEYFILE_H

#include <stdbool.h>

#include "base/base.h"
#include "gateway/sshwire.h"

struct keyfile {
    char type[64];        /* "ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa", ...; "" if it cannot be told */
    bool encrypted;       /* a passphrase protects it */
    struct ssh_blob blob; /* the public key; empty if neither the file nor its .pub shows it */
};

/* Reads FILE and, for the forms that hide the public half, FILE.pub. */
int keyfile_inspect(const char *path, struct keyfile *ret, struct err *err);
/* The same over the file's bytes, without the .pub. */
int keyfile_parse(const void *p, size_t n, struct keyfile *ret, struct err *err);
void keyfile_release(struct keyfile *k);

#endif
