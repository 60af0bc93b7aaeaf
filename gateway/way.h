/*
 * Ways: the sessions to one hop of a route.
 *
 * A way opens a session when one is needed, and another when that has ended or is stuck. Gateways that go
 * through the same jump host share its way, if they have a pool; the way to a host itself is its gateway's
 * own.
 */
#ifndef GATEWAY_WAY_H
#define GATEWAY_WAY_H

#include "gateway/hop.h"
#include "gateway/hub.h"

struct way;

/*
 * The way to that hop, with hop->before's behind it; of the pool, if `shared` and there is one with the same
 * configuration all along. way_put gives it back, which ends its sessions unless it is the pool's.
 */
int way_get(const struct hop *hop, bool shared, struct way **ret, struct err *err);
void way_put(struct way *w);
/* Ends those of a pool, whose gateways are closed. */
void ways_end(struct way *ways);

/*
 * A hub that is fit: one there is, else a new one, for which others wait meanwhile (if it fails, so do they).
 * `alone`: one that nobody else has. `hop` says how to open it and is the caller's own, of the same
 * configuration as the way's. *ret_hop (may be NULL): what was found on opening it; *ret_shared (may be
 * NULL): it was there already. way_let_go gives it back.
 */
int way_hub(const struct hop *hop, bool alone, struct hub **ret, struct gateway_hop *ret_hop,
            bool *ret_shared, struct err *err);
void way_let_go(struct way *w, struct hub *hub);

/* gateway_dial from that hop. */
int way_dial(const struct hop *hop, const struct destination *to, int *ret_fd, struct err *err);

#endif
