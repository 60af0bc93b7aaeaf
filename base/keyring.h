/*
 * The secrets that the user typed in this run. The user types each passphrase or password once for all hosts
 * and threads: the first caller asks, the other callers wait for the result.
 *
 * The program has one keyring, which cli/term/prompt.h creates. Logins, signatures and encrypted files share
 * it. If the keyring is NULL, nothing is stored and no caller waits.
 */
#ifndef BASE_KEYRING_H
#define BASE_KEYRING_H

#include <stdint.h>

#include "base/data/err.h"
#include "base/secret.h"

struct keyring;

int keyring_new(struct keyring **ret, struct err *err);

/* Wipes all secrets and frees the keyring. Accepts NULL. */
void keyring_free(struct keyring *k);

/* Returns the name under which a keyring stores the passphrase of a private key or another file. Two paths of
 * the same file give the same name. The caller frees it. NULL: out of memory. */
char *keyring_name_of_file(const char *path);

/* Limits of the wait while another caller asks. */
struct keyring_wait {
    int64_t deadline; /* a value of clock_now() */
    int cancel_fd;    /* readable: ERR_CANCELLED; -1: none */
};

/*
 * Looks up the secret of that name. If it is known, *ret is a copy, which the caller wipes. If *ret is empty,
 * the caller must ask the user and then call keyring_store_result: other callers wait until it does.
 * ERR_NOT_FOUND: an earlier caller could not ask the user; err is the earlier error. ERR_TIMEOUT or
 * ERR_CANCELLED: a limit of `wait` ended the wait for another caller.
 */
int keyring_get_or_claim(struct keyring *k, const char *name, const struct keyring_wait *wait,
                         struct secret *ret, struct err *err);

/* Stores the secret `found`; NULL: the user gave none. After NULL, later callers receive the error `why`
 * if its kind is ERR_NOT_FOUND; after another error the next caller asks again. */
void keyring_store_result(struct keyring *k, const char *name, const struct secret *found,
                          const struct err *why);

/* Removes a wrong secret, or the error of an earlier caller. Has no effect while a caller asks. */
void keyring_forget(struct keyring *k, const char *name);

#endif
