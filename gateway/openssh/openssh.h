/*
 * OpenSSH as the carrier: streams through a master connection by OpenSSH's multiplexing protocol (its
 * PROTOCOL.mux). The master is the user's (ControlMaster) or our own `ssh`.
 *
 * OpenSSH has features that libssh2 lacks: security keys, PKCS#11, GSSAPI, host certificates and more
 * algorithms. Our own ssh authenticates once; each further connection needs a message instead of a login.
 */
#ifndef GATEWAY_OPENSSH_OPENSSH_H
#define GATEWAY_OPENSSH_OPENSSH_H

#include "base/base.h"
#include "gateway/ssh/hop.h"
#include "gateway/ssh/stream.h"
#include "gateway/config/config.h"

struct openssh;

/* Connects to the user's master connection to that host (`ControlPath` in the configuration). *ret uses it
 * and does not end it. ERR_NOT_FOUND if no master answers. Fills in `hop`. */
int openssh_find(const struct ssh_config *config, const struct login_options *options,
                 struct gateway_hop *hop, struct openssh **ret, struct err *err);

/*
 * Starts our own ssh to the host, through the jump hosts and proxies of its configuration, and waits until it
 * has authenticated. options->ask answers its questions. Fills in `hop` with the host key and the
 * authentication from its log. A refused host key is ERR_HOST_KEY.
 */
int openssh_start(const struct ssh_config *config, const struct login_options *options,
                  struct gateway_hop *hop, struct openssh **ret, struct err *err);

/* For the hub's thread. openssh_fd returns a descriptor to poll (POLLIN). openssh_has_ended reads the log and
 * checks whether the connection has ended, or our own ssh has taken too much CPU time (cpu_budget.h); if so,
 * sets *reason. Call it at least every OPENSSH_CHECK_MS. */
#define OPENSSH_CHECK_MS 500
int openssh_fd(const struct openssh *o);
bool openssh_has_ended(struct openssh *o, struct err *reason);

/* Ends our own ssh, or only disconnects from the user's master. Accepts NULL. */
void openssh_close(struct openssh *o);

/* Creates a stream through the master connection. */
struct stream *stream_openssh(struct openssh *o, const struct destination *to, struct err *err);

#endif
