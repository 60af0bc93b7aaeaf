/*
 * The output of OpenSSH's ssh at its first debug level (-v): the server, its host key, the authentication,
 * and the reason of a refused connection or channel.
 *
 * ssh has two streams. Only ssh itself writes the log (-E). Its standard error also has the output of the ssh
 * of jump hosts, of proxies, and the banners of servers. We read facts about the target only from the log. We
 * quote standard error, as a message of the route, only if the log does not show that the target is the
 * cause.
 */
#ifndef GATEWAY_OPENSSH_SSH_LOG_H
#define GATEWAY_OPENSSH_SSH_LOG_H

#include "base/base.h"
#include "gateway/ssh/destination.h"
#include "gateway/ssh/ssh.h"

enum ssh_log_source { SSH_LOG, SSH_STDERR, SSH_SOURCES };

#define SSH_LOG_LINE 768
#define SSH_LOG_COMPLAINTS 24
#define SSH_LOG_CHANNELS 16

struct ssh_log {
    struct {
        char text[SSH_LOG_LINE]; /* an incomplete line; the part that does not fit is dropped */
        size_t n;
    } partial[SSH_SOURCES];
    /* The latest lines of each stream that are messages for the user. All text from here on is printable;
     * unknown strings are empty. */
    struct ssh_log_complaints {
        char lines[SSH_LOG_COMPLAINTS][SSH_LOG_LINE];
        size_t n;           /* total number; the latest line is at (n - 1) % SSH_LOG_COMPLAINTS */
        bool login_refused; /* a server has refused a login attempt and not accepted a later one */
    } complaints[SSH_SOURCES];

    bool has_proxy_process; /* another process connects: a jump host's ssh, a proxy command */
    char version[64];       /* "OpenSSH_9.2p1" */
    char banner[128];
    char server_ip[64];
    char host_key_type[64];
    char host_key[64];
    bool host_key_new;        /* the host was unknown and ssh trusts it now (accept-new) */
    char latest_method[64];   /* the latest method that ssh tried; "" before the first */
    char accepted_key[352];   /* the last public key that the server accepted, as ssh names it */
    char accepted_method[64]; /* "" before the login */
    char methods[128];        /* the server's list of methods that can continue the login */

    char next_channel[DESTINATION_NAME]; /* the destination of the next new channel */
    struct {
        unsigned number;
        char to[DESTINATION_NAME];
        char reason[160]; /* of the refusal; "" if not refused, or if returned by ssh_log_pop_refusal */
        bool confirmed;   /* opened, and not returned by ssh_log_pop_confirmation yet */
    } channels[SSH_LOG_CHANNELS]; /* the latest channels, a ring buffer */
    size_t n_channels;
};

/* Parses new bytes of one of the streams. */
void ssh_log_feed(struct ssh_log *l, enum ssh_log_source source, const char *p, size_t n);

/* Fills in the log's facts about a hop. */
void ssh_log_describe(const struct ssh_log *l, struct gateway_hop *hop);

/* Checks whether this ssh, and so the ssh of its jump hosts, puts "(user@host) " before a server's question,
 * so that a server cannot imitate ssh's own questions. OpenSSH has done so since 8.5. */
bool ssh_log_marks_server_prompts(const struct ssh_log *l);

/* Checks whether the agent must sign now, because the server accepts one of its keys. The agent may ask the
 * user first and does not report the answer. */
bool ssh_log_is_awaiting_agent(const struct ssh_log *l);

/* Sets the error of an ssh that is not ready after `ms` milliseconds, from the log (ERR_TIMEOUT). Returns -1.
 */
int ssh_log_explain_delay(const struct ssh_log *l, int64_t ms, struct err *err);

/*
 * Sets the error of an ended ssh, from the log. Only the message of ERR_HOST_KEY has the host's name,
 * `where`. ERR_DENIED: the server, or a server on the route, refused the login or supports no common cipher.
 * ERR_BUSY: such a server closed the connection before any authentication, as busy servers do. Returns -1.
 */
int ssh_log_explain_end(const struct ssh_log *l, const char *where, struct err *err);

/* Drops the complaints so far, because ssh succeeded in spite of them. */
void ssh_log_drop_complaints(struct ssh_log *l);

/* Finds a refused channel to the destination `to`, and copies the server's reason ("connect failed:
 * Connection refused") into dst. Returns true once for each refusal. */
bool ssh_log_pop_refusal(struct ssh_log *l, const struct destination *to, char *dst, size_t cap);

/* Returns true once for each opened channel to the destination. ssh logs openings only with
 * SSH_LOG_CONFIRMATIONS. */
bool ssh_log_pop_confirmation(struct ssh_log *l, const struct destination *to);
#define SSH_LOG_CONFIRMATIONS "channels.c:channel_input_open_confirmation():*"

#endif
