/*
 * What a person typed, for the time of a run: a passphrase or a password is asked for once, whatever the
 * number of hosts and threads that need it. Whoever comes first asks; the others wait for what comes of it.
 *
 * Without a keyring (NULL) nothing is remembered and nobody waits.
 */
#ifndef GATEWAY_KEYRING_H
#define GATEWAY_KEYRING_H

#include "base/base.h"
#include "gateway/gateway.h"

struct keyring;

int keyring_new(struct keyring **ret, struct err *err);
/* Wipes and frees. NULL is fine. */
void keyring_free(struct keyring *k);

/*
 * Takes the secret of that name. If it is known, *ret is a copy, which the caller wipes. If *ret comes empty,
 * nobody knows it: the caller is to find it out and must then call keyring_settle, for which everybody else
 * who wants it waits. ERR_NOT_FOUND: whoever asked had no answer, in the words of then. ERR_TIMEOUT and
 * ERR_CANCELLED end the wait for another's answer.
 */
int keyring_take(struct keyring *k, const char *name, int64_t deadline, int cancel_fd, struct secret *ret,
                 struct err *err);

/* What came of it: `found` from now on; or (NULL) nothing. Then `why` (ERR_NOT_FOUND) is told to all who want
 * it later; after any other failure the next one may ask again. */
void keyring_settle(struct keyring *k, const char *name, const struct secret *found, const struct err *why);

#endif
