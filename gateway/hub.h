/*
 * The hub: the one thread that owns a session and its links.
 *
 * Others talk to it through a mailbox (a locked list and a pipe that wakes it). It never blocks but in poll.
 */
#ifndef GATEWAY_HUB_H
#define GATEWAY_HUB_H

#include "base/base.h"
#include "gateway/link.h"
#include "gateway/listener.h"

struct session;
struct hub;

/* Starts the thread. The session (NULL on a direct route) belongs to it from then on, also on failure. */
int hub_start(struct session *session, const struct gateway_options *options, struct hub **ret,
              struct err *err);
/* Ends all links and the session, joins the thread. NULL is fine. */
void hub_stop(struct hub *h);

/* Hands a link or a listener over. A link is failed at once if the session has ended. */
void hub_add_link(struct hub *h, struct link *l);
void hub_add_listener(struct hub *h, struct gateway_listener *l);

/* Opens a connection and returns our end of it once it stands, as gateway_dial does. From any thread but the
 * hub's. */
int hub_dial(struct hub *h, const struct destination *to, int *ret_fd, struct err *err);

#endif
