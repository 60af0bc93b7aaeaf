/* A passphrase that opens a private key file. */
#ifndef KEYS_PASSPHRASE_H
#define KEYS_PASSPHRASE_H

#include "base/base.h"

/* The derivation of the key can be cancelled, because the file determines its time, up to a minute. */
struct passphrase {
    const struct secret *secret;
    int cancel_fd; /* once readable: ERR_CANCELLED; -1: none */
};

#endif
