/* `profgrab bundle encrypt` and `decrypt`: any file, in the age format; and the identities of the other
 * verbs. */
#ifndef CLI_CRYPT_H
#define CLI_CRYPT_H

#include "cli/term/prompt.h"
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

/* Adds what --encrypt-to names. `github:NAME` is an error that says how to get the keys. */
int seal_add_recipient(struct age_recipients *to, const char *text, struct err *err);

/* Prints the path of what was written; encrypting, on stderr to whom, and that the file itself stays. */
int seal_encrypt(const struct seal_options *o, struct err *err);
int seal_decrypt(const struct seal_options *o, struct err *err);

/* What opens encrypted files. It must not be copied: the identities ask through the prompt in it. */
struct seal_opener {
    struct prompt prompt;
    struct age_identities *by;
};

/* The identities of the files; of no files, the SSH keys of ~/.ssh that ssh itself would try. Where one has a
 * passphrase, the first line of passphrase_file is it (NULL: a person is asked, until a signal ends that:
 * signals_install comes first). On failure nothing is to be released. */
int seal_opener_init(struct seal_opener *ret, const struct strlist *files, const char *passphrase_file,
                     struct err *err);
void seal_opener_release(struct seal_opener *o);

#endif
