/* `profgrab bundle encrypt` and `decrypt`: any file, in the age format. */
#ifndef CLI_CRYPT_H
#define CLI_CRYPT_H

#include "cli/input/opener.h"
#include "seal/seal.h"

struct seal_options {
    const char *file;   /* "-": standard input */
    const char *output; /* NULL: the file's name with .age behind it, or without; "-": standard output */
    const struct strlist *recipients; /* each a recipient or a file of them */
    const struct strlist *identities; /* files */
    const char *passphrase_file;      /* NULL: a person is asked */
    bool passphrase;
    bool armor;
};

/* Prints the path of what was written; encrypting, on stderr to whom, and that the file itself stays. */
int seal_encrypt(const struct seal_options *o, struct err *err);
int seal_decrypt(const struct seal_options *o, struct err *err);

#endif
