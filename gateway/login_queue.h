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

/* Waits for a place at the address, first come, first served. The wait needs no deadline, because each login
 * before it has one. login_queue_leave frees the place. Without queues (NULL) there is no limit. */
int login_queue_enter(struct login_queues *all, const char *address, int cancel_fd, struct err *err);

/* Frees the place. `server_was_busy`: the server was too busy for this login, so the number of places
 * decreases.
 */
void login_queue_leave(struct login_queues *all, const char *address, bool server_was_busy);

#endif
