/*
 * What OpenSSH's ssh says while it works, at its first level of detail (-v): who answered with which host
 * key, how the user was let in, why a connection or a channel was refused.
 *
 * Two streams come from it: its log (-E), which only that ssh itself writes, and its standard error, where
 * the ssh of jump hosts, proxies and the banners of servers are heard too. Only the log is believed of the
 * host that is connected to; the other is quoted, as what leads there says, where the log shows that nothing
 * came from the host.
 */
#ifndef GATEWAY_SSH_LOG_H
#define GATEWAY_SSH_LOG_H

#include "base/base.h"
#include "gateway/destination.h"
#include "gateway/gateway.h"

enum ssh_log_source { SSH_LOG, SSH_STDERR, SSH_SOURCES };

#define SSH_LOG_LINE 768
#define SSH_LOG_COMPLAINTS 24
#define SSH_LOG_CHANNELS 16

struct ssh_log {
    struct {
        char text[SSH_LOG_LINE]; /* a line that has not ended yet; what does not fit of it is dropped */
        size_t n;
    } partial[SSH_SOURCES];
    /* Lines for people, the latest ones of each. All text here is printable, unknown strings are empty. */
    struct ssh_log_complaints {
        char lines[SSH_LOG_COMPLAINTS][SSH_LOG_LINE];
        size_t n;    /* ever; the latest is that number less one, modulo */
        bool judged; /* a server has answered a try to log in, and let nobody in since */
    } complaints[SSH_SOURCES];

    bool proxied;     /* something else connects: a jump host's ssh, a proxy command */
    char version[64]; /* "OpenSSH_9.2p1" */
    char banner[128];
    char peer[64];
    char host_key_type[64];
    char host_key[64];
    bool host_key_new; /* it was not known, and is trusted from now on */
    char trying[64];   /* the method that was begun last; "" before the first */
    char key[352];     /* the last public key that the server accepted, as ssh names it */
    char method[64];   /* by which the user was let in; "" as long as he is not */
    char methods[128]; /* that the server would take */

    char next_channel[DESTINATION_NAME]; /* the destination for which a channel is about to be made */
    struct {
        unsigned number;
        char to[DESTINATION_NAME];
        char reason[160];         /* "" as long as it is not refused */
        bool confirmed;           /* and nobody was told yet */
    } channels[SSH_LOG_CHANNELS]; /* the latest */
    size_t n_channels;
};

/* Takes what came from one of the streams. */
void ssh_log_feed(struct ssh_log *l, enum ssh_log_source source, const char *p, size_t n);

/* Fills in what the log tells of a hop. */
void ssh_log_describe(const struct ssh_log *l, struct gateway_hop *hop);

/* Whether this ssh, and so those of its jump hosts, put "(user@host) " in front of what a server asks, so
 * that a server cannot ask in ssh's own words. OpenSSH does since 8.5. */
bool ssh_log_labels_logins(const struct ssh_log *l);

/* The server takes a key of an agent's, and that has to sign: it may ask a person first. Nobody hears when it
 * has. */
bool ssh_log_awaits_agent(const struct ssh_log *l);

/* Why ssh is not through after so many milliseconds: what it waits for as far as the log tells. ERR_TIMEOUT;
 * returns -1. */
int ssh_log_delay(const struct ssh_log *l, int64_t ms, struct err *err);

/* Why ssh has ended, in plain words, without the host in front but for ERR_HOST_KEY; `where` is the host as
 * messages name it. ERR_DENIED: the server, or one on the way, let nobody in, or agreed to no cipher.
 * ERR_BUSY: it closed the connection before it judged anybody, as busy ones do. Returns -1. */
int ssh_log_failure(const struct ssh_log *l, const char *where, struct err *err);

/* Forgets what was complained of so far: it did not keep ssh from getting through. */
void ssh_log_settle(struct ssh_log *l);

/* Why a channel to the destination was refused, as the server put it ("connect failed: Connection refused").
 * True once for each refusal. */
bool ssh_log_refusal(struct ssh_log *l, const struct destination *to, char *dst, size_t cap);

/* Whether one was opened; true once for each. ssh only says so if it is asked to: SSH_LOG_CONFIRMATIONS. */
bool ssh_log_confirmation(struct ssh_log *l, const struct destination *to);
#define SSH_LOG_CONFIRMATIONS "channels.c:channel_input_open_confirmation():*"

#endif
