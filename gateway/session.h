/*
 * An SSH session over a connected descriptor: handshake and host key. Authentication comes next, in auth.h.
 *
 * libssh2 runs non-blocking throughout. While a session is being opened its owner waits in session_wait;
 * afterwards the hub does the waiting.
 */
#ifndef GATEWAY_SESSION_H
#define GATEWAY_SESSION_H

#include <libssh2.h>

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/knownhosts.h"
#include "gateway/wire.h"
#include "inventory/inventory.h"

struct session {
    LIBSSH2_SESSION *ssh;
    struct wire wire;
    struct gateway_options options;
    struct gateway_hop hop;
    int64_t answer_ms;   /* the shortest time in which a question was answered; -1: none was yet */
    unsigned reads;      /* since libssh2 was last told that there is nothing */
    const void *opening; /* who has the one channel that can be opening */
    int fatal; /* libssh2's error behind which the session cannot go on; 0: none, see session_note */
    LIBSSH2_CHANNEL *ear; /* see session_listen */
    struct proxy *proxy;  /* whose descriptor the wire has; NULL: none */
    void *conversation;   /* of keyboard-interactive, while that asks; see auth_password.c */
    char disconnect[256]; /* what the server said when it ended the session; printable */
};

/* Takes fd over, also on failure. Nothing is sent yet. */
int session_new(int fd, const struct ssh_config *config, const struct gateway_options *options,
                struct session **ret, struct err *err);

/* The exchange of versions and keys; a host key of the known types is asked for first. The messages begin
 * with what failed, not with the host. ERR_UNSUPPORTED when libssh2 can use none of the algorithms that the
 * configuration allows or the server offers. s->hop.banner then says who answered. */
int session_handshake(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                      struct err *err);

/* Why a host is trusted. */
struct host_key_finding {
    bool is_new;    /* it was not known; its key has been written down, or could not be */
    char text[300]; /* "known in FILE line N", "new: written to FILE" or "new, not written down: …" */
};

/* Whether the host may be trusted with the key it has shown, by what is known and the configuration's policy;
 * see known_hosts_check for the refusals. s->hop has the key, whatever comes of it. */
int session_check_host_key(struct session *s, const struct ssh_config *config,
                           const struct known_hosts *known, struct host_key_finding *ret, struct err *err);

/* Takes note of what a call of libssh2 returned: after a packet that cannot be read there is no going on,
 * though the connection stands. */
void session_note(struct session *s, ssize_t rc);

/* Whether nothing can be carried any more: the connection ended or broke, the server said goodbye, or what
 * session_note heard of. */
bool session_is_over(const struct session *s);

/*
 * For a session that carries nothing: has libssh2 read what came and answer it. libssh2 reads only on behalf
 * of a channel, so the first time that something comes one is opened that leads nowhere; a server that
 * refuses it is answered all the same, each time.
 */
void session_listen(struct session *s);

/* Says goodbye without waiting for an answer. NULL is fine. */
void session_close(struct session *s);

/* Sends what waits, then waits until the session can make progress. */
int session_wait(struct session *s, int64_t deadline, struct err *err);

/* Turns a libssh2 error code into words: the server's own, where it said something. */
int session_error(struct session *s, int rc, const char *doing, struct err *err);

/* A deadline for one step of opening. */
int64_t session_deadline(const struct session *s);

/* The round-trip time to the host in milliseconds, 0 if it is not known: TCP's own figure, or the shortest
 * time in which a question was answered, where the connection is carried by something else, a hop before or a
 * tunnel that ends on this machine. */
int64_t session_rtt(const struct session *s);

/* Tells of a question that was answered after so long. */
void session_answered(struct session *s, int64_t ms);

/* What lookups by helper programs may take. */
struct proc_limits session_limits(const struct gateway_options *options);

#endif
