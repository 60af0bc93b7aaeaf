/*
 * Encryption to a list of recipients, in the age format (age-encryption.org/v1): what this writes age reads,
 * and the other way round. It protects what is in a file and shows any change to it; it does not say who made
 * the file (sshsig.h does).
 *
 * Recipients are age's own (X25519), SSH keys (ssh-ed25519, ssh-rsa), or one passphrase. Bytes stream through
 * in constant memory, and none is given out before it is known to be genuine. A file that was cut is told
 * from one that is whole only at its end, so whoever writes what was read to a file gives it its name after
 * that.
 */
#ifndef SEAL_AGE_H
#define SEAL_AGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/base.h"

/* ---- to whom ---- */

struct age_recipients;
int age_recipients_new(struct age_recipients **ret, struct err *err);
void age_recipients_free(struct age_recipients *r);

/*
 * Adds one, in the words of its owner: "age1…", "ssh-ed25519 AAAA… comment", "ssh-rsa AAAA…". What cannot
 * decrypt (ECDSA and FIDO keys, certificates, RSA below 2048 bits, post-quantum ones) is ERR_USAGE, by name
 * and with a hint. `where` is where it stands, for messages. The same one twice is one.
 */
int age_recipients_add(struct age_recipients *r, const char *text, const char *where, struct err *err);

/* Adds those of a file: age's recipients files, FILE.pub, authorized_keys with options, what GitHub and
 * GitLab show under /USER.keys. Each line that is not one is an error that names FILE:LINE; a file without
 * any too. A key among several that cannot decrypt is an error as well: nobody should think that they can
 * read it. */
int age_recipients_add_file(struct age_recipients *r, const char *path, struct err *err);

/* The one or the other: what looks like a public key is one, anything else the name of a file. */
int age_recipients_add_any(struct age_recipients *r, const char *text, const char *where, struct err *err);

/* A passphrase (scrypt) is the only one there is. */
int age_recipients_add_passphrase(struct age_recipients *r, const struct secret *passphrase, struct err *err);

size_t age_recipients_count(const struct age_recipients *r);
/* As a manifest names it: "age1…", "ssh-ed25519 SHA256:…", "passphrase". */
const char *age_recipients_name(const struct age_recipients *r, size_t i);

/* ---- writing ---- */

struct age_writer;
/* fd stays the caller's. The header is written with the first chunk. `armor`: text (PEM-like, strict). */
int age_writer_open(int fd, const struct age_recipients *to, bool armor, struct age_writer **ret,
                    struct err *err);
/* From now on writing ends with ERR_CANCELLED when that descriptor (-1: none) is readable, also where it
 * waits for the reader of a pipe. */
void age_writer_cancel(struct age_writer *w, int cancel_fd);
int age_writer_write(struct age_writer *w, const void *p, size_t n, struct err *err);
/* Writes the end; without it nobody can read the file to its end. */
int age_writer_finish(struct age_writer *w, struct err *err);
/* Wipes and frees, finished or not. NULL is fine. */
void age_writer_free(struct age_writer *w);

/* ---- by whom ---- */

struct age_identities;
/* `ask` (NULL: nobody) is asked for the passphrase of an identity only when a file is encrypted to it, once;
 * ask_ms is how long the person may take. */
int age_identities_new(ask_fn *ask, void *ask_ctx, int64_t ask_ms, struct age_identities **ret,
                       struct err *err);
void age_identities_free(struct age_identities *i);
/* From now on reading by them ends with ERR_CANCELLED when that descriptor (-1: none) is readable, also where
 * it waits for whoever writes into a pipe. */
void age_identities_cancel(struct age_identities *i, int cancel_fd);
/* That descriptor; -1 where there is none, or nobody. */
int age_identities_cancel_fd(const struct age_identities *i);
/* An age identity file (AGE-SECRET-KEY-1…, comments; itself encrypted with a passphrase or not, armored or
 * not) or an SSH private key. */
int age_identities_add_file(struct age_identities *i, const char *path, struct err *err);

/* ---- reading ---- */

/* Whether a file that begins with these bytes is in the age format, armored or not. */
bool age_is_encrypted(const void *p, size_t n);

struct age_reader;
/* Reads the header from fd (which stays the caller's) and finds an identity it fits; `by` may be NULL: none.
 * Of a file with a passphrase, the passphrase is asked for. The file key is kept in `by`, so that the same
 * file is opened again without a question, also by a copy of this process. ERR_NOT_FOUND: none fits; the
 * message says to whom it is encrypted. */
int age_reader_open(int fd, struct age_identities *by, struct age_reader **ret, struct err *err);
/* Up to n bytes, each of them genuine; 0: the genuine end. -1: changed, cut, extended, or the descriptor's
 * own failure. */
ssize_t age_reader_read(struct age_reader *r, void *p, size_t n, struct err *err);
void age_reader_free(struct age_reader *r);

#endif
