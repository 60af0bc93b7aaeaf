/* The recipients of a file, from the inside. */
#ifndef SEAL_AGE_RECIPIENT_H
#define SEAL_AGE_RECIPIENT_H

#include "seal/age_stanza.h"

struct age_recipient {
    enum age_kind kind;
    char *name;
    unsigned char point[AGE_KEY]; /* AGE_X25519 */
    struct ssh_blob key;          /* of SSH */
    struct secret passphrase;     /* AGE_SCRYPT */
};

struct age_recipients {
    struct age_recipient **items; /* one by one, so that no growing leaves a passphrase behind */
    size_t n, cap;
};

/* Adds a stanza for each of them. */
int age_recipients_wrap(const struct age_recipients *r, const unsigned char file_key[AGE_FILE_KEY],
                        struct buf *header, struct err *err);

#endif
