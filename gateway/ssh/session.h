/*
 * An SSH session over a connected descriptor. The owner calls session_handshake, then host_key_check
 * (host_key.h) and auth_run (auth.h).
 *
 * libssh2 is always non-blocking. During the login the owner waits in session_wait; afterwards the hub waits.
 */
#ifndef GATEWAY_SSH_SESSION_H
#define GATEWAY_SSH_SESSION_H

#include <libssh2.h>
#include <poll.h>

#include "base/base.h"
#include "gateway/config/config.h"
#include "gateway/ssh/hop.h"
#include "gateway/ssh/knownhosts.h"

struct session;
struct proxy;

/* Takes ownership of fd, also on failure. Copies the limits. Sends nothing yet. */
int session_new(int fd, const struct ssh_config *config, const struct ssh_limits *limits,
                struct session **ret, struct err *err);
/* Disconnects without waiting for an answer, and frees the session. Accepts NULL. */
void session_close(struct session *s);

/* Passes ownership of the process behind the descriptor to the session; NULL: none. session_close ends it. */
void session_set_proxy(struct session *s, struct proxy *proxy);

/* Returns the facts about the hop, to which the files of the login (auth.c, host_key.c, ...) add what they
 * learn. */
struct gateway_hop *session_facts(struct session *s);

/* ---- the login ----------------------------------------------------------------------------------------- */

/*
 * Exchanges versions and keys. Requests a host key of the known types first. The messages begin with the
 * failed action, not with the host. ERR_UNSUPPORTED if libssh2 supports none of the algorithms that the
 * configuration allows or the server offers. Sets the banner in the facts.
 */
int session_handshake(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                      struct err *err);

/* Writes the result of the handshake: "BANNER, KEY EXCHANGE, CIPHER", and ", compressed" if it is. */
void session_describe(const struct session *s, char *dst, size_t cap);

/* Sends the queued data, then waits until the session can make progress. */
int session_wait(struct session *s, int64_t deadline, struct err *err);

/* Returns a deadline for one step of the login. */
int64_t session_deadline(const struct session *s);
int session_cancel_fd(const struct session *s);
/* Excludes `ns` of this thread's CPU time, which opening a key has taken, from the limit of the login. */
void session_exclude_cpu(struct session *s, int64_t ns);
/* Returns the limits of a program that the login starts, such as a helper of a security key. */
struct proc_limits session_program_limits(const struct session *s);

/* Returns the session for calls of libssh2. */
LIBSSH2_SESSION *session_libssh2(const struct session *s);
/* Sets a pointer for callbacks of libssh2, which get it from their `abstract` by session_conversation. */
void session_set_conversation(struct session *s, void *conversation);
void *session_conversation(void **abstract);

/* Makes every later read and write fail, so that the current call of libssh2 ends. */
void session_abort(struct session *s);

/* ---- the end of the session ---------------------------------------------------------------------------- */

/* Sets the error for a libssh2 error code, with the server's own text if there is one. `doing` is the action
 * that failed. Returns -1. */
int session_set_error(struct session *s, int rc, const char *doing, struct err *err);

/* Records the result of a call of libssh2: an invalid packet ends the session, even if the connection stays
 * open. */
void session_record_result(struct session *s, ssize_t rc);

/* Checks whether the session has ended: the connection ended or broke and all its data is read, the server
 * disconnected, or session_record_result saw a fatal error. */
bool session_is_over(const struct session *s);
/* Checks whether the server disconnected, or the connection ended or broke. */
bool session_is_closed(const struct session *s);
/* Checks whether the connection ended or broke before a disconnect message of the server. */
bool session_is_cut_off(const struct session *s);
/* Checks whether the server sent any data. Valid until the handshake ends. */
bool session_has_received(const struct session *s);

/* ---- for the hub --------------------------------------------------------------------------------------- */

/* Flushes queued data and checks whether the session is alive. ERR_LOST with the reason if it is not;
 * ERR_FAILED if the server sends much that belongs to no channel, or data in too small pieces. */
int session_check(struct session *s, struct err *err);
/* Ends the limits of bytes and CPU time that apply until the login ends, and enables keepalives;
 * session_send_keepalive sends one. */
void session_end_login(struct session *s);
void session_send_keepalive(struct session *s);

/* Returns the session's entry for poll(2); fd is -1 if there is nothing to wait for. */
struct pollfd session_poll_entry(const struct session *s);
/* Reads available data into memory, so that the end of the connection is noticed. */
void session_read_ahead(struct session *s);
/* Checks whether too much data is queued to accept more. */
bool session_is_congested(const struct session *s);
/* Returns the bytes that libssh2 has read. */
uint64_t session_bytes_read(const struct session *s);
/* Returns the time of the last received byte. */
int64_t session_last_receive_time(const struct session *s);

/*
 * For a session without open channels: lets libssh2 read and answer the server's messages. libssh2 reads only
 * for a channel, so the first data opens a channel without a destination, the idle channel. If the server
 * refuses the channel, libssh2 has still read and answered; each call tries again.
 */
void session_serve_idle(struct session *s);
bool session_idle_is_opening(const struct session *s);

/* ---- for channels -------------------------------------------------------------------------------------- */

/* Only one channel of a session can be opening. session_begin_opening returns false while the channel of
 * another owner is opening. */
bool session_begin_opening(struct session *s, const void *owner);
void session_end_opening(struct session *s, const void *owner);
/* Returns the owner; NULL: no channel is opening. */
const void *session_opening_owner(const struct session *s);

/* Calls libssh2_channel_read for at most n bytes, without reading ahead. */
ssize_t session_read_channel(struct session *s, LIBSSH2_CHANNEL *channel, void *p, size_t n);
/* Calls libssh2_channel_write. */
ssize_t session_write_channel(struct session *s, LIBSSH2_CHANNEL *channel, const void *p, size_t n);

/* Returns the round-trip time to the host in milliseconds, 0 if unknown. For TCP the kernel measures it.
 * Behind a previous hop or a local tunnel, it is the shortest time between a request and its answer. */
int64_t session_rtt(const struct session *s);
/* Records the time between a request and its answer. */
void session_record_round_trip(struct session *s, int64_t ms);

#endif
