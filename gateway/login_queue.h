/*
 * Queues of logins, one for each server. They limit the concurrent logins at a server, because sshd refuses
 * more logins than its MaxStartups. `server` is a text that names one server. Thread-safe.
 */
#ifndef GATEWAY_LOGIN_QUEUE_H
#define GATEWAY_LOGIN_QUEUE_H

#include "base/base.h"

struct login_queues;

int login_queues_new(struct login_queues **ret, struct err *err);
/* Accepts NULL. */
void login_queues_free(struct login_queues *all);

/* Waits until a login at the server may start, in order of arrival. The wait needs no deadline, because each
 * earlier login has one. Call login_queue_leave when the login has ended. If `all` is NULL, there is no
 * limit.
 */
int login_queue_enter(struct login_queues *all, const char *server, int cancel_fd, struct err *err);

/* Ends a login. `server_was_busy`: the server was too busy for it, so the limit decreases. */
void login_queue_leave(struct login_queues *all, const char *server, bool server_was_busy);

#endif
