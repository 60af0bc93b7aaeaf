/*
 * The hub: the thread that owns a carrier and its links.
 *
 * Other threads use its mailbox (a locked list and a pipe that wakes it). The hub blocks only in poll.
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
/* Ends all links and the carrier, joins the thread. Leaves its listeners. Accepts NULL. */
void hub_stop(struct hub *h);

/* Passes a link to the hub. It fails at once with ERR_LOST if the carrier has ended or is stuck. */
void hub_add_link(struct hub *h, struct link *l);

/* Lets the hub accept on these listeners (a list by `next`). The caller keeps owning them. */
void hub_add_listeners(struct hub *h, struct gateway_listener *list);
/* Removes all listeners from the hub and returns the list. Not from the hub's own thread. */
struct gateway_listener *hub_remove_listeners(struct hub *h);

enum hub_state {
    HUB_USABLE,
    HUB_STUCK, /* the opening channel blocks others and its destination does not answer */
    HUB_ENDED,
};
/* Returns the state. Unless it is fit, err (may be NULL) has the reason. From any thread. */
enum hub_state hub_state(struct hub *h, struct err *err);
/* Checks that it has no links and none in its mailbox. */
bool hub_is_idle(struct hub *h);
/* Becomes readable when the hub is not fit any more, for waiting only; -1 without descriptors. */
int hub_lost_fd(struct hub *h);

/* Opens a connection and returns our end of it, as gateway_dial does. From any thread but the hub's.
 * ERR_LOST: see hub_add_link. */
int hub_dial(struct hub *h, const struct destination *to, int cancel_fd, int *ret_fd, struct err *err);

#endif
