/*
 * A login key is a text that is equal for two logins only if they are the same login: the same user at the
 * same server, over the same hops, with the same trust and the same configuration.
 *
 * Use it as the key of data that must not leak from one host to another: passwords (auth_password.c) and the
 * sessions to jump hosts (session_pool.c).
 */
#ifndef GATEWAY_SSH_LOGIN_KEY_H
#define GATEWAY_SSH_LOGIN_KEY_H

#include "base/base.h"
#include "gateway/ssh/hop.h"

/* Room for a login key and the caller's additions. */
#define LOGIN_KEY_MAX (256u << 10)

/*
 * Adds the login key of a hop and of all hops before it: name, port and user, the connection (jump hosts,
 * proxy command, local address), the host key check (alias, known hosts, policy, algorithms), the
 * configuration file, and the credentials (agent, key files, certificates, methods). login_key_add_text
 * separates the fields, so that different values always give different keys.
 *
 * Settings of the transport (compression, timeouts) are not in the key.
 */
void login_key_add(struct buf *key, const struct hop *hop);

/* Adds one field with its length before it. NULL differs from "". */
void login_key_add_text(struct buf *key, const char *text);
void login_key_add_number(struct buf *key, unsigned number);

#endif
