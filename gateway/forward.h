/*
 * Forwards: what connects to listeners of this workstation is carried through a gateway until somebody says
 * stop. A session that is lost is opened again, however often it takes; the listeners stay.
 */
#ifndef GATEWAY_FORWARD_H
#define GATEWAY_FORWARD_H

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/local.h"

struct forward_place {
    const struct local_listener *listener;
    struct destination to;
};

enum forward_event_kind {
    FORWARD_BEGUN, /* somebody connected */
    FORWARD_ENDED, /* that connection is over */
    FORWARD_LOST,  /* the session cannot be used any more; it will be opened again */
    FORWARD_AGAIN, /* that failed, and is tried again */
    FORWARD_BACK,  /* there is a session again */
};

struct forward_event {
    enum forward_event_kind kind;
    size_t place;     /* of a connection: which one */
    const char *from; /* and who: as local_accept says */
    uint64_t sent;    /* bytes to the destination */
    uint64_t received;
    int64_t ms; /* how long the connection stood, until the next attempt, how long there was no session */
    const struct err *failure; /* why it ended, was lost or failed; NULL: it did not fail */
};

struct forward_options {
    int cancel_fd;       /* readable: stop */
    int64_t patience_ms; /* whoever connects while there is no session waits until it has been gone so long,
                            and is turned away from then on; FORWARD_PATIENCE_MS */
    /* Both are called from the thread that called forward_run. */
    void (*tell)(void *ctx, const struct forward_event *event);
    /* Whether trying to open the session again makes no sense after this, or does harm. */
    bool (*hopeless)(void *ctx, const struct err *failure);
    void *ctx;
};
#define FORWARD_PATIENCE_MS 10000

/*
 * Accepts and carries until cancel_fd is readable (ERR_CANCELLED), or the session was lost and there is no
 * hope of another. Pauses between attempts grow from a quarter of a second to 30 s. Closes the gateway, which
 * was opened with the same cancel_fd, in any case; the listeners stay the caller's.
 */
int forward_run(struct gateway *gw, const struct forward_place *places, size_t n,
                const struct forward_options *options, struct err *err);

#endif
