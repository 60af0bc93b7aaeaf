/*
 * A login key is a text that two logins have in common only if they are the same login: the same user at the
 * same server, reached by the same hops, trusted for the same reasons, by the same configuration.
 *
 * Use it as the key of anything that must not get from one host to another: passwords (auth_password.c) and
 * the sessions to jump hosts (way.c).
 */
#ifndef GATEWAY_LOGIN_KEY_H
#define GATEWAY_LOGIN_KEY_H

#include "base/base.h"
#include "gateway/hop.h"

/* Room for a login key and what its caller adds. */
#define LOGIN_KEY_MAX (256u << 10)

/*
 * Adds the login key of a hop and of all hops before it: name, port and user, how the server is reached
 * (jump hosts, proxy command, local address), how its host key is judged (alias, known hosts, policy,
 * algorithms), which configuration file said so, and what is offered to it (agent, key files, certificates,
 * methods). Fields are added with login_key_text, so that no value can look like two.
 *
 * Settings that change only how bytes are carried (compression, timeouts) are left out.
 */
void login_key_add(struct buf *key, const struct hop *hop);

/* Adds one field with its length in front. NULL differs from "". */
void login_key_text(struct buf *key, const char *text);
void login_key_number(struct buf *key, unsigned number);

#endif
