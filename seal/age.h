/*
 * Encryption to a list of recipients, in the age format (age-encryption.org/v1), compatible with age in both
 * directions. It hides the content of a file and detects any change. It does not authenticate the author;
 * sshsig.h does.
 *
 * Recipients are age's own (X25519), SSH keys (ssh-ed25519, ssh-rsa), or one passphrase. Reading and writing
 * take constant memory. The reader returns only authenticated bytes, but detects a truncated file only at its
 * end. A caller that writes the bytes to a file must not give that file its name before the end.
 *
 * Files: age_recipients.c and age_identities.c read the user's lines and key files; age_header.c and
 * age_stanza.c parse and write the header; age_x25519.c, age_ssh.c and age_scrypt.c wrap and unwrap a file
 * key for one kind of recipient; age_stream.c has the chunks, age_armor.c the armor; age_writer.c and
 * age_reader.c use these with a file key; age_unwrap.c finds the identity that unwraps the file key, and asks
 * for passphrases; age_open.c opens a file with identities.
 */
#ifndef SEAL_AGE_H
#define SEAL_AGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/base.h"

/* ---- recipients ---- */

struct age_recipients;
int age_recipients_new(struct age_recipients **ret, struct err *err);
void age_recipients_free(struct age_recipients *r);

/*
 * Adds a recipient from its text: "age1…", "ssh-ed25519 AAAA… comment", "ssh-rsa AAAA…". ERR_USAGE with a
 * hint: the key cannot decrypt (ECDSA and FIDO keys, certificates, RSA below 2048 bits, post-quantum keys).
 * `where` is the text's location, for messages. Duplicates count once.
 */
int age_recipients_add(struct age_recipients *r, const char *text, const char *where, struct err *err);

/* Adds the recipients of a file: age's recipients files, FILE.pub, authorized_keys with options, or the
 * /USER.keys of GitHub and GitLab. A line that is not a recipient is an error that names FILE:LINE. A file
 * without recipients is an error too. A key that cannot decrypt is also an error, even among others:
 * otherwise its owner would expect to be able to read the file. */
int age_recipients_add_file(struct age_recipients *r, const char *path, struct err *err);

/* Adds a recipient if the text looks like a public key, otherwise the recipients of the file of that name.
 * `option` is the name of the option that has that text. github:NAME and gitlab:NAME are ERR_USAGE with a
 * hint on how to fetch the keys. */
int age_recipients_add_any(struct age_recipients *r, const char *text, const char *option, struct err *err);

/* Adds a passphrase (scrypt). It must be the only recipient. */
int age_recipients_add_passphrase(struct age_recipients *r, const struct secret *passphrase, struct err *err);

size_t age_recipients_count(const struct age_recipients *r);
/* Returns the name in the manifest: "age1…", "ssh-ed25519 SHA256:…", "passphrase". */
const char *age_recipients_name(const struct age_recipients *r, size_t i);

/* ---- writing ---- */

struct age_writer;
/* Starts an encrypted file. The caller closes fd. The writer writes the header with the first chunk. `armor`:
 * write ASCII armor (age_armor.h) instead of binary data. */
int age_writer_open(int fd, const struct age_recipients *recipients, bool armor, struct age_writer **ret,
                    struct err *err);
/* Sets the cancel descriptor (-1: none). Once it is readable, writing fails with ERR_CANCELLED, even while it
 * waits for the reader of a pipe. */
void age_writer_set_cancel_fd(struct age_writer *w, int cancel_fd);
int age_writer_write(struct age_writer *w, const void *p, size_t n, struct err *err);
/* Writes the last chunk. A reader reports a file without it as truncated. */
int age_writer_finish(struct age_writer *w, struct err *err);
/* Wipes and frees the writer, finished or not. Accepts NULL. */
void age_writer_free(struct age_writer *w);

/* ---- identities ---- */

struct age_identities;
/* `ask` (may be NULL) is called for the passphrase of a file or of an identity; for an identity only if the
 * file may be encrypted to that identity. ask_ms is the timeout of each answer. */
int age_identities_new(ask_fn *ask, void *ask_ctx, int64_t ask_ms, struct age_identities **ret,
                       struct err *err);
void age_identities_free(struct age_identities *identities);
/* Sets the cancel descriptor (-1: none). Once it is readable, reading with these identities fails with
 * ERR_CANCELLED, even while it waits for the writer of a pipe. */
void age_identities_set_cancel_fd(struct age_identities *identities, int cancel_fd);
/* Returns the cancel descriptor, or -1; `identities` may be NULL. */
int age_identities_cancel_fd(const struct age_identities *identities);
/* Adds an age identity file (AGE-SECRET-KEY-1… and comments, optionally encrypted with a passphrase or
 * armored) or an SSH private key. */
int age_identities_add_file(struct age_identities *identities, const char *path, struct err *err);

/* ---- reading ---- */

/* Returns whether a file that starts with these bytes is in the age format, armored or not. */
bool age_is_encrypted(const void *p, size_t n);

struct age_reader;
/* Reads the header from fd, which the caller closes, and finds a matching identity. `identities` may be NULL:
 * none. Asks for the passphrase of a file that has one. Stores the file key in `identities`, so that they can
 * open the same file again without a question, also in a fork. ERR_NO_KEY: no identity matches; the
 * message names the recipients. */
int age_reader_open(int fd, struct age_identities *identities, struct age_reader **ret, struct err *err);
/* Reads up to n authenticated bytes. 0: the authenticated end. -1: the file was changed, truncated or
 * extended, or fd failed. */
ssize_t age_reader_read(struct age_reader *r, void *p, size_t n, struct err *err);
void age_reader_free(struct age_reader *r);

#endif
