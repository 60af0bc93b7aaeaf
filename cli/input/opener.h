/* Opens encrypted files with the identities and the passphrase that a command's options name. */
#ifndef CLI_INPUT_OPENER_H
#define CLI_INPUT_OPENER_H

#include "cli/term/prompt.h"
#include "seal/seal.h"

/* The time limit for an answer of the user. */
#define OPENER_ASK_MS 120000

/* Do not copy the struct: the identities point to its prompt. */
struct opener {
    struct prompt prompt;
    struct age_identities *identities;
};

/* Reads the identities from the files; without files, from the usual SSH keys of ~/.ssh. Their passphrase is
 * the first line of passphrase_file; NULL: asks the user. Call signals_install first, so that a signal ends a
 * question. After a failure there is nothing to release. */
int opener_init(struct opener *ret, const struct strlist *files, const char *passphrase_file,
                struct err *err);
void opener_release(struct opener *o);

/* Initialises a prompt for passphrases. passphrase_file: as for opener_init. */
int opener_prompt_init(struct prompt *ret, const char *passphrase_file, struct err *err);

#endif
