/* `profgrab bundle encrypt` and `decrypt`: any file, in the age format. */
#ifndef CLI_BUNDLE_CRYPT_H
#define CLI_BUNDLE_CRYPT_H

#include "cli/input/opener.h"
#include "seal/seal.h"

struct crypt_options {
    const char *file;                 /* "-": standard input */
    const char *output;               /* NULL: the file's name with or without .age; "-": standard output */
    const struct strlist *recipients; /* each a recipient or a file of them */
    const struct strlist *identities; /* files */
    const char *passphrase_file;      /* NULL: ask the user */
    bool passphrase;
    bool armor;
};

/* Both print the path of the new file on stdout. crypt_encrypt also prints the recipients on stderr. */
int crypt_encrypt(const struct crypt_options *o, struct err *err);
int crypt_decrypt(const struct crypt_options *o, struct err *err);

#endif
