/* The parts of the format that signing and verifying share. */
#ifndef SEAL_SSHSIG_FORMAT_H
#define SEAL_SSHSIG_FORMAT_H

#include "seal/sshsig.h"

/* Builds the data that a key signs: the preamble, the namespace, the hash's name and the message's hash.
 * `ret` is a new blob. */
int sshsig_signed_data(const char *namespace, bool sha256, struct str message, struct ssh_blob *ret,
                       struct err *err);

/* Formats the signature as armored text, a new string. */
int sshsig_armor(const char *namespace, const struct ssh_blob *key, const struct ssh_blob *signature,
                 char **ret, struct err *err);

#endif
