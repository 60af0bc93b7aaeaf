/*
 * OpenSSH as the carrier: a master connection, either one that the user has open (ControlMaster) or an `ssh`
 * of our own, and streams through it by OpenSSH's multiplexing protocol (its PROTOCOL.mux).
 *
 * It is the way for what libssh2 cannot do: security keys, PKCS#11, GSSAPI, certificates and algorithms it
 * does not know. Our own ssh authenticates once; every connection through it costs a message, not a login.
 */
#ifndef GATEWAY_OPENSSH_H
#define GATEWAY_OPENSSH_H

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/stream.h"
#include "inventory/inventory.h"

struct openssh;

/* Whether the user has a master connection to that host open (`ControlPath` in the configuration) and it
 * answers. *ret is then made of it; it is not ended with us. ERR_NOT_FOUND when there is none. Fills in
 * `hop`. */
int openssh_find(const struct ssh_config *config, const struct gateway_options *options,
                 struct gateway_hop *hop, struct openssh **ret, struct err *err);

/* Starts an ssh of our own to the host, through whatever jump hosts and proxies its configuration names, and
 * waits until it has authenticated. Questions it asks go to options->ask. Fills in `hop` with what it tells
 * of the host key and how the user was let in. A host key that is refused is ERR_HOST_KEY. */
int openssh_start(const struct ssh_config *config, const struct gateway_options *options,
                  struct gateway_hop *hop, struct openssh **ret, struct err *err);

/* For the hub's thread: a descriptor to wait for (POLLIN), and whether the connection has ended: then *fate
 * (ERR_LOST) says why. Takes what its ssh said. */
int openssh_fd(const struct openssh *o);
bool openssh_ended(struct openssh *o, struct err *fate);

/* Ends our own ssh; only lets go of the user's. NULL is fine. */
void openssh_close(struct openssh *o);

/* A stream through it. */
struct stream *stream_openssh(struct openssh *o, const struct destination *to, struct err *err);

#endif
