/* A passphrase that opens a private key file. */
#ifndef KEYS_PASSPHRASE_H
#define KEYS_PASSPHRASE_H

#include "base/base.h"

/* The file sets the cost of deriving the key, up to a minute, so the derivation can be cancelled. */
struct passphrase {
    const struct secret *secret;
    int cancel_fd; /* once readable: ERR_CANCELLED; -1: none */
};

#endif
