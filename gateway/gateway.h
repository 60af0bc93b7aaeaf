/*
 * A gateway is the access to one host: it connects file descriptors to destinations there.
 *
 * A gateway owns one SSH session (or none, for a direct route) in one thread, its hub. gateway_attach opens a
 * channel to a destination as seen from the SSH server and moves bytes between the channel and a descriptor
 * until either end closes. The other functions build on gateway_attach. On a route with jump hosts, each
 * session runs over a channel of the session to the host before it.
 *
 * `ssh-keygen -F` reads the known_hosts files. A changed or revoked key is always ERR_HOST_KEY, and so is an
 * unknown host unless the policy accepts new hosts (HOST_KEY_ACCEPT_NEW). We send a secret only to a host
 * whose key was accepted.
 *
 * Every wait has a deadline and ends when cancel_fd becomes readable.
 *
 * The messages and hints of SSH faults are rows of one table, gateway/ssh/failure.c. These files detect them:
 *
 *   fault                               over libssh2: gateway/ssh/        over ssh(1): gateway/openssh/
 *   resolve, connect, ProxyCommand      resolve.c, connect.c, session.c   ssh_log_failure.c
 *   failed handshake                    preauth.c                         ssh_log_failure.c
 *   no common algorithm                 algorithms.c                      ssh_log_failure.c
 *   unknown, changed, revoked host key  knownhosts.c, host_key.c          ssh_log_failure.c
 *   refused login                       auth.c, auth_state.c              ssh_log_failure.c
 *   unusable key or certificate         auth_keys.c, auth_publickey.c     askpass.c
 *   slow login                          session.c                         ssh_log_failure.c
 *   refused channel                     open_failure.c                    stream_openssh.c
 *   lost or dead session                session.c                         openssh.c
 *
 * carrier.c chooses libssh2 or ssh(1), and tries again if a server is busy. link.c detects that the request
 * for a channel gets no answer; open_queue.c detects that such a request blocks the other channels of a
 * libssh2 session. The texts of faults of the configuration (`ssh -G`, tokens, jump hosts) are in
 * gateway/config/, which must not include the table.
 */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "gateway/config/config.h"
#include "gateway/ssh/ssh.h"

struct gateway;

/* The state that the gateways of one run share: sessions to jump hosts, and a limit of concurrent logins at
 * one server. Thread-safe. The shared state must outlive its gateways. */
struct gateway_shared;
int gateway_shared_new(struct gateway_shared **ret, struct err *err);
void gateway_shared_free(struct gateway_shared *shared);

struct gateway_options {
    struct gateway_shared *shared; /* NULL: nothing is shared */
    int cancel_fd; /* readable: stop; -1 for none. The caller keeps it open until the gateway is closed and
                      the shared state is freed. */
    int64_t step_timeout_ms; /* limit of each: connect, handshake, authentication, channel opening */
    int64_t keepalive_ms;    /* the time between two keepalives */
    int64_t silence_ms; /* a session is dead after this time without data; 0: three keepalive intervals */
    /* Called after each step of each hop, from the thread of gateway_open; NULL: not called. If a known_hosts
     * file is unreadable, the host key step fails before the handshake. A direct route has no steps. */
    void (*step)(void *ctx, const struct gateway_step *step);
    void *step_ctx;
    const char *host; /* the user's name for the host, which questions show; must outlive the gateway. NULL:
                         questions show only the address */
    ask_fn *ask;      /* NULL: no user can answer */
    void *ask_ctx;
    struct keyring *keyring; /* remembers the answers; must outlive the gateway. NULL: no answer is stored */
    bool ask_keys_only;      /* ask only for the passphrases of private keys */
    int64_t ask_ms;          /* the limit for one answer or one touch of a key; 0: GATEWAY_ASK_MS */
    /*
     * The program that passes on the questions of our own ssh (askpass.h) and ends that ssh if we are killed
     * (reaper.h): profgrab itself, whose main must handle the program names ASKPASS_NAME and REAPER_NAME.
     * NULL: ssh's questions get no answer, and our ssh keeps running if we are killed.
     */
    const char *askpass;
};
#define GATEWAY_STEP_TIMEOUT_MS 15000
#define GATEWAY_KEEPALIVE_MS 10000
#define GATEWAY_ASK_MS 120000 /* sshd's LoginGraceTime */

/* Opens the route hop by hop. Takes ownership of the route, also on failure. */
int gateway_open(struct route *route, const struct gateway_options *options, struct gateway **ret,
                 struct err *err);

/* Ends every link, the session and its thread, and the sessions to jump hosts that are not shared. Accepts
 * NULL. */
void gateway_close(struct gateway *gw);

/* Returns the facts about hop i, valid until gateway_close; NULL after the last hop, which is the host
 * itself. Hop 0 is the first hop that the gateway itself opened. If a master connection or our own ssh
 * reaches that hop through earlier hops, the earlier hops have no number. */
const struct gateway_hop *gateway_hop(const struct gateway *gw, size_t i);

/* How a forwarded connection ended. */
struct gateway_end {
    uint64_t sent;             /* bytes from the descriptor to the destination */
    uint64_t received;         /* bytes from the destination to the descriptor */
    const struct err *failure; /* NULL: one of the two ends closed the connection */
};

/* A callback for the end of a connection. A thread of the gateway calls it once, at the latest during
 * gateway_close. It must not block. */
struct gateway_watch {
    void (*ended)(void *ctx, const struct gateway_end *end);
    void *ctx;
};

/*
 * Moves bytes between fd and the destination. Takes ownership of fd (also on failure) and returns at once. If
 * the destination is unreachable, the gateway closes fd. The watch may be NULL; it does not receive a failure
 * of this call.
 */
int gateway_attach(struct gateway *gw, int fd, const struct destination *to,
                   const struct gateway_watch *watch, struct err *err);

/* Opens a connection, and waits until the SSH server has confirmed it. *ret_fd is our end; the caller closes
 * it. */
int gateway_dial(struct gateway *gw, const struct destination *to, int *ret_fd, struct err *err);

/*
 * Makes the gateway usable for new connections. If its session has ended, or waits for a destination that
 * does not answer (libssh2 opens one connection at a time), uses another session from now on, also for the
 * listeners. Open connections stay on the old session. Does nothing if the gateway is usable. Call it after
 * a connection that ended with ERR_LOST.
 */
int gateway_renew(struct gateway *gw, struct err *err);

/* Returns a descriptor that becomes readable when the session has ended or is stuck; never read it.
 * gateway_renew replaces it. -1: there is no session or no free descriptor. */
int gateway_lost_fd(struct gateway *gw);

/* Returns 0 while the gateway can open new connections, else -1 with the reason (ERR_LOST). */
int gateway_check_usable(struct gateway *gw, struct err *err);

/* A listener on a Unix socket in a private directory (0700). The gateway attaches its connections to the
 * destination. Only this process may connect (peer credentials). gateway_close frees it. */
struct gateway_listener;
int gateway_listen(struct gateway *gw, const struct destination *to, struct gateway_listener **ret,
                   struct err *err);
const char *gateway_listener_path(const struct gateway_listener *l);

/* Checks whether a connection of the listener is accepted but not yet open at the SSH server. A connection
 * stays in this state for at most step_timeout_ms. */
bool gateway_listener_is_opening(struct gateway_listener *l);

/* Returns -1 with the error of the last failed connection through this listener, and clears that error. If no
 * connection has failed since the last call, returns 0 and leaves err untouched. */
int gateway_listener_failure(struct gateway_listener *l, struct err *err);

/* Global state of libssh2: call the first before any thread starts, the second after the last has ended. */
int gateway_global_init(struct err *err);
void gateway_global_cleanup(void);

/* The other public headers: askpass, forwarding for other programs, reaper. */
#include "gateway/openssh/askpass.h"
#include "gateway/forward.h"
#include "gateway/openssh/reaper.h"

#endif
