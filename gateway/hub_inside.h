/* What hub.c, hub_mailbox.c and hub_turn.c know of a hub together. */
#ifndef GATEWAY_HUB_INSIDE_H
#define GATEWAY_HUB_INSIDE_H

#include <poll.h>
#include <pthread.h>

#include "gateway/hub.h"

struct hub {
    pthread_t thread;
    struct session *session; /* the carrier; at most one of them */
    struct openssh *openssh;
    struct gateway_options options;
    struct link *links;
    struct gateway_listener *listeners;
    struct pollfd *polled;
    size_t cap_polled;
    int64_t next_keepalive;
    struct err fate;       /* why the carrier ended; ERR_NONE while it lives */
    const void *opening;   /* the session's, as seen in the last turn */
    int64_t opening_since; /* when it was seen first */
    bool stuck;

    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t gave;   /* wants_listeners was answered */
    struct link *new_links;
    struct gateway_listener *new_listeners;
    bool wants_listeners; /* somebody waits for `given` */
    struct gateway_listener *given;
    bool stopping;
    enum hub_state state;
    bool idle;
    struct err why; /* of a state that is not fit */
    int lost[2];    /* -1 until somebody asks for it */
    int wake[2];
};

/* ---- the mailbox, from the hub's thread ---------------------------------------------------------------- */

/* Takes what was put into it: *ret_new are the links. False when it is time to stop. */
bool hub_open_mailbox(struct hub *h, struct link **ret_new);

/* For those who ask how it is. Once it has ended it stays so. */
void hub_set_state(struct hub *h, enum hub_state state, const struct err *why);
/* For those who would rather have another session than this one. */
void hub_note_idle(struct hub *h, bool idle);

/* ---- whose turn it is to open -------------------------------------------------------------------------- */

/* Finds out whether the one whose turn it is keeps others waiting for too long, and sends them away then. */
void hub_check_turn(struct hub *h);

/* When those that wait for their turn to open have waited long enough, which is before their own time is up;
 * CLOCK_NEVER when nobody does. Also finds the one that has its turn. */
int64_t hub_patience_ends(const struct hub *h, const struct link **ret_opening);

#endif
