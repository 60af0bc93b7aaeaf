/*
 * SSH sessions over libssh2. This header has the public types: destinations, the steps of a login and the
 * facts about a hop. The other headers of this folder are for the files of gateway/: session.h is a session,
 * connect.h and proxy.h open its connection, host_key.h and auth.h log in, stream.h is a channel.
 *
 * Four properties of libssh2 shape this folder:
 *
 * - While half a packet is sent, every other call on the session fails. So buffered_socket.c accepts whole
 *   packets from libssh2 and queues the unsent rest. The hub adds no more data while more than 256 kB are
 *   queued.
 * - libssh2 does not notice the end of a session from which no link reads. So the hub reads ahead into a
 *   small buffer: it sees a closed connection at once and knows when the last byte arrived.
 * - A session opens one channel at a time. If other requests wait too long for the answer to the first (1.5
 *   to 5 s, open_queue.c), the hub marks the session as stuck and fails the waiting requests with ERR_LOST;
 *   their callers request another session (session_pool_acquire_hub, gateway_renew).
 * - libssh2 reads only for a channel. A session without channels opens a channel without a destination when
 *   the server sends data (session_serve_idle).
 */
#ifndef GATEWAY_SSH_SSH_H
#define GATEWAY_SSH_SSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* The target of a channel, as the SSH server sees it. */
struct destination {
    const char *host;
    unsigned port;
    const char *unix_path; /* a Unix socket of the SSH server instead of host and port; NULL: TCP */
};

enum gateway_step_kind {
    GATEWAY_SHARED,    /* the hop shares an open session and has no other step */
    GATEWAY_VIA,       /* another program carries this hop */
    GATEWAY_CONNECT,   /* TCP, or a channel through the previous hop */
    GATEWAY_HANDSHAKE, /* banner, key exchange */
    GATEWAY_HOST_KEY,  /* the check against the known hosts */
    GATEWAY_AUTH,
};
/* A finished step of gateway_open. */
struct gateway_step {
    enum gateway_step_kind kind;
    size_t hop; /* index of the hop, from 0 */
    /*
     * The result; printable, may be empty if the step failed:
     *   GATEWAY_SHARED     "USER@ADDRESS port N, its session is open"
     *   GATEWAY_VIA        the program, then ": " and the reason if there is one
     *   GATEWAY_CONNECT    "ADDRESS port N", then " (IP)" if the IP address differs
     *   GATEWAY_HANDSHAKE  "SSH-2.0-OpenSSH_9.2p1 …, KEY EXCHANGE, CIPHER", then ", compressed" if the server
     *                      compresses
     *   GATEWAY_HOST_KEY   "TYPE SHA256:…, known in FILE line N"; "…, new: written to FILE" if the policy
     *                      accepts new hosts; without the part after the comma if the key is refused
     *   GATEWAY_AUTH       as in gateway_hop.authentication; over OpenSSH then ", host key SHA256:…"
     */
    char detail[512];
    int64_t duration_ms;
    bool always_print; /* print this step always: an unknown host is trusted, or another program carries the
                          hop */
    const struct err *failure; /* NULL: success. Else gateway_open's error without its context; there are no
                                  further steps. */
};

/* The facts about one SSH hop after its opening. The strings are printable; unknown ones are empty. */
struct gateway_hop {
    char via[160]; /* the carrier: "libssh2 1.10.0", "OpenSSH_9.2p1", "the ssh -M at PATH" */
    char address[256];
    unsigned port;
    char server_ip[64]; /* the IP address of the server; empty behind another hop */
    char user[128];
    char host_key_type[64];
    char host_key[64];        /* SHA256:base64, as ssh-keygen -l prints it */
    bool host_key_new;        /* the host was unknown and its configuration trusts it (accept-new) */
    char authentication[384]; /* "agent ssh-ed25519 SHA256:…" or "key /home/ann/.ssh/id_ed25519" */
    char banner[128];         /* the server's identification string */
};

#endif
