/* The ciphers under which OpenSSH's own form of a private key file lies, and how a passphrase opens it
 * (PROTOCOL.key). */
#ifndef KEYS_KEYLOCK_H
#define KEYS_KEYLOCK_H

#include "base/base.h"
#include "keys/sshwire.h"

struct keylock {
    struct ssh_reader cipher, kdf, options; /* as they stand in the file */
    struct ssh_reader sealed;               /* the private section */
    struct ssh_reader tag;                  /* what stands behind it */
};

/* The private section, from malloc, which the caller wipes. ERR_NOT_FOUND: not with this passphrase.
 * ERR_UNSUPPORTED: a cipher that is not known here. */
int keylock_open(const struct keylock *l, const struct secret *passphrase, struct ssh_blob *ret,
                 struct err *err);

/* How many rounds its key derivation takes, which is its cost; 0 when that cannot be told. */
unsigned keylock_rounds(const struct keylock *l);

#endif
