#include "gateway/ssh/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/algorithms.h"
#include "gateway/ssh/connect.h"
#include "gateway/ssh/preauth.h"
#include "gateway/ssh/proxy.h"
#include "gateway/ssh/window.h"
#include "base/banned.h"

/* From this round-trip time on, a line counts as long. */
#define LONG_LINE_MS 20

#define READS_AT_ONCE 4096

/* libssh2 reads until there is no data, so an endless sender would never let it return. The callback reports
 * "no data" now and then. */
static ssize_t on_receive(libssh2_socket_t fd, void *p, size_t n, int flags, void **abstract)
{
    (void)fd;
    (void)flags;
    struct session *s = *abstract;
    if (s->reads == READS_AT_ONCE) {
        s->reads = 0;
        return -EAGAIN;
    }
    ssize_t got = wire_recv(&s->wire, p, n);
    s->reads = got > 0 ? s->reads + 1 : 0;
    return got;
}

static ssize_t on_send(libssh2_socket_t fd, const void *p, size_t n, int flags, void **abstract)
{
    (void)fd;
    (void)flags;
    struct session *s = *abstract;
    return wire_send(&s->wire, p, n);
}

static void on_disconnect(LIBSSH2_SESSION *ssh, int reason, const char *text, int n, const char *language,
                          int n_language, void **abstract)
{
    (void)ssh;
    (void)reason;
    (void)language;
    (void)n_language;
    struct session *s = *abstract;
    if (text && n > 0)
        text_printable(s->disconnect, sizeof s->disconnect, text, (size_t)n);
}

/* Until 1.11.1 libssh2 takes its callbacks as object pointers; POSIX allows a function pointer in one. */
static void set_callback(LIBSSH2_SESSION *ssh, int which, void (*function)(void))
{
#if LIBSSH2_VERSION_NUM >= 0x010b01
    libssh2_session_callback_set2(ssh, which, function);
#else
    void *p;
    memcpy(&p, &function, sizeof p);
    libssh2_session_callback_set(ssh, which, p);
#endif
}

int64_t session_deadline(const struct session *s)
{
    return clock_deadline(s->options.step_timeout_ms);
}

int64_t session_rtt(const struct session *s)
{
    int64_t tcp = address_is_loopback(s->hop.peer) ? -1 : window_tcp_rtt(s->wire.fd);
    return tcp >= 0 ? tcp : s->answer_ms > 0 ? s->answer_ms : 0;
}

void session_answered(struct session *s, int64_t ms)
{
    if (s->answer_ms < 0 || ms < s->answer_ms)
        s->answer_ms = ms;
}

struct proc_limits session_limits(const struct gateway_options *options)
{
    return (struct proc_limits){
        .timeout_ms = options->step_timeout_ms, .cancel_fd = options->cancel_fd, .max_output = 4u << 20};
}

int session_wait(struct session *s, int64_t deadline, struct err *err)
{
    wire_flush(&s->wire);
    if (s->wire.error || s->wire.eof)
        return 0;
    /* Check the deadline also if data arrives without a pause. */
    if (clock_now() >= deadline)
        return err_set(err, ERR_TIMEOUT, "timed out");
    return fd_wait(s->wire.fd, (short)(POLLIN | (s->wire.out.len ? POLLOUT : 0)), deadline,
                   s->options.cancel_fd, err);
}

int session_error(struct session *s, int rc, const char *doing, struct err *err)
{
    char *text = NULL;
    libssh2_session_last_error(s->ssh, &text, NULL, 0);
    if (s->disconnect[0])
        return err_set(err, ERR_FAILED, "%s: the server ended the session: %s", doing, s->disconnect);
    if (s->wire.error) {
        errno = s->wire.error;
        err_sys(err, "%s: the connection broke", doing);
        if (err)
            err->kind = ERR_FAILED;
        return -1;
    }
    if (s->wire.eof)
        return err_set(err, ERR_FAILED, "%s: the server closed the connection", doing);
    return err_set(err, ERR_FAILED, "%s: %s (libssh2 error %d)", doing, text && *text ? text : "failed", rc);
}

/* Sets the error of a failed handshake. */
static int handshake_error(struct session *s, const struct algorithms *ours, enum preauth_end end,
                           struct err *err)
{
    const struct buf *preauth = &s->wire.preauth;
    struct algorithms server = {0};
    if (s->disconnect[0])
        return session_error(s, 0, "SSH handshake", err);
    if (end == PREAUTH_FAILED && algorithms_read(preauth->data, preauth->len, &server, NULL) == 0) {
        int agreed = algorithms_compare(ours, &server, err);
        algorithms_release(&server);
        if (agreed < 0)
            return -1;
    }
    if (s->wire.eof || s->wire.error)
        end = PREAUTH_CLOSED;
    return preauth_explain(preauth->data, preauth->len, end, s->options.step_timeout_ms, err);
}

/* Waits for data. Returns -1 if the data can no longer become a handshake. */
static int handshake_wait(struct session *s, const struct algorithms *ours, int64_t deadline, struct err *err)
{
    struct err why = ERR_INIT;
    if (preauth_check(s->wire.preauth.data, s->wire.preauth.len, err) < 0)
        return -1;
    if (session_wait(s, deadline, &why) == 0)
        return 0;
    if (why.kind == ERR_TIMEOUT)
        return handshake_error(s, ours, PREAUTH_SILENT, err);
    if (err)
        *err = why;
    return -1;
}

/* The handshake ends with our request and its answer (RFC 4253 section 10), so its last wait is one round
 * trip. */
static int run_handshake(struct session *s, const struct algorithms *ours, struct err *err)
{
    int64_t deadline = session_deadline(s), waited = -1;
    int rc;
    while ((rc = libssh2_session_handshake(s->ssh, s->wire.fd)) == LIBSSH2_ERROR_EAGAIN) {
        int64_t since = clock_now();
        if (handshake_wait(s, ours, deadline, err) < 0)
            return -1;
        waited = clock_now() - since;
    }
    if (rc != 0)
        return handshake_error(s, ours, PREAUTH_FAILED, err);
    if (waited >= 0)
        session_answered(s, waited);
    return 0;
}

/* On a long line, saved bytes are worth more than the far host's time for compression (figures:
 * docs/performance.md). */
static bool wants_compression(const struct session *s, const struct ssh_config *config)
{
    return config->compression || (config->compressible && session_rtt(s) >= LONG_LINE_MS);
}

/* We request compression only after the host key check: the older "zlib" would start before it. In both
 * directions, because libssh2 derives one from the other. */
static void ask_for_compression(LIBSSH2_SESSION *ssh)
{
    libssh2_session_flag(ssh, LIBSSH2_FLAG_COMPRESS, 1);
    libssh2_session_method_pref(ssh, LIBSSH2_METHOD_COMP_SC, "zlib@openssh.com,none");
    libssh2_session_method_pref(ssh, LIBSSH2_METHOD_COMP_CS, "zlib@openssh.com,none");
}

int session_handshake(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                      struct err *err)
{
    char host_keys[256];
    struct algorithms ours = {0};
    known_hosts_preference(known, host_keys, sizeof host_keys);
    if (wants_compression(s, config))
        ask_for_compression(s->ssh);
    int rc = algorithms_propose(s->ssh, config, host_keys, &ours, err);
    if (rc == 0)
        rc = run_handshake(s, &ours, err);
    algorithms_release(&ours);
    if (rc < 0)
        return -1;
    wire_forget_preauth(&s->wire);
    const char *banner = libssh2_session_banner_get(s->ssh);
    text_printable(s->hop.banner, sizeof s->hop.banner, banner ? banner : "", banner ? strlen(banner) : 0);
    return 0;
}

/* Accepts an unknown host (accept-new). A key that cannot be written to known_hosts is still trusted, as in
 * ssh. */
static int accept_new(struct session *s, const struct ssh_config *config, const struct ssh_blob *key,
                      struct host_key_finding *ret, struct err *err)
{
    bool alias = config->host_key_alias != NULL;
    struct known_addition addition = {.file = config->known_hosts.items[0],
                                      .host = alias ? config->host_key_alias : config->hostname,
                                      .port = alias ? 0 : config->port,
                                      .key = key,
                                      .hashed = config->hash_known_hosts};
    struct proc_limits limits = session_limits(&s->options);
    struct err why = ERR_INIT;
    known_hosts_add(&addition, &limits, &why);
    if (why.kind == ERR_HOST_KEY || why.kind == ERR_CANCELLED) {
        if (err)
            *err = why;
        return -1;
    }
    ret->is_new = true;
    snprintf(ret->text, sizeof ret->text,
             why.kind == ERR_NONE ? "new: written to %s" : "new, not written down: %s",
             why.kind == ERR_NONE ? addition.file : why.msg);
    return 0;
}

/* Checks that this libssh2 can request a key of the type; for RSA with a signature that servers still
 * support. */
static bool can_ask_for(struct session *s, const char *type)
{
    const char **supported = NULL, *name = strcmp(type, "ssh-rsa") == 0 ? "rsa-sha2-512" : type;
    bool can = false;
    int n = libssh2_session_supported_algs(s->ssh, LIBSSH2_METHOD_HOSTKEY, &supported);
    for (int i = 0; i < n && !can; i++)
        can = strcmp(name, supported[i]) == 0;
    if (n > 0)
        libssh2_free(s->ssh, (void *)(uintptr_t)supported);
    return can;
}

/* The server's key type is not among the known types: libssh2 may be unable to request the known type. */
static int check_types(struct session *s, const struct known_hosts *known, struct err *err)
{
    for (size_t i = 0; i < known->n; i++) {
        const struct known_key *k = &known->items[i];
        if (k->marker == KNOWN_PLAIN && !can_ask_for(s, k->type))
            return err_set(err, ERR_UNSUPPORTED,
                           "the known host key (%s:%u) is of type %s, for which libssh2 %s cannot ask",
                           k->file, k->line, k->type, libssh2_version(0));
    }
    return 0;
}

static int judge_host_key(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                          const struct ssh_blob *key, struct host_key_finding *ret, struct err *err)
{
    const struct known_key *line = NULL;
    char where[320];
    enum known_status status = known_hosts_judge(known, key, &line);
    /* accept-new needs a user known_hosts file, as in ssh. */
    if (status == KNOWN_NEW && config->host_key_policy == HOST_KEY_ACCEPT_NEW &&
        config->n_user_known_hosts > 0)
        return accept_new(s, config, key, ret, err);
    if (status == KNOWN_OTHER_TYPES && check_types(s, known, err) < 0)
        return -1;
    snprintf(where, sizeof where, "%s port %u", s->hop.address, s->hop.port);
    if (known_hosts_check(known, key, where, &config->known_hosts, err) < 0)
        return -1;
    snprintf(ret->text, sizeof ret->text, "known in %s line %u", line->file, line->line);
    return 0;
}

int session_check_host_key(struct session *s, const struct ssh_config *config,
                           const struct known_hosts *known, struct host_key_finding *ret, struct err *err)
{
    size_t n = 0;
    int type = 0;
    const char *p = libssh2_session_hostkey(s->ssh, &n, &type);
    struct ssh_blob key = {0};
    struct host_key_finding finding = {0};
    if (!p || ssh_blob_copy(&key, p, n, err) < 0)
        return err_set(err, ERR_HOST_KEY, "%s port %u: the server showed no host key", s->hop.address,
                       s->hop.port);
    ssh_blob_type(&key, s->hop.host_key_type, sizeof s->hop.host_key_type);
    ssh_blob_fingerprint(&key, s->hop.host_key);
    int rc = judge_host_key(s, config, known, &key, &finding, err);
    if (rc == 0) {
        s->hop.host_key_new = finding.is_new;
        *ret = finding;
    }
    ssh_blob_release(&key);
    return rc;
}

int session_new(int fd, const struct ssh_config *config, const struct gateway_options *options,
                struct session **ret, struct err *err)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        fd_close(&fd);
        return err_nomem(err);
    }
    s->options = *options;
    s->answer_ms = -1;
    s->hop.port = config->port;
    text_printable(s->hop.address, sizeof s->hop.address, config->hostname, strlen(config->hostname));
    text_printable(s->hop.user, sizeof s->hop.user, config->user, strlen(config->user));
    connect_peer(fd, s->hop.peer);
    if (wire_init(&s->wire, fd, err) < 0)
        goto fail;
    s->ssh = libssh2_session_init_ex(NULL, NULL, NULL, s);
    if (!s->ssh) {
        err_nomem(err);
        goto fail;
    }
    libssh2_session_set_blocking(s->ssh, 0);
    set_callback(s->ssh, LIBSSH2_CALLBACK_RECV, (void (*)(void))on_receive);
    set_callback(s->ssh, LIBSSH2_CALLBACK_SEND, (void (*)(void))on_send);
    set_callback(s->ssh, LIBSSH2_CALLBACK_DISCONNECT, (void (*)(void))on_disconnect);
    *ret = s;
    return 0;
fail:
    session_close(s);
    return -1;
}

void session_note(struct session *s, ssize_t rc)
{
    static const int fatal[] = {LIBSSH2_ERROR_SOCKET_NONE,
                                LIBSSH2_ERROR_SOCKET_SEND,
                                LIBSSH2_ERROR_SOCKET_RECV,
                                LIBSSH2_ERROR_SOCKET_DISCONNECT,
                                LIBSSH2_ERROR_INVALID_MAC,
                                LIBSSH2_ERROR_DECRYPT,
                                LIBSSH2_ERROR_PROTO,
                                LIBSSH2_ERROR_ZLIB,
                                LIBSSH2_ERROR_COMPRESS,
                                LIBSSH2_ERROR_OUT_OF_BOUNDARY,
                                LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (rc == fatal[i] && !s->fatal)
            s->fatal = fatal[i];
}

bool session_is_over(const struct session *s)
{
    const struct wire *w = &s->wire;
    return w->error || (w->eof && w->in.len == 0) || s->disconnect[0] || s->fatal;
}

void session_listen(struct session *s)
{
    char nothing[64];
    if (s->idle_channel && s->wire.in.len > 0) {
        session_note(s, libssh2_channel_read(s->idle_channel, nothing, sizeof nothing));
    } else if (!s->idle_channel && (s->opening == &s->idle_channel || (!s->opening && s->wire.in.len > 0))) {
        s->opening = &s->idle_channel;
        s->idle_channel = libssh2_channel_open_session(s->ssh);
        if (s->idle_channel || libssh2_session_last_errno(s->ssh) != LIBSSH2_ERROR_EAGAIN)
            s->opening = NULL;
    }
}

void session_close(struct session *s)
{
    if (!s)
        return;
    if (s->ssh) {
        libssh2_session_disconnect(s->ssh, "done");
        wire_flush(&s->wire);
        wire_kill(&s->wire);
        /* On a dead wire nothing blocks; the bound guards against a library that still returns EAGAIN. */
        for (int i = 0; i < 1000 && libssh2_session_free(s->ssh) == LIBSSH2_ERROR_EAGAIN; i++)
            ;
    }
    wire_release(&s->wire);
    proxy_end(s->proxy);
    free(s);
}
