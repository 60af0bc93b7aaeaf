/* A login waits for a place at its address (pool_enter). A login that a busy server refuses retries a little
 * later. libssh2 tries first; hop_open says when OpenSSH follows. */
#include "gateway/hop.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/ssh/auth.h"
#include "gateway/ssh/connect.h"
#include "gateway/ssh/destination.h"
#include "gateway/ssh/knownhosts.h"
#include "gateway/openssh/openssh.h"
#include "gateway/pool.h"
#include "gateway/ssh/proxy.h"
#include "gateway/ssh/session.h"
#include "gateway/session_pool.h"
#include "base/banned.h"

/* If a server reports that it is busy, we retry until the step's timeout. A server that only closes the
 * connection may have another reason, so we retry for a shorter time. */
#define AGAIN_FIRST_MS 100
#define AGAIN_UNSAID_MS 3000

struct opening {
    const struct hop *hop;
    const struct ssh_config *config; /* the hop's */
    const char *reason;              /* why OpenSSH carries the session; "" if the user asked for OpenSSH */
    struct known_hosts known;
    struct session *session;
    struct openssh *openssh;
    struct gateway_hop found; /* the result that OpenSSH reports */
    struct gateway_step step; /* the current step */
    int64_t since;            /* the start of the step */
    bool untold;              /* the step failed and the failure is not reported yet */
    bool connected;           /* an earlier attempt reported the connection */
    bool said_busy;           /* the server reported that it is busy */
    int64_t reached_ms;       /* the duration of connecting */
    int fd;                   /* the connection; the session owns it once there is one */
    struct proxy *proxy;      /* the process behind fd; the session owns it too */
};

static void begin_step(struct opening *o, enum gateway_step_kind kind)
{
    o->step = (struct gateway_step){.kind = kind, .hop = o->hop->number};
    o->since = clock_now();
    o->untold = false;
}

static void report_step(struct opening *o, const struct err *failure)
{
    const struct gateway_options *options = o->hop->options;
    o->step.duration_ms = clock_now() - o->since;
    o->step.failure = failure;
    if (options->step)
        options->step(options->step_ctx, &o->step);
}

/* Ends the step with rc and returns rc. A failure that allows a retry or OpenSSH is not reported yet. */
static int end_step(struct opening *o, int rc, const struct err *why)
{
    o->untold = rc < 0 && (why->kind == ERR_BUSY || why->kind == ERR_UNSUPPORTED);
    if (!o->untold)
        report_step(o, rc < 0 ? why : NULL);
    return rc;
}

/* ---- libssh2 ------------------------------------------------------------------------------------------- */

/* A failure of the previous hop must cause no retry and no switch to OpenSSH at this hop. */
static int dial_through_hop(struct opening *o, const struct destination *to, struct err *err)
{
    if (session_pool_dial(o->hop->before, to, &o->fd, err) == 0)
        return 0;
    if (err->kind == ERR_BUSY || err->kind == ERR_UNSUPPORTED || err->kind == ERR_LOST)
        err->kind = ERR_FAILED;
    return -1;
}

static int open_connection(struct opening *o, const struct destination *to, struct err *err)
{
    static const int families[] = {
        [ADDRESS_ANY] = AF_UNSPEC, [ADDRESS_IPV4] = AF_INET, [ADDRESS_IPV6] = AF_INET6};
    const struct gateway_options *options = o->hop->options;
    int64_t timeout = o->config->connect_timeout_s ? o->config->connect_timeout_s * INT64_C(1000)
                                                   : options->step_timeout_ms;
    struct connect_how how = {.family = families[o->config->family],
                              .bind_address = o->config->bind_address,
                              .deadline = clock_deadline(timeout),
                              .cancel_fd = options->cancel_fd};
    if (o->hop->before)
        return dial_through_hop(o, to, err);
    if (o->config->proxy_command)
        return proxy_start(o->config->proxy_command, &o->fd, &o->proxy, err);
    o->fd = connect_tcp(to->host, to->port, &how, err);
    return o->fd < 0 ? -1 : 0;
}

static int connect_step(struct opening *o, struct err *err)
{
    struct destination to = {.host = o->config->hostname, .port = o->config->port};
    char name[DESTINATION_NAME], peer[CONNECT_PEER] = "";
    begin_step(o, GATEWAY_CONNECT);
    int rc = open_connection(o, &to, err);
    o->reached_ms = clock_now() - o->since;
    if (rc == 0)
        connect_peer(o->fd, peer);
    bool other = peer[0] && strcmp(peer, to.host) != 0;
    snprintf(o->step.detail, sizeof o->step.detail, "%s%s%s%s", destination_name(&to, name),
             other ? " (" : "", other ? peer : "", other ? ")" : "");
    if (rc == 0 && o->connected)
        return 0;
    o->connected = rc == 0;
    return end_step(o, rc, err);
}

/* Looks up the host in the known_hosts files. The handshake requests keys of the known types, so this part of
 * the host key step runs before it. */
static int find_known_keys(struct opening *o, struct err *err)
{
    const struct ssh_config *c = o->config;
    struct proc_limits limits = session_limits(o->hop->options);
    bool alias = c->host_key_alias != NULL;
    begin_step(o, GATEWAY_HOST_KEY);
    if (known_hosts_find(&c->known_hosts, alias ? c->host_key_alias : c->hostname, alias ? 0 : c->port,
                         &limits, &o->known, err) < 0)
        return end_step(o, -1, err);
    if (known_hosts_usable(&o->known, err) < 0)
        return end_step(o, -1, err);
    return 0;
}

/* If a connection of a proxy command breaks before the server sends anything, the proxy command's message
 * gives the cause. */
static void blame_proxy(const struct opening *o, struct err *err)
{
    const struct wire *w = &o->session->wire;
    char said[200];
    int code = 0;
    if (!o->session->proxy || w->preauth.len > 0 || !(w->eof || w->error) || err->kind == ERR_CANCELLED)
        return;
    if (*proxy_complaint(o->session->proxy, said, sizeof said))
        err_set(err, ERR_FAILED, "the proxy command says \"%s\"", said);
    else if (proxy_ended(o->session->proxy, &code))
        err_set(err, ERR_FAILED, "the proxy command ended with exit code %d, without a word", code);
    else
        err_set(err, ERR_FAILED, "the proxy command closed the connection without a word");
    err_hint(err, "ProxyCommand in ssh's configuration: `ssh -v` to the same address shows what it does");
}

static int handshake_step(struct opening *o, struct err *err)
{
    int fd = o->fd, rc = -1;
    o->fd = -1;
    begin_step(o, GATEWAY_HANDSHAKE);
    if (session_new(fd, o->config, o->hop->options, &o->session, err) == 0) {
        o->session->proxy = o->proxy;
        o->proxy = NULL;
        if (o->hop->before)
            session_answered(o->session, o->reached_ms);
        rc = session_handshake(o->session, o->config, &o->known, err);
        o->said_busy = rc < 0 && err->kind == ERR_BUSY && o->session->wire.preauth.len > 0;
        if (rc < 0)
            blame_proxy(o, err);
    }
    if (rc == 0) {
        LIBSSH2_SESSION *ssh = o->session->ssh;
        const char *exchange = libssh2_session_methods(ssh, LIBSSH2_METHOD_KEX);
        const char *cipher = libssh2_session_methods(ssh, LIBSSH2_METHOD_CRYPT_SC);
        const char *compression = libssh2_session_methods(ssh, LIBSSH2_METHOD_COMP_SC);
        bool compressed = compression && strcmp(compression, "none") != 0;
        snprintf(o->step.detail, sizeof o->step.detail, "%s, %s, %s%s", o->session->hop.banner,
                 exchange ? exchange : "?", cipher ? cipher : "?", compressed ? ", compressed" : "");
    }
    return end_step(o, rc, err);
}

static int host_key_step(struct opening *o, struct err *err)
{
    struct host_key_finding finding = {0};
    const struct gateway_hop *hop = &o->session->hop;
    begin_step(o, GATEWAY_HOST_KEY);
    int rc = session_check_host_key(o->session, o->config, &o->known, &finding, err);
    int n = snprintf(o->step.detail, sizeof o->step.detail, "%s%s%s", hop->host_key_type,
                     hop->host_key[0] ? " " : "", hop->host_key);
    if (rc == 0)
        snprintf(o->step.detail + n, sizeof o->step.detail - (size_t)n, ", %s", finding.text);
    o->step.news = finding.is_new;
    return end_step(o, rc, err);
}

static int auth_step(struct opening *o, struct err *err)
{
    begin_step(o, GATEWAY_AUTH);
    int rc = auth_run(o->session, o->hop, err);
    const struct wire *w = &o->session->wire;
    /* The server itself refused, unless the connection merely broke. */
    if (rc < 0 && err->kind == ERR_FAILED && (o->session->disconnect[0] || !(w->error || w->eof)))
        err->kind = ERR_DENIED;
    snprintf(o->step.detail, sizeof o->step.detail, "%s", o->session->hop.authentication);
    return end_step(o, rc, err);
}

/* Closes the remains of a failed login. */
static void close_attempt(struct opening *o)
{
    session_close(o->session);
    o->session = NULL;
    known_hosts_release(&o->known);
    fd_close(&o->fd);
    proxy_end(o->proxy);
    o->proxy = NULL;
}

static int log_in_libssh2(struct opening *o, struct err *err)
{
    if (connect_step(o, err) == 0 && find_known_keys(o, err) == 0 && handshake_step(o, err) == 0 &&
        host_key_step(o, err) == 0 && auth_step(o, err) == 0)
        return 0;
    close_attempt(o);
    return -1;
}

/* ---- OpenSSH ------------------------------------------------------------------------------------------- */

/* The log of ssh has its own message about a new host. */
static void report_new_host(struct opening *o)
{
    begin_step(o, GATEWAY_HOST_KEY);
    snprintf(o->step.detail, sizeof o->step.detail, "%s %s, new: trusted by ssh", o->found.host_key_type,
             o->found.host_key);
    o->step.news = true;
    end_step(o, 0, NULL);
}

static int log_in_openssh(struct opening *o, struct err *err)
{
    int64_t began = clock_now();
    int rc = openssh_start(o->config, o->hop->options, &o->found, &o->openssh, err);
    o->said_busy = false;
    if (rc == 0 && o->found.host_key_new)
        report_new_host(o);
    begin_step(o, rc < 0 && err->kind == ERR_HOST_KEY ? GATEWAY_HOST_KEY : GATEWAY_AUTH);
    o->since = began;
    if (rc == 0)
        snprintf(o->step.detail, sizeof o->step.detail, "%s%s%s", o->found.authentication,
                 o->found.host_key[0] ? ", host key " : "", o->found.host_key);
    return end_step(o, rc, err);
}

static void report_via(struct opening *o, const char *what, const char *reason)
{
    begin_step(o, GATEWAY_VIA);
    snprintf(o->step.detail, sizeof o->step.detail, "%s%s%s", what, *reason ? ": " : "", reason);
    o->step.news = true;
    end_step(o, 0, NULL);
}

/* ---- patience ------------------------------------------------------------------------------------------ */

/*
 * Names the queue of a login by all its hops, because an address can mean another host behind another jump
 * host, and because a login must never wait in the same queue as the login to its jump host. Our own ssh logs
 * in to its first jump host first.
 */
static void name_queue(const struct hop *hop, bool openssh, char *dst, size_t cap)
{
    const struct ssh_config *c = openssh ? hop->outermost : hop->config;
    size_t n = 0;
    if (hop->before && !openssh) {
        name_queue(hop->before, false, dst, cap);
        n = strlen(dst);
    }
    snprintf(dst + n, cap - n, "%s%s port %u", n ? " > " : "", c->hostname, c->port);
}

/* Logs in from the queue and retries while the server is busy. */
static int log_in(struct opening *o, int (*attempt)(struct opening *o, struct err *err), struct err *err)
{
    const struct gateway_options *options = o->hop->options;
    int64_t began = clock_now(), pause = AGAIN_FIRST_MS;
    char queue[1024];
    name_queue(o->hop, attempt == log_in_openssh, queue, sizeof queue);
    for (unsigned tries = 1;; tries++, pause *= 2) {
        struct err why = ERR_INIT;
        if (pool_enter(options->pool, queue, options->cancel_fd, err) < 0)
            return -1;
        int rc = attempt(o, &why);
        pool_leave(options->pool, queue, rc < 0 && why.kind == ERR_BUSY);
        if (rc == 0)
            return 0;
        int64_t patience = o->said_busy ? options->step_timeout_ms : AGAIN_UNSAID_MS;
        bool again = why.kind == ERR_BUSY && clock_now() - began + pause < patience;
        if (again) {
            fd_wait(-1, 0, clock_deadline(clock_jitter(pause)), options->cancel_fd, &why);
            again = why.kind == ERR_TIMEOUT;
        }
        if (!again) {
            *err = why;
            return tries > 1 && why.kind == ERR_BUSY ? err_wrap(err, "tried %u times", tries) : -1;
        }
    }
}

/* ---- the choice between libssh2 and OpenSSH ------------------------------------------------------------ */

static int use_libssh2(struct opening *o, struct err *err)
{
    if (o->config->only_openssh[0])
        return err_set(err, ERR_UNSUPPORTED, "%s in ssh's configuration is beyond libssh2",
                       o->config->only_openssh);
    return log_in(o, log_in_libssh2, err);
}

static int use_openssh(struct opening *o, const char *reason, struct err *err)
{
    report_via(o, "OpenSSH", reason);
    return log_in(o, log_in_openssh, err);
}

static int open_carrier(struct opening *o, struct err *err)
{
    enum ssh_via via = o->hop->via;
    if (via != SSH_VIA_LIBSSH2 && o->hop->live &&
        openssh_find(o->config, o->hop->options, &o->found, &o->openssh, NULL) == 0) {
        report_via(o, o->found.via, "");
        return 0;
    }
    /* The previous hops were skipped for a master connection that is closed now. Only ssh can open them. */
    bool headless = o->hop->number > 0 && !o->hop->before;
    if (via == SSH_VIA_OPENSSH || headless)
        return use_openssh(o, "", err);
    struct err why = ERR_INIT;
    if (use_libssh2(o, &why) == 0)
        return 0;
    if (why.kind == ERR_UNSUPPORTED && via == SSH_VIA_AUTO)
        return use_openssh(o, why.msg, err);
    *err = why;
    return -1;
}

/* Moves the result to the caller. */
static void return_carrier(struct opening *o, struct carrier *ret, struct gateway_hop *ret_hop)
{
    *ret = (struct carrier){.session = o->session, .openssh = o->openssh};
    *ret_hop = o->session ? o->session->hop : o->found;
    if (o->session)
        snprintf(ret_hop->via, sizeof ret_hop->via, "libssh2 %s", libssh2_version(0));
    o->session = NULL;
    o->openssh = NULL;
}

/* Reports a failure that is not reported yet, and adds the host's name if the message has none. */
static void finish_failure(struct opening *o, struct err *why)
{
    char name[DESTINATION_NAME];
    if (why->kind == ERR_UNSUPPORTED && o->hop->via == SSH_VIA_LIBSSH2)
        err_hint(why, "OpenSSH may be able to: leave out `--via libssh2`, or `via:` in the inventory");
    if (o->untold)
        report_step(o, why);
    if (o->step.kind != GATEWAY_CONNECT && why->kind != ERR_HOST_KEY)
        err_wrap(why, "%s", hop_name(o->hop, name, sizeof name));
}

int hop_open(const struct hop *hop, struct carrier *ret, struct gateway_hop *ret_hop, struct err *err)
{
    struct opening o = {.hop = hop, .config = hop->config, .fd = -1};
    struct err why = ERR_INIT;
    int rc = open_carrier(&o, &why);
    if (rc == 0) {
        return_carrier(&o, ret, ret_hop);
    } else {
        finish_failure(&o, &why);
        if (err)
            *err = why;
    }
    close_attempt(&o);
    return rc;
}

char *hop_name(const struct hop *hop, char *dst, size_t cap)
{
    snprintf(dst, cap, "%s port %u", hop->config->hostname, hop->config->port);
    return dst;
}
