/* The output of `profgrab forward`: its addresses, example commands, and events of connections. */
#ifndef CLI_HOSTS_FORWARD_MESSAGES_H
#define CLI_HOSTS_FORWARD_MESSAGES_H

#include "base/base.h"
#include "cli/hosts/target.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"

/* A service and its local listener. */
struct forward_service {
    const struct target *target;
    struct local_listener listener;
    char last_failure[512]; /* the last failure printed; empty after a successful connection */
};

struct forward_messages {
    const struct host *host;
    const struct target_options *options; /* for command lines in hints */
    struct forward_service *services;     /* in the order of the mappings of forward_run */
    size_t n;
    bool quiet, verbose, json;
    char last_failure[512]; /* the last printed failure to reopen the session; empty after a success */
};

/* Prints the addresses on stdout and, unless quiet, example commands on stderr. Warns on stderr of listeners
 * that other machines can reach. Fails if stdout cannot be written. */
int forward_messages_announce(const struct forward_messages *m, struct err *err);

/* Prints an event. For use as forward_options.report; `ctx` is the struct forward_messages. */
void forward_messages_print_event(void *ctx, const struct forward_event *e);

#endif
