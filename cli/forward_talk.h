/* What `profgrab forward` says: where it listens, how to ask there, and what becomes of connections. */
#ifndef CLI_FORWARD_TALK_H
#define CLI_FORWARD_TALK_H

#include "base/base.h"
#include "cli/target.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"

/* A service, and where it is to be had here. */
struct forward_way {
    const struct target *target;
    struct local_listener listener;
    char complaint[512]; /* the last failure that was told, until a connection went well */
};

struct forward_talk {
    const struct host *host;
    const struct target_options *way; /* for lines that are to be repeated */
    struct forward_way *ways;         /* in the order of forward_run's places */
    size_t n;
    bool quiet, verbose, json;
    char complaint[512]; /* of the attempts to open the session again */
};

/* Says where it listens: on stdout for scripts, and for people how to ask there. */
int forward_talk_announce(const struct forward_talk *t, struct err *err);

/* For forward_options.tell; `ctx` is the struct forward_talk. */
void forward_talk_event(void *ctx, const struct forward_event *e);

#endif
