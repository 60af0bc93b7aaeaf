/* The internals that hub.c, hub_mailbox.c and open_queue.c share. */
#ifndef GATEWAY_HUB_INTERNAL_H
#define GATEWAY_HUB_INTERNAL_H

#include <poll.h>
#include <pthread.h>

#include "gateway/hub.h"

struct hub {
    pthread_t thread;
    struct session *session; /* the carrier is `session`, `openssh`, or neither (a direct route) */
    struct openssh *openssh;
    struct ssh_limits limits;
    struct link *links;
    struct gateway_listener *listeners;
    struct pollfd *polled;
    size_t cap_polled;
    int64_t next_keepalive;
    struct err carrier_error;  /* the error that ended the carrier; ERR_NONE: it has not ended */
    const void *opening_owner; /* session_opening_owner at the last check */
    int64_t opening_since;     /* when `opening_owner` got this value */
    bool stuck;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t listeners_return_cond;
    struct link *new_links;
    struct gateway_listener *new_listeners;
    bool listeners_wanted; /* a caller waits for `returned_listeners` */
    struct gateway_listener *returned_listeners;
    bool stopping;
    enum hub_state state;
    bool idle;
    struct err unusable_reason; /* set unless the state is HUB_USABLE */
    int lost[2];                /* a pipe, see hub_lost_fd; -1 until the first call of that function */
    int wake[2];                /* a pipe that wakes the hub's thread */
};

/* ---- the mailbox, from the hub's thread ---------------------------------------------------------------- */

/* Empties the mailbox: sets *ret_new to its links, and adds its listeners to h->listeners. Returns false when
 * the hub must stop. */
bool hub_read_mailbox(struct hub *h, struct link **ret_new);

/* Sets the state that hub_state returns. HUB_ENDED is final. */
void hub_set_state(struct hub *h, enum hub_state state, const struct err *why);
/* Sets the value that hub_is_idle returns. */
void hub_set_idle(struct hub *h, bool idle);

/* ---- the queue of openings (open_queue.c) -------------------------------------------------------------- */

/* Updates opening_owner and `stuck`. Fails the waiting links if the opening one blocks them for too long. */
void open_queue_update(struct hub *h);

/* Returns the time at which open_queue_update fails the waiting links; it is earlier than their own
 * deadlines. CLOCK_NEVER: no link waits. Sets *ret_opening to the opening link if there is one. */
int64_t open_queue_deadline(const struct hub *h, const struct link **ret_opening);

#endif
