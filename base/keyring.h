/*
 * The secrets that the user typed in this run. Each passphrase or password is asked for once for all hosts
 * and threads: the first caller asks, the others wait for the result.
 *
 * A program has one keyring, beside the function that asks the user (cli/term/prompt.h). Logins, signatures
 * and files that are opened share it. Without a keyring (NULL) nothing is remembered and nobody waits.
 */
#ifndef BASE_KEYRING_H
#define BASE_KEYRING_H

#include <stdint.h>

#include "base/data/err.h"
#include "base/secret.h"

struct keyring;

int keyring_new(struct keyring **ret, struct err *err);
/* Wipes and frees. Accepts NULL. */
void keyring_free(struct keyring *k);

/* Returns the name of the passphrase of a private key, or of another file. Two spellings of the file's path
 * give one name. The caller frees it. NULL: out of memory. */
char *keyring_file_name(const char *path);

/* How long a caller waits for another one's result. */
struct keyring_wait {
    int64_t deadline; /* of clock_now() */
    int cancel_fd;    /* readable: ERR_CANCELLED; -1: none */
};

/*
 * Looks up the secret of that name. If it is known, *ret is a copy, which the caller wipes. If *ret is empty,
 * the caller must ask the user and then call keyring_settle, because other callers wait for it.
 * ERR_NOT_FOUND: an earlier caller got no answer; err is the earlier error. ERR_TIMEOUT and ERR_CANCELLED end
 * the wait for another caller.
 */
int keyring_take(struct keyring *k, const char *name, const struct keyring_wait *wait, struct secret *ret,
                 struct err *err);

/* Stores the result: `found`, or NULL. Without one, later callers receive `why` if it is ERR_NOT_FOUND; after
 * another failure the next caller may ask again. */
void keyring_settle(struct keyring *k, const char *name, const struct secret *found, const struct err *why);

/* Forgets a secret that was wrong, or that an earlier caller got no answer. A caller that asks is not
 * affected. */
void keyring_forget(struct keyring *k, const char *name);

#endif
