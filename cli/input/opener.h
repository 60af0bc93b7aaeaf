/* The identities that open encrypted files, as the commands' options name them. */
#ifndef CLI_INPUT_OPENER_H
#define CLI_INPUT_OPENER_H

#include "cli/term/prompt.h"
#include "seal/seal.h"

/* How long a person may take to answer. */
#define OPENER_ASK_MS 120000

/* What opens encrypted files. It must not be copied: the identities ask through the prompt in it. */
struct opener {
    struct prompt prompt;
    struct age_identities *by;
};

/* The identities of the files; of no files, the SSH keys of ~/.ssh that ssh itself would try. Where one has a
 * passphrase, the first line of passphrase_file is it (NULL: a person is asked, until a signal ends that:
 * signals_install comes first). On failure nothing is to be released. */
int opener_init(struct opener *ret, const struct strlist *files, const char *passphrase_file,
                struct err *err);
void opener_release(struct opener *o);

/* Prepares questions for passphrases; passphrase_file as above. */
int opener_prompt_init(struct prompt *ret, const char *passphrase_file, struct err *err);

#endif
