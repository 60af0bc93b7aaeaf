/* The identities that can decrypt a file. Private to this folder. */
#ifndef SEAL_AGE_IDENTITY_H
#define SEAL_AGE_IDENTITY_H

#include "seal/age.h"
#include "seal/age_header.h"

struct age_identity {
    enum {
        IDENTITY_AGE,       /* an age secret key */
        IDENTITY_SSH,       /* a private key file */
        IDENTITY_ENCRYPTED, /* an identity file that is encrypted with a passphrase */
    } form;
    char *path;                     /* the file that contains it */
    unsigned char secret[AGE_KEY];  /* IDENTITY_AGE */
    struct ssh_blob key;            /* IDENTITY_SSH: its public half */
    unsigned char tag[AGE_SSH_TAG]; /* IDENTITY_SSH: the tag of its stanzas */
    struct privkey *privkey;        /* IDENTITY_SSH: NULL until the right passphrase was entered */
    /* Do not ask for its passphrase again. IDENTITY_ENCRYPTED: set before the first attempt. IDENTITY_SSH:
     * set after an attempt to open the key failed. */
    bool tried;
};

struct age_identities {
    ask_fn *ask;
    void *ask_ctx;
    int64_t ask_ms;
    int cancel_fd;               /* -1: none */
    struct age_identity **items; /* allocated separately, so that growing the array copies no secret */
    size_t n, cap;
    /* The hash of the header and the key of the last opened file: opening it again asks no question. */
    bool has_last_key;
    char last_header_hash[SHA256_HEX];
    unsigned char last_key[AGE_FILE_KEY];
};

/* Finds the identity that matches a stanza of the header, and unwraps the file key. ERR_NO_KEY: none matches.
 */
int age_identities_unwrap(struct age_identities *identities, const struct age_header *h,
                          unsigned char ret_file_key[AGE_FILE_KEY], struct err *err);

/* Parses the n bytes of an identity file and adds them to `identities`. */
int age_identities_parse(struct age_identities *identities, const void *p, size_t n, const char *path,
                         struct err *err);

#endif
