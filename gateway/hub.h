/*
 * The hub: the thread that owns a carrier and its links.
 *
 * Other threads use its mailbox (a locked list and a pipe that wakes the hub). The hub blocks only in poll.
 */
#ifndef GATEWAY_HUB_H
#define GATEWAY_HUB_H

#include "base/base.h"
#include "gateway/carrier.h"
#include "gateway/link.h"
#include "gateway/listener.h"

struct hub;

/* Starts the hub's thread. Takes ownership of the carrier, also on failure, and copies the limits. */
int hub_start(struct carrier *carrier, const struct ssh_limits *limits, struct hub **ret, struct err *err);
/* Ends all links and the carrier, and joins the thread. Does not free its listeners. Accepts NULL. */
void hub_stop(struct hub *h);

/* Passes a link to the hub. The link fails at once with ERR_LOST if the carrier has ended or is stuck. */
void hub_add_link(struct hub *h, struct link *l);

/* Makes the hub accept on these listeners, a list linked by `next`. The caller still owns them. */
void hub_add_listeners(struct hub *h, struct gateway_listener *list);
/* Removes all listeners from the hub and returns the list. Do not call it in the hub's own thread. */
struct gateway_listener *hub_remove_listeners(struct hub *h);

enum hub_state {
    HUB_USABLE,
    HUB_STUCK, /* a channel blocks others because its destination does not answer */
    HUB_ENDED,
};
/* Returns the state. Unless it is HUB_USABLE, sets *err (err may be NULL) to the reason. Any thread may call
 * this function. */
enum hub_state hub_state(struct hub *h, struct err *err);
/* Checks that no link is open, opening or in the mailbox. Closing links do not count. */
bool hub_is_idle(struct hub *h);
/* Returns a descriptor that becomes readable when the hub is no longer usable; never read it. -1 if no
 * descriptor is free. */
int hub_lost_fd(struct hub *h);

/* Opens a connection and returns our end of it, as gateway_dial does. Do not call it in the hub's own thread.
 * ERR_LOST: see hub_add_link. */
int hub_dial(struct hub *h, const struct destination *to, int cancel_fd, int *ret_fd, struct err *err);

#endif
