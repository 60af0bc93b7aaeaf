/*
 * Passphrases that were typed, for the time of a run: each is asked for once, whatever the number of hosts
 * and threads that need it.
 */
#ifndef GATEWAY_KEYRING_H
#define GATEWAY_KEYRING_H

#include "base/base.h"
#include "gateway/gateway.h"

struct keyring;

int keyring_new(struct keyring **ret, struct err *err);
/* Wipes and frees. NULL is fine. */
void keyring_free(struct keyring *k);

#endif
