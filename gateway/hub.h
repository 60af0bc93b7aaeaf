/*
 * The hub: the one thread that owns a carrier and its links.
 *
 * Others talk to it through a mailbox (a locked list and a pipe that wakes it). It never blocks but in poll.
 */
#ifndef GATEWAY_HUB_H
#define GATEWAY_HUB_H

#include "base/base.h"
#include "gateway/link.h"
#include "gateway/listener.h"

struct openssh;
struct session;
struct hub;

/* What a hub's links go over: an SSH session, an ssh of its own; with neither, sockets (a direct route). */
struct carrier {
    struct session *session;
    struct openssh *openssh;
};
void carrier_close(struct carrier *c);

/* Starts the thread. The carrier belongs to it from then on, also on failure. */
int hub_start(struct carrier *carrier, const struct gateway_options *options, struct hub **ret,
              struct err *err);
/* Ends all links and the carrier, joins the thread. Its listeners are not touched. NULL is fine. */
void hub_stop(struct hub *h);

/* Hands a link over. It is failed at once, ERR_LOST, if the carrier has ended or is stuck. */
void hub_add_link(struct hub *h, struct link *l);

/* Has it accept for these listeners (a list by `next`), which stay the caller's. */
void hub_add_listeners(struct hub *h, struct gateway_listener *list);
/* Has it let go of all of them; returns the list. Not from the hub's own thread. */
struct gateway_listener *hub_take_listeners(struct hub *h);

enum hub_state {
    HUB_FIT,
    HUB_STUCK, /* the one channel that can be opening is waiting for a destination that does not answer */
    HUB_ENDED,
};
/* How it is; unless it is fit, err (may be NULL) says why. From any thread. */
enum hub_state hub_state(struct hub *h, struct err *err);
/* Readable once it is not fit any more, for waiting only; -1 without descriptors. */
int hub_lost_fd(struct hub *h);

/* Opens a connection and returns our end of it once it stands, as gateway_dial does. From any thread but the
 * hub's. ERR_LOST: as hub_add_link. */
int hub_dial(struct hub *h, const struct destination *to, int *ret_fd, struct err *err);

#endif
