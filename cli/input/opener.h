/* The identities that open encrypted files, as the commands' options name them. */
#ifndef CLI_INPUT_OPENER_H
#define CLI_INPUT_OPENER_H

#include "cli/term/prompt.h"
#include "seal/seal.h"

/* The time that the user has to answer. */
#define OPENER_ASK_MS 120000

/* Opens encrypted files. Do not copy it: the identities point to its prompt. */
struct opener {
    struct prompt prompt;
    struct age_identities *by;
};

/* Reads the identities in the files; without files, the usual SSH keys of ~/.ssh. Their passphrase is the
 * first line of passphrase_file; NULL asks the user. Call signals_install first, so that a signal ends the
 * question. There is nothing to release after a failure. */
int opener_init(struct opener *ret, const struct strlist *files, const char *passphrase_file,
                struct err *err);
void opener_release(struct opener *o);

/* Prepares questions for passphrases; passphrase_file as above. */
int opener_prompt_init(struct prompt *ret, const char *passphrase_file, struct err *err);

#endif
