/* One attempt with one public key. */
#ifndef GATEWAY_SSH_AUTH_OFFER_H
#define GATEWAY_SSH_AUTH_OFFER_H

#include "base/base.h"
#include "gateway/ssh/auth_keys.h"

/* An offer and its result. */
struct attempt {
    struct auth *auth;
    struct candidate *candidate;
    struct ssh_blob renamed;      /* the key under another name; owned */
    const struct ssh_blob *offer; /* as the server receives it */
    bool wanted;                  /* the server accepts the key */
    struct err err;               /* why there is no signature */
};

/* Offers the key, and signs if the server accepts it. *ret_rc is libssh2's result. -1: the wait for the
 * server has failed. */
int auth_offer(struct attempt *t, int *ret_rc, struct err *err);

#endif
