/*
 * A stanza of a header: the file key, wrapped for one recipient. A line with the arguments precedes the lines
 * of the body, which are base64.
 *
 *     -> X25519 SHARE             its body: the file key, wrapped with the X25519 shared secret
 *     -> ssh-ed25519 TAG SHARE    the same, with the X25519 point of an SSH key
 *     -> ssh-rsa TAG              the file key, by RSA-OAEP
 *     -> scrypt SALT LOG-N        the file key, wrapped with a key from a passphrase; the only stanza
 *
 * SHARE is the X25519 point of a key that is used only for this stanza. TAG is the beginning of the SSH key's
 * SHA-256. The owner of the key, and everybody else who has the public key, can recognise the stanza by its
 * tag.
 */
#ifndef SEAL_AGE_STANZA_H
#define SEAL_AGE_STANZA_H

#include "keys/keys.h"
#include "seal/age_crypto.h"

enum age_kind {
    AGE_X25519,
    AGE_SSH_ED25519,
    AGE_SSH_RSA,
    AGE_SCRYPT,
    AGE_OTHER, /* unknown kind, skipped */
};

#define AGE_SSH_TAG 4
#define AGE_SALT 16
#define AGE_RSA_BITS_MAX 16384
#define AGE_BODY_MAX (AGE_RSA_BITS_MAX / 8)
/* The highest scrypt cost that a file may require: 4 GiB of memory, as in age. */
#define AGE_SCRYPT_LOG_MAX 22

struct age_stanza {
    enum age_kind kind;
    char type[32];                  /* the type, printable */
    unsigned char tag[AGE_SSH_TAG]; /* AGE_SSH_ED25519, AGE_SSH_RSA */
    unsigned char share[AGE_KEY];   /* AGE_X25519, AGE_SSH_ED25519 */
    unsigned char salt[AGE_SALT];   /* AGE_SCRYPT */
    unsigned log_n;                 /* AGE_SCRYPT: the binary logarithm of the cost N */
    unsigned char *body;            /* NULL for AGE_OTHER */
    size_t n_body;
};
void age_stanza_release(struct age_stanza *s);

/* Parses the arguments after "-> ", with the type. A known kind must have exactly its arguments. Also limits
 * scrypt's cost. */
int age_stanza_parse(const char *p, size_t n, struct age_stanza *ret, struct err *err);
/* Stores the decoded body, whose size must match the kind. */
int age_stanza_set_body(struct age_stanza *s, const void *p, size_t n, struct err *err);

/* Adds a stanza to a header. `arguments` contains the type, without "-> ". */
void age_stanza_add(struct buf *header, const char *arguments, const void *body, size_t n);

/* Formats a stanza's type and tag, printable: "X25519", "ssh-ed25519 SHA256:Gj8k…", "a passphrase". Returns
 * dst. */
char *age_stanza_name(const struct age_stanza *s, char *dst, size_t cap);

/* ---- one file for each kind: age_x25519.c, age_ssh.c, age_scrypt.c ---- */

/* Computes the tag of an SSH key in a stanza. */
int age_ssh_tag(const struct ssh_blob *key, unsigned char ret[AGE_SSH_TAG], struct err *err);

/* Converts an ssh-ed25519 key to its X25519 point. ERR_USAGE if its bytes are no valid point. */
int age_ssh_point(const struct ssh_blob *key, unsigned char ret[AGE_KEY], struct err *err);
/* Checks an RSA key for encryption: ERR_USAGE below 2048 bits, above AGE_RSA_BITS_MAX, or malformed. */
int age_ssh_check_rsa(const struct ssh_blob *key, struct err *err);

/* Each function adds its stanza to the header. */
int age_x25519_wrap(const unsigned char point[AGE_KEY], const unsigned char file_key[AGE_FILE_KEY],
                    struct buf *header, struct err *err);
int age_ssh_wrap_ed25519(const struct ssh_blob *key, const unsigned char file_key[AGE_FILE_KEY],
                         struct buf *header, struct err *err);
int age_ssh_wrap_rsa(const struct ssh_blob *key, const unsigned char file_key[AGE_FILE_KEY],
                     struct buf *header, struct err *err);
#define AGE_SCRYPT_LOG 18      /* log_n of new files: about a second and 256 MB, as in age */
#define AGE_SCRYPT_MEMORY 1024 /* bytes for each unit of the cost N: 128 r, where r = 8 */
#define AGE_SCRYPT_PER_MS 300  /* approximate units of N per millisecond on a machine of 2022 */
int age_scrypt_wrap(const struct secret *passphrase, unsigned log_n,
                    const unsigned char file_key[AGE_FILE_KEY], struct buf *header, struct err *err);

struct age_unwrapped {
    bool matches; /* false: the stanza is for another key, and file_key is not set */
    unsigned char file_key[AGE_FILE_KEY];
};
/* Each function unwraps the file key of a stanza of its kind. -1: the stanza is malformed, OpenSSL failed, or
 * the work was cancelled. */
int age_x25519_unwrap(const unsigned char secret[AGE_KEY], const struct age_stanza *s,
                      struct age_unwrapped *ret, struct err *err);
int age_ssh_unwrap(const struct privkey *private, const struct ssh_blob *key, const struct age_stanza *s,
                   struct age_unwrapped *ret, struct err *err);
/* Unwraps the file key with a passphrase. The derivation runs in a child process, so that it can be
 * cancelled. */
int age_scrypt_unwrap(const struct passphrase *passphrase, const struct age_stanza *s,
                      struct age_unwrapped *ret, struct err *err);

#endif
