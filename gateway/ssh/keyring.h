/*
 * The secrets that the user typed in this run. Each passphrase or password is asked for once for all hosts
 * and threads: the first caller asks, the others wait for the result.
 *
 * Without a keyring (NULL) nothing is remembered and nobody waits.
 */
#ifndef GATEWAY_SSH_KEYRING_H
#define GATEWAY_SSH_KEYRING_H

#include "base/base.h"

struct keyring;

int keyring_new(struct keyring **ret, struct err *err);
/* Wipes and frees. Accepts NULL. */
void keyring_free(struct keyring *k);

/*
 * Looks up the secret of that name. If it is known, *ret is a copy, which the caller wipes. If *ret is empty,
 * the caller must ask the user and then call keyring_settle, because other callers wait for it.
 * ERR_NOT_FOUND: an earlier caller got no answer; err is the earlier error. ERR_TIMEOUT and ERR_CANCELLED end
 * the wait for another caller.
 */
int keyring_take(struct keyring *k, const char *name, int64_t deadline, int cancel_fd, struct secret *ret,
                 struct err *err);

/* Stores the result: `found`, or NULL. Without one, later callers receive `why` if it is ERR_NOT_FOUND; after
 * another failure the next caller may ask again. */
void keyring_settle(struct keyring *k, const char *name, const struct secret *found, const struct err *why);

#endif
