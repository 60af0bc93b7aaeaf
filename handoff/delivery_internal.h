/* Functions that only delivery.c and delivery_prepare.c use. */
#ifndef HANDOFF_DELIVERY_INTERNAL_H
#define HANDOFF_DELIVERY_INTERNAL_H

#include "handoff/delivery.h"

/* Returns the signer, without a callback for questions; its key is NULL if the inventory names none. */
struct sshsig_signer delivery_signer(const struct delivery *d, int cancel_fd);

/* Returns the request to the tracker, without the file and the note's text. */
struct handoff_request delivery_request(const struct delivery *d);

/* Prefixes the error with "team NAME requires a signature". */
int delivery_wrap_signature_err(const struct delivery *d, struct err *err);

#endif
