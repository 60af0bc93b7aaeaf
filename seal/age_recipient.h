/* The recipients of a file. Private to this folder. */
#ifndef SEAL_AGE_RECIPIENT_H
#define SEAL_AGE_RECIPIENT_H

#include "seal/age_stanza.h"

struct age_recipient {
    enum age_kind kind;
    char *name;
    unsigned char point[AGE_KEY]; /* AGE_X25519 */
    struct ssh_blob key;          /* SSH kinds */
    struct secret passphrase;     /* AGE_SCRYPT */
};

struct age_recipients {
    struct age_recipient **items; /* allocated separately, so that growing the array copies no passphrase */
    size_t n, cap;
};

/* Adds a stanza for each recipient to the header. */
int age_recipients_wrap(const struct age_recipients *r, const unsigned char file_key[AGE_FILE_KEY],
                        struct buf *header, struct err *err);

#endif
