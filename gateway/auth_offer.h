/* One attempt at one public key. */
#ifndef GATEWAY_AUTH_OFFER_H
#define GATEWAY_AUTH_OFFER_H

#include "base/base.h"
#include "gateway/auth_keys.h"

/* What is offered, and what came of it. */
struct attempt {
    struct auth *auth;
    struct candidate *candidate;
    struct ssh_blob renamed;      /* the key under another name, its own */
    const struct ssh_blob *offer; /* as it goes to the server */
    bool wanted;                  /* the server would take the key */
    struct err err;               /* why there is no signature */
};

/* Offers the key, and signs where the server would take it. *ret_rc is libssh2's verdict. -1: waiting for the
 * server has failed. */
int auth_offer(struct attempt *t, int *ret_rc, struct err *err);

#endif
