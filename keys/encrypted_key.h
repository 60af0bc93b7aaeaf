/* Decrypts the private section of OpenSSH's own key format with a passphrase (PROTOCOL.key). */
#ifndef KEYS_ENCRYPTED_KEY_H
#define KEYS_ENCRYPTED_KEY_H

#include "base/base.h"
#include "keys/passphrase.h"
#include "keys/sshwire.h"

/* An encrypted private section and its parameters. Borrows the bytes of the file. */
struct encrypted_key {
    struct ssh_reader cipher, kdf, options; /* as in the file */
    struct ssh_reader sealed;               /* the encrypted private section */
    struct ssh_reader tag;                  /* the authentication tag behind the section; may be empty */
};

/* Decrypts the private section into memory from malloc, which the caller wipes. ERR_NOT_FOUND: wrong
 * passphrase. ERR_UNSUPPORTED: unknown cipher. */
int encrypted_key_decrypt(const struct encrypted_key *encrypted, const struct passphrase *passphrase,
                          struct ssh_blob *ret, struct err *err);

/* Returns the number of rounds of the key derivation, which determines its time; 0 if unknown. */
unsigned encrypted_key_rounds(const struct encrypted_key *encrypted);

#endif
