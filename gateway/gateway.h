/*
 * Gateways: the way into a host. A gateway carries file descriptors.
 *
 * A gateway owns one SSH session (or none, for a direct route) in one thread, its hub. gateway_attach opens a
 * channel to a destination as seen from the far host and carries bytes between it and a descriptor until
 * either end closes; everything else is built on that. A jump host is a gateway too: the next session runs
 * over a descriptor dialled from it.
 *
 * Host keys are checked strictly, with `ssh-keygen -F` as the reader of known_hosts files; a host that is not
 * known, or whose key changed or is revoked, is ERR_HOST_KEY and nothing was sent to it that matters.
 *
 * Every wait has a deadline and ends when cancel_fd becomes readable.
 */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "inventory/inventory.h"

struct gateway;

/* A step of gateway_open that ended. */
enum gateway_step_kind {
    GATEWAY_SHARED,    /* all of this hop's: its session is open already */
    GATEWAY_VIA,       /* another program carries this hop: the detail says which and why */
    GATEWAY_CONNECT,   /* TCP, or a channel through the hop before */
    GATEWAY_HANDSHAKE, /* banner, key exchange */
    GATEWAY_HOST_KEY,  /* against the known hosts */
    GATEWAY_AUTH,
};
struct gateway_step {
    enum gateway_step_kind kind;
    size_t hop; /* number of the hop, the first is 0 */
    /*
     * What was found; printable, may be empty when the step failed:
     *   "ADDRESS port N", and behind it "(IP)" where that tells more;
     *   "SSH-2.0-OpenSSH_9.2p1 …, KEY EXCHANGE, CIPHER", and ", compressed" where what comes is;
     *   "TYPE SHA256:…, known in FILE line N", or "…, new: written to FILE" when the policy is to accept it;
     *   of a key that was refused only type and fingerprint;
     *   how the user was let in, as gateway_hop.authentication.
     */
    char detail[512];
    int64_t duration_ms;
    bool news; /* also for those who did not ask for details: a host is trusted that was not known, or another
                  program carries the hop */
    const struct err *failure; /* NULL: it went well. Else what gateway_open will return, without its context:
                                  there are no further steps. */
};

/* What the gateways of one run share: sessions to jump hosts, passphrases that were typed, and a limit to the
 * logins at one address at a time. May be used by any number of threads, and must outlive its gateways. */
struct gateway_pool;
int gateway_pool_new(struct gateway_pool **ret, struct err *err);
void gateway_pool_free(struct gateway_pool *pool);

struct gateway_options {
    struct gateway_pool *pool; /* NULL: it shares nothing */
    int cancel_fd;             /* readable: stop; -1 for none. Must stay open as long as the gateway
                                and its pool. */
    int64_t step_timeout_ms; /* for each of: TCP connect, SSH handshake, authentication, opening a channel */
    int64_t keepalive_ms;    /* between keepalives */
    int64_t silence_ms;      /* a session from which nothing came for so long is dead; 0: three keepalives */
    /* Told of each step of each hop, from the thread that called gateway_open; NULL: nobody. Known hosts that
     * cannot be read fail the host key's step before there is a handshake. A direct route has no steps. */
    void (*step)(void *ctx, const struct gateway_step *step);
    void *step_ctx;
    const char *host; /* as the user knows the host, for questions; must outlive the gateway. NULL: questions
                         name the address alone */
    ask_fn *ask;      /* NULL: there is nobody to ask */
    void *ask_ctx;
    bool ask_keys_only; /* only for the passphrases of private keys is there somebody */
    int64_t
        ask_ms; /* how long a person may take to answer one question, or to touch a key; 0: GATEWAY_ASK_MS */
    /* A program that asks in the name of an ssh of ours, and ends it when we are gone (askpass.h, keeper.h):
     * this one, if its main knows those names. NULL: ssh's questions go unanswered, and one outlives us if we
     * are killed. */
    const char *askpass;
};
#define GATEWAY_STEP_TIMEOUT_MS 15000
#define GATEWAY_KEEPALIVE_MS 10000
#define GATEWAY_ASK_MS 120000 /* sshd's LoginGraceTime */
/* What ask_ms comes to. */
int64_t gateway_ask_ms(const struct gateway_options *options);

/* Where a channel leads, as the far host sees it. */
struct destination {
    const char *host;
    unsigned port;
    const char *unix_path; /* a Unix socket there instead, of which host and port say nothing; NULL: those */
};

/* Opens the whole route, hop after hop, and takes it over (also on failure). */
int gateway_open(struct route *route, const struct gateway_options *options, struct gateway **ret,
                 struct err *err);

/* Ends every link, the session and its thread, and the gateways before it. NULL is fine. */
void gateway_close(struct gateway *gw);

/* What is known of one SSH hop once it is open. The strings are printable; what is not known is empty. */
struct gateway_hop {
    char via[160]; /* what carries it: "libssh2 1.10.0", "OpenSSH_9.2p1", "the ssh -M at PATH" */
    char address[256];
    unsigned port;
    char peer[64]; /* the IP address it was reached at; empty when another hop connected */
    char user[128];
    char host_key_type[64];
    char host_key[64];        /* SHA256:base64, as ssh-keygen -l prints it */
    bool host_key_new;        /* the host was not known, and trusted by its configuration (accept-new) */
    char authentication[384]; /* "agent ssh-ed25519 SHA256:…" or "key /home/ann/.ssh/id_ed25519" */
    char banner[128];         /* the server's identification string */
};
/* Hop number i, the first one first, the host itself last; NULL behind the last. Valid until gateway_close.
 */
const struct gateway_hop *gateway_hop(const struct gateway *gw, size_t i);

/* How a connection that was carried went. */
struct gateway_end {
    uint64_t sent;             /* bytes from the descriptor to the destination */
    uint64_t received;         /* and back */
    const struct err *failure; /* NULL: the two ends closed it, or the local one left */
};

/* Who wants to know of the end of a connection: told once, from a thread of the gateway's, which must not be
 * kept waiting. gateway_close ends what still stands. */
struct gateway_watch {
    void (*ended)(void *ctx, const struct gateway_end *end);
    void *ctx;
};

/*
 * Carries bytes between fd, which the gateway takes over (also on failure), and the destination. Returns at
 * once; if the destination cannot be reached, fd is closed. The watch may be NULL; of what failed here it is
 * not told.
 */
int gateway_attach(struct gateway *gw, int fd, const struct destination *to,
                   const struct gateway_watch *watch, struct err *err);

/* Opens a connection and returns our end of it once the far host has confirmed it; the caller closes it. */
int gateway_dial(struct gateway *gw, const struct destination *to, int *ret_fd, struct err *err);

/*
 * Makes the gateway fit for new connections: where its session has ended, or is kept waiting by a destination
 * that does not answer (SSH's library opens one connection at a time), a new one is opened and takes over the
 * listeners. Connections that stand stay where they are. Nothing happens to a gateway that is fit. ERR_LOST
 * of what failed through it says that this may help.
 */
int gateway_renew(struct gateway *gw, struct err *err);

/* Readable once the session has ended or is stuck; for waiting only. gateway_renew makes it anew, and this
 * descriptor is another one then. */
int gateway_lost_fd(struct gateway *gw);

/* 0 while the gateway is fit for new connections; else -1, and err (ERR_LOST) says why it is not. */
int gateway_state(struct gateway *gw, struct err *err);

/*
 * A listener on a Unix socket in a private directory (0700): what connects is attached to the destination.
 * Only this very process may connect (peer credentials). It belongs to the gateway and goes with it.
 */
struct gateway_listener;
int gateway_listen(struct gateway *gw, const struct destination *to, struct gateway_listener **ret,
                   struct err *err);
const char *gateway_listener_path(const struct gateway_listener *l);

/* Whether a connection through it is accepted here and not yet carried there. How long that may take is the
 * gateway's to say: step_timeout_ms. */
bool gateway_listener_opens(struct gateway_listener *l);

/* Why the last connection through this listener could not be carried, if one could not: sets err, forgets it
 * and returns -1. Otherwise 0 and err is untouched. */
int gateway_listener_failure(struct gateway_listener *l, struct err *err);

/* Global state of libssh2: before any thread starts, and after the last has ended. */
int gateway_global_init(struct err *err);
void gateway_global_cleanup(void);

/* Forwards for other programs, the addresses of this workstation where they listen, and how an ssh of ours
 * asks and comes to its end. */
#include "gateway/askpass.h"
#include "gateway/forward.h"
#include "gateway/keeper.h"

#endif
