/* `profgrab bundle encrypt` and `decrypt`: any file, in the age format; and the identities of the other
 * verbs. */
#ifndef CLI_SEAL_H
#define CLI_SEAL_H

#include "cli/prompt.h"
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

/* Prints the path of what was written. */
int seal_encrypt(const struct seal_options *o, struct err *err);
int seal_decrypt(const struct seal_options *o, struct err *err);

/* The one who is asked for passphrases, to be released with prompt_release; the first line of the file, where
 * there is one (NULL: none), answers for all of them. */
int seal_prompt(struct prompt *ret, const char *passphrase_file, struct err *err);

/* Those of the files; whoever has to be asked for a passphrase is asked through `prompt`, which must outlive
 * them. */
int seal_identities(const struct strlist *files, struct prompt *prompt, struct age_identities **ret,
                    struct err *err);

#endif
