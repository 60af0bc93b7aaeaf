/* `profgrab bundle encrypt` and `decrypt`: encrypt and decrypt any file in the age format. */
#ifndef CLI_BUNDLE_CRYPT_H
#define CLI_BUNDLE_CRYPT_H

#include "cli/input/opener.h"
#include "seal/seal.h"

struct crypt_options {
    const char *file;                 /* "-": standard input */
    const char *output;               /* NULL: `file` with .age added or removed; "-": standard output */
    const struct strlist *recipients; /* recipients, or names of files with recipients */
    const struct strlist *identities; /* names of identity files */
    const char *passphrase_file;      /* NULL: ask the user */
    bool passphrase;                  /* encrypt with a passphrase instead of `recipients` */
    bool armor;                       /* encrypt as text */
};

/* Both print the path of the new file on stdout, unless `output` is "-". crypt_encrypt also prints the
 * recipients on stderr. */
int crypt_encrypt(const struct crypt_options *o, struct err *err);
int crypt_decrypt(const struct crypt_options *o, struct err *err);

#endif
