/*
 * Ways: the sessions to one hop of a route.
 *
 * A way opens a session on demand, and another one if that has ended or is stuck. Gateways with the same jump
 * host share its way, if they have a pool. The way to a host itself belongs to its gateway alone.
 */
#ifndef GATEWAY_WAY_H
#define GATEWAY_WAY_H

#include "gateway/hop.h"
#include "gateway/hub.h"

struct way;

/* Gets the way to a hop, which uses hop->before's way. If `shared`, it comes from the pool if the pool has
 * one with the same configuration. way_put releases it and ends its sessions unless the pool owns it. */
int way_get(const struct hop *hop, bool shared, struct way **ret, struct err *err);
void way_put(struct way *w);
/* Ends the ways of a pool after its gateways are closed. */
void ways_end(struct way *ways);

/*
 * Gets a fit hub: an existing one, else a new one, for which concurrent callers wait (they share its
 * failure). `alone`: without other users. `hop` opens it; it belongs to the caller and has the configuration
 * of the way. *ret_hop (may be NULL): its facts; *ret_shared (may be NULL): it existed already. way_let_go
 * releases it.
 */
int way_hub(const struct hop *hop, bool alone, struct hub **ret, struct gateway_hop *ret_hop,
            bool *ret_shared, struct err *err);
void way_let_go(struct way *w, struct hub *hub);

/* gateway_dial from that hop. */
int way_dial(const struct hop *hop, const struct destination *to, int *ret_fd, struct err *err);

#endif
