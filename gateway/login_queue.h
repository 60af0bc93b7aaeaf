/*
 * Queues of logins, one for each address. They limit the concurrent logins there, because sshd refuses those
 * above its MaxStartups. Thread-safe.
 */
#ifndef GATEWAY_LOGIN_QUEUE_H
#define GATEWAY_LOGIN_QUEUE_H

#include "base/base.h"

struct login_queues;

int login_queues_new(struct login_queues **ret, struct err *err);
/* Accepts NULL. */
void login_queues_free(struct login_queues *all);

/* Waits until a login at the address may start, in order of arrival. The wait needs no deadline, because each
 * earlier login has one. Call login_queue_leave when the login has ended. NULL queues: no limit. */
int login_queue_enter(struct login_queues *all, const char *address, int cancel_fd, struct err *err);

/* Ends a login. `server_was_busy`: the server was too busy for it, so the limit decreases. */
void login_queue_leave(struct login_queues *all, const char *address, bool server_was_busy);

#endif
