/*
 * An SSH session over a connected descriptor: handshake and host key. auth.h authenticates afterwards.
 *
 * libssh2 is always non-blocking. During the opening the owner waits in session_wait; afterwards the hub
 * waits.
 */
#ifndef GATEWAY_SSH_SESSION_H
#define GATEWAY_SSH_SESSION_H

#include <libssh2.h>

#include "base/base.h"
#include "gateway/gateway.h"
#include "gateway/ssh/knownhosts.h"
#include "gateway/ssh/wire.h"
#include "gateway/config/config.h"

struct session {
    LIBSSH2_SESSION *ssh;
    struct wire wire;
    struct gateway_options options;
    struct gateway_hop hop;
    int64_t answer_ms;             /* the shortest time of an answered request; -1: none yet */
    unsigned reads;                /* since the last "no data" to libssh2 */
    const void *opening;           /* the owner of the one channel that can be opening */
    int fatal;                     /* libssh2's error that ends the session; 0: none, see session_note */
    LIBSSH2_CHANNEL *idle_channel; /* see session_listen */
    struct proxy *proxy;           /* the process behind the wire; NULL: none */
    void *conversation;            /* the current one of keyboard-interactive; see auth_password.c */
    char disconnect[256];          /* the server's text in its disconnect message; printable */
};

/* Takes ownership of fd, also on failure. Sends nothing yet. */
int session_new(int fd, const struct ssh_config *config, const struct gateway_options *options,
                struct session **ret, struct err *err);

/*
 * Exchanges versions and keys. Requests a host key of the known types first. The messages begin with the
 * failed action, not with the host. ERR_UNSUPPORTED if libssh2 supports none of the algorithms that the
 * configuration allows or the server offers. Sets s->hop.banner.
 */
int session_handshake(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                      struct err *err);

/* Why a host is trusted. */
struct host_key_finding {
    bool is_new;    /* it was unknown; its key has been written, or could not be */
    char text[300]; /* "known in FILE line N", "new: written to FILE" or "new, not written down: …" */
};

/* Checks the server's key against the known hosts and the configuration's policy; known_hosts_check has the
 * errors. Always fills in the key in s->hop. */
int session_check_host_key(struct session *s, const struct ssh_config *config,
                           const struct known_hosts *known, struct host_key_finding *ret, struct err *err);

/* Notes the result of a call of libssh2: an unreadable packet ends the session, although the connection is
 * open. */
void session_note(struct session *s, ssize_t rc);

/* Checks whether the session has ended: the connection ended or broke, the server disconnected, or
 * session_note saw a fatal error. */
bool session_is_over(const struct session *s);

/*
 * For a session without links: lets libssh2 read and answer the server's messages. libssh2 reads only for a
 * channel, so the first data opens a channel without a destination. If the server refuses the channel,
 * libssh2 has still read and answered; each call tries again.
 */
void session_listen(struct session *s);

/* Disconnects without waiting for an answer. Accepts NULL. */
void session_close(struct session *s);

/* Sends the queued data, then waits until the session can make progress. */
int session_wait(struct session *s, int64_t deadline, struct err *err);

/* Sets the error for a libssh2 error code, with the server's own text if there is one. */
int session_error(struct session *s, int rc, const char *doing, struct err *err);

/* A deadline for one step of opening. */
int64_t session_deadline(const struct session *s);

/* Returns the round-trip time to the host in milliseconds, 0 if unknown. It is TCP's figure, or the shortest
 * time of an answered request if another carrier is below (a previous hop, a local tunnel). */
int64_t session_rtt(const struct session *s);

/* Notes the time of an answered request. */
void session_answered(struct session *s, int64_t ms);

/* The limits of helper programs. */
struct proc_limits session_limits(const struct gateway_options *options);

#endif
