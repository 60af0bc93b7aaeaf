/* Those by whom a file may be read, from the inside. */
#ifndef SEAL_AGE_IDENTITY_H
#define SEAL_AGE_IDENTITY_H

#include "seal/age.h"
#include "seal/age_header.h"

struct age_identity {
    enum {
        IDENTITY_AGE,    /* a secret */
        IDENTITY_SSH,    /* a private key file */
        IDENTITY_SEALED, /* a file of identities that is itself encrypted with a passphrase */
    } form;
    char *path;                    /* where it stands */
    unsigned char secret[AGE_KEY]; /* IDENTITY_AGE */
    struct ssh_blob key;           /* IDENTITY_SSH: its public half */
    unsigned char tag[AGE_SSH_TAG];
    struct privkey *opened; /* IDENTITY_SSH: once it was needed, or if it has no passphrase */
    bool over; /* IDENTITY_SEALED: its identities are among the others; or nobody could open it */
};

struct age_identities {
    ask_fn *ask;
    void *ask_ctx;
    int64_t ask_ms;
    int cancel_fd;               /* -1: none */
    struct age_identity **items; /* one by one, so that no growing leaves a secret behind */
    size_t n, cap;
    /* The file that was opened last, by its header: who opens it again is asked for nothing. */
    bool has_last;
    char last_header[SHA256_HEX];
    unsigned char last_key[AGE_FILE_KEY];
};

/* Finds the one that a header's stanza is for, and unwraps the file key. ERR_NOT_FOUND: there is none. */
int age_identities_unwrap(struct age_identities *i, const struct age_header *h,
                          unsigned char ret_file_key[AGE_FILE_KEY], struct err *err);

/* The parser of an identity file, over its n bytes; adds to i. */
int age_identities_parse(struct age_identities *i, const void *p, size_t n, const char *path,
                         struct err *err);

#endif
