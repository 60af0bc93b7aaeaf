/*
 * Opening one SSH hop of a route, in the steps that gateway_options.step is told of: a connection, the
 * handshake, the host key, authentication.
 */
#ifndef GATEWAY_HOP_H
#define GATEWAY_HOP_H

#include "base/base.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"

struct hub;
struct session;

struct hop_request {
    const struct ssh_config *config;
    size_t number;      /* of the hop, the first is 0 */
    struct hub *before; /* the hub that leads to it; NULL: by a TCP connection of our own */
    const struct gateway_options *options;
};

/* *ret is a session that is authenticated. A failure was told as that of its step before it is returned; the
 * message then says which host it was. */
int hop_open(const struct hop_request *request, struct session **ret, struct err *err);

#endif
