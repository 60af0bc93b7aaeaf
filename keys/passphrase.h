/* A passphrase that opens a private key file. */
#ifndef KEYS_PASSPHRASE_H
#define KEYS_PASSPHRASE_H

#include "base/base.h"

/* Deriving the key from the passphrase can be cancelled, because it may take up to a minute: the key file
 * sets the number of rounds. */
struct passphrase {
    const struct secret *secret;
    int cancel_fd; /* cancels when it becomes readable (ERR_CANCELLED); -1: none */
};

#endif
