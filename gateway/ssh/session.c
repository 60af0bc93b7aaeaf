#include "gateway/ssh/session.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/ssh/algorithms.h"
#include "gateway/ssh/connect.h"
#include "gateway/ssh/cpu_budget.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/preauth.h"
#include "gateway/ssh/proxy.h"
#include "gateway/ssh/window.h"
#include "gateway/ssh/buffered_socket.h"
#include "base/banned.h"

/* From this round-trip time on, we compress data that the caller expects to be compressible. */
#define LONG_RTT_MS 20

/* The number of reads after which libssh2 gets "no data" once, see on_receive. */
#define READS_MAX 4096

/* The most bytes that a server may send until the login ends, and the most CPU time of the login, without
 * opening keys: a server may send messages without end, or exchange keys again and again. */
#define LOGIN_BYTES_MAX ((uint64_t)4 << 20)
#define LOGIN_CPU_NS INT64_C(4000000000)

/* The most memory of libssh2 for a session. libssh2 keeps every packet until a call reads it: the data of
 * stalled channels, at most WINDOW_MAX each, and without a limit every message that it does not expect. */
#define MEMORY_MAX ((size_t)192 << 20)

struct session {
    LIBSSH2_SESSION *ssh;
    struct buffered_socket socket;
    struct ssh_limits limits;
    struct gateway_hop facts;
    int64_t answer_ms;         /* the shortest time between a request and its answer; -1: none yet */
    unsigned n_reads;          /* on_receive's reads since its last "no data" to libssh2 */
    const void *opening_owner; /* the owner of the one channel that can be opening */
    bool is_logged_in;
    int64_t login_start_ns; /* the thread's CPU time at the start of the login, plus that of opening keys */
    size_t memory;          /* bytes that libssh2 has allocated */
    struct cpu_budget cpu;  /* of the thread that serves the session after the login */
    bool is_costly;         /* the session has exceeded this budget */
    int fatal;              /* libssh2's error that ends the session; 0: none, see session_record_result */
    LIBSSH2_CHANNEL *idle_channel; /* see session_serve_idle */
    struct proxy *proxy;           /* the process behind the socket; NULL: none */
    void *conversation;            /* see session_set_conversation */
    char disconnect[256];          /* the server's text in its disconnect message; printable */
};

/* ---- the server's limits ------------------------------------------------------------------------------- */

static bool exceeds_login_bytes(const struct session *s)
{
    return !s->is_logged_in && s->socket.n_returned > LOGIN_BYTES_MAX;
}

static bool exceeds_login_cpu(const struct session *s)
{
    return !s->is_logged_in && clock_thread_cpu_ns() - s->login_start_ns > LOGIN_CPU_NS;
}

static bool is_flooded(const struct session *s)
{
    return exceeds_login_bytes(s) || exceeds_login_cpu(s) || s->memory > MEMORY_MAX || s->is_costly;
}

static int set_flood_error(const struct session *s, const char *doing, struct err *err)
{
    return failure_set(exceeds_login_bytes(s) ? FAILURE_LOGIN_FLOODED
                       : exceeds_login_cpu(s) ? FAILURE_LOGIN_COSTLY
                                              : FAILURE_SESSION_FLOODED,
                       FAILURE_DETAILS(doing), err);
}

static void *on_alloc(size_t n, void **abstract)
{
    struct session *s = *abstract;
    void *p = malloc(n);
    s->memory += malloc_usable_size(p);
    return p;
}

static void on_free(void *p, void **abstract)
{
    struct session *s = *abstract;
    s->memory -= malloc_usable_size(p);
    free(p);
}

static void *on_realloc(void *p, size_t n, void **abstract)
{
    struct session *s = *abstract;
    size_t before = malloc_usable_size(p);
    void *moved = realloc(p, n);
    if (moved)
        s->memory += malloc_usable_size(moved) - before;
    return moved;
}

/* ---- libssh2's callbacks ------------------------------------------------------------------------------- */

/* Reads for libssh2. Reports "no data" now and then, because libssh2 reads until there is no data and would
 * never return from an endless sender. */
static ssize_t on_receive(libssh2_socket_t fd, void *p, size_t n, int flags, void **abstract)
{
    (void)fd;
    (void)flags;
    struct session *s = *abstract;
    if (is_flooded(s)) {
        buffered_socket_abort(&s->socket);
        return -ECONNABORTED;
    }
    if (s->n_reads == READS_MAX) {
        s->n_reads = 0;
        return -EAGAIN;
    }
    ssize_t got = buffered_socket_recv(&s->socket, p, n);
    s->n_reads = got > 0 ? s->n_reads + 1 : 0;
    return got;
}

static ssize_t on_send(libssh2_socket_t fd, const void *p, size_t n, int flags, void **abstract)
{
    (void)fd;
    (void)flags;
    struct session *s = *abstract;
    return buffered_socket_send(&s->socket, p, n);
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

/* Sets a callback. Before 1.11.1 libssh2 takes a callback as a void pointer, and POSIX allows a function
 * pointer to be stored in one. */
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

int64_t session_rtt(const struct session *s)
{
    int64_t tcp = address_is_loopback(s->facts.server_ip) ? -1 : window_tcp_rtt(s->socket.fd);
    return tcp >= 0 ? tcp : s->answer_ms > 0 ? s->answer_ms : 0;
}

void session_record_round_trip(struct session *s, int64_t ms)
{
    if (s->answer_ms < 0 || ms < s->answer_ms)
        s->answer_ms = ms;
}

LIBSSH2_SESSION *session_libssh2(const struct session *s)
{
    return s->ssh;
}

struct gateway_hop *session_facts(struct session *s)
{
    return &s->facts;
}

void session_set_proxy(struct session *s, struct proxy *proxy)
{
    s->proxy = proxy;
}

void session_set_conversation(struct session *s, void *conversation)
{
    s->conversation = conversation;
}

void *session_conversation(void **abstract)
{
    const struct session *s = *abstract;
    return s->conversation;
}

void session_exclude_cpu(struct session *s, int64_t ns)
{
    s->login_start_ns += ns;
}

int session_cancel_fd(const struct session *s)
{
    return s->limits.cancel_fd;
}

int64_t session_deadline(const struct session *s)
{
    return clock_deadline(s->limits.step_timeout_ms);
}

struct proc_limits session_program_limits(const struct session *s)
{
    return ssh_program_limits(&s->limits);
}

/* ---- waiting, the handshake ---------------------------------------------------------------------------- */

int session_wait(struct session *s, int64_t deadline, struct err *err)
{
    buffered_socket_flush(&s->socket);
    if (s->socket.error || s->socket.eof)
        return 0;
    /* Check the deadline also if data arrives without a pause. */
    if (clock_now() >= deadline)
        return failure_set(FAILURE_SESSION_TIMED_OUT, FAILURE_DETAILS(NULL), err);
    return fd_wait(s->socket.fd, (short)(POLLIN | (s->socket.out.len ? POLLOUT : 0)), deadline,
                   s->limits.cancel_fd, err);
}

int session_set_error(struct session *s, int rc, const char *doing, struct err *err)
{
    char *text = NULL, reason[128], number[16];
    libssh2_session_last_error(s->ssh, &text, NULL, 0);
    if (is_flooded(s))
        return set_flood_error(s, doing, err);
    if (s->disconnect[0])
        return failure_set(FAILURE_SESSION_ENDED, FAILURE_DETAILS(doing, s->disconnect), err);
    if (s->socket.error)
        return failure_set(FAILURE_SESSION_BROKEN,
                           FAILURE_DETAILS(doing, strerror_r(s->socket.error, reason, sizeof reason)), err);
    if (s->socket.eof)
        return failure_set(FAILURE_SESSION_CLOSED, FAILURE_DETAILS(doing), err);
    snprintf(number, sizeof number, "%d", rc);
    return failure_set(FAILURE_SESSION_ERROR, FAILURE_DETAILS(doing, text && *text ? text : "failed", number),
                       err);
}

/* Sets the error of a failed handshake. */
static int set_handshake_error(struct session *s, const struct algorithms *ours, enum preauth_end end,
                               struct err *err)
{
    const struct buf *preauth = &s->socket.preauth;
    struct algorithms server = {0};
    if (s->disconnect[0] || is_flooded(s))
        return session_set_error(s, 0, "SSH handshake", err);
    if (end == PREAUTH_FAILED && algorithms_read(preauth->data, preauth->len, &server, NULL) == 0) {
        int rc = algorithms_compare(ours, &server, err);
        algorithms_release(&server);
        if (rc < 0)
            return -1;
    }
    if (s->socket.eof || s->socket.error)
        end = PREAUTH_CLOSED;
    return preauth_explain(preauth->data, preauth->len, end, s->limits.step_timeout_ms, err);
}

/* Waits for data. Returns -1 if the data can no longer become a handshake. */
static int handshake_wait(struct session *s, const struct algorithms *ours, int64_t deadline, struct err *err)
{
    struct err why = ERR_INIT;
    if (preauth_check(s->socket.preauth.data, s->socket.preauth.len, err) < 0)
        return -1;
    if (session_wait(s, deadline, &why) == 0)
        return 0;
    if (why.kind == ERR_TIMEOUT)
        return set_handshake_error(s, ours, PREAUTH_SILENT, err);
    if (err)
        *err = why;
    return -1;
}

/* Runs the handshake and measures the round trip: the last wait is for the answer to our request (RFC 4253
 * section 10). */
static int run_handshake(struct session *s, const struct algorithms *ours, struct err *err)
{
    int64_t deadline = session_deadline(s), waited = -1;
    int rc;
    while ((rc = libssh2_session_handshake(s->ssh, s->socket.fd)) == LIBSSH2_ERROR_EAGAIN) {
        int64_t since = clock_now();
        if (handshake_wait(s, ours, deadline, err) < 0)
            return -1;
        waited = clock_now() - since;
    }
    if (rc != 0)
        return set_handshake_error(s, ours, PREAUTH_FAILED, err);
    if (waited >= 0)
        session_record_round_trip(s, waited);
    return 0;
}

/* Decides whether to compress. With a long round trip, fewer bytes save more time than the compression takes
 * (figures: docs/performance.md). */
static bool wants_compression(const struct session *s, const struct ssh_config *config)
{
    return config->compression || (config->compressible && session_rtt(s) >= LONG_RTT_MS);
}

/* Requests only "zlib@openssh.com", because the older "zlib" would start before the host key check. Requests
 * it in both directions, because libssh2 derives one from the other. */
static void request_compression(LIBSSH2_SESSION *ssh)
{
    libssh2_session_flag(ssh, LIBSSH2_FLAG_COMPRESS, 1);
    libssh2_session_method_pref(ssh, LIBSSH2_METHOD_COMP_SC, "zlib@openssh.com,none");
    libssh2_session_method_pref(ssh, LIBSSH2_METHOD_COMP_CS, "zlib@openssh.com,none");
}

/* Sets the proxy command's message as the error if the connection broke before the server sent any data. */
static void use_proxy_message(const struct session *s, struct err *err)
{
    char message[200], number[16];
    int code = 0;
    if (!s->proxy || session_has_received(s) || !(s->socket.eof || s->socket.error) ||
        err->kind == ERR_CANCELLED)
        return;
    if (*proxy_stderr_tail(s->proxy, message, sizeof message)) {
        failure_set(FAILURE_PROXY_MESSAGE, FAILURE_DETAILS(message), err);
    } else if (proxy_has_ended(s->proxy, &code)) {
        snprintf(number, sizeof number, "%d", code);
        failure_set(FAILURE_PROXY_ENDED, FAILURE_DETAILS(number), err);
    } else {
        failure_set(FAILURE_PROXY_CLOSED, FAILURE_DETAILS(NULL), err);
    }
}

int session_handshake(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                      struct err *err)
{
    char host_keys[256];
    struct algorithms ours = {0};
    known_hosts_preference(known, host_keys, sizeof host_keys);
    if (wants_compression(s, config))
        request_compression(s->ssh);
    int rc = algorithms_propose(s->ssh, config, host_keys, &ours, err);
    if (rc == 0)
        rc = run_handshake(s, &ours, err);
    algorithms_release(&ours);
    if (rc < 0) {
        use_proxy_message(s, err);
        return -1;
    }
    buffered_socket_forget_preauth(&s->socket);
    const char *banner = libssh2_session_banner_get(s->ssh);
    text_printable(s->facts.banner, sizeof s->facts.banner, banner ? banner : "",
                   banner ? strlen(banner) : 0);
    return 0;
}

int session_new(int fd, const struct ssh_config *config, const struct ssh_limits *limits,
                struct session **ret, struct err *err)
{
    struct session *s = calloc(1, sizeof *s);
    if (!s) {
        fd_close(&fd);
        return err_nomem(err);
    }
    s->limits = *limits;
    s->answer_ms = -1;
    s->login_start_ns = clock_thread_cpu_ns();
    s->facts.port = config->port;
    text_printable(s->facts.address, sizeof s->facts.address, config->hostname, strlen(config->hostname));
    text_printable(s->facts.user, sizeof s->facts.user, config->user, strlen(config->user));
    connect_peer_ip(fd, s->facts.server_ip);
    if (buffered_socket_init(&s->socket, fd, err) < 0)
        goto fail;
    s->ssh = libssh2_session_init_ex(on_alloc, on_free, on_realloc, s);
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

void session_record_result(struct session *s, ssize_t rc)
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
    const struct buffered_socket *socket = &s->socket;
    return socket->error || (socket->eof && socket->in.len == 0) || s->disconnect[0] || s->fatal;
}

bool session_is_closed(const struct session *s)
{
    return s->disconnect[0] || s->socket.eof || s->socket.error;
}

bool session_is_cut_off(const struct session *s)
{
    return !s->disconnect[0] && (s->socket.eof || s->socket.error);
}

bool session_has_received(const struct session *s)
{
    return s->socket.preauth.len > 0;
}

void session_describe(const struct session *s, char *dst, size_t cap)
{
    const char *kex = libssh2_session_methods(s->ssh, LIBSSH2_METHOD_KEX);
    const char *cipher = libssh2_session_methods(s->ssh, LIBSSH2_METHOD_CRYPT_SC);
    const char *compression = libssh2_session_methods(s->ssh, LIBSSH2_METHOD_COMP_SC);
    bool compressed = compression && strcmp(compression, "none") != 0;
    snprintf(dst, cap, "%s, %s, %s%s", s->facts.banner, kex ? kex : "?", cipher ? cipher : "?",
             compressed ? ", compressed" : "");
}

void session_abort(struct session *s)
{
    buffered_socket_abort(&s->socket);
}

/* ---- after the login ----------------------------------------------------------------------------------- */

void session_end_login(struct session *s)
{
    s->is_logged_in = true;
    libssh2_keepalive_config(s->ssh, 1, 1);
}

void session_send_keepalive(struct session *s)
{
    int ignored;
    session_record_result(s, libssh2_keepalive_send(s->ssh, &ignored));
}

int session_check(struct session *s, struct err *err)
{
    struct buffered_socket *socket = &s->socket;
    char seconds[24];
    int64_t now = clock_now();
    buffered_socket_flush(socket);
    /* While we do not read, missing data does not mean a dead session. */
    if (!(buffered_socket_events(socket) & POLLIN))
        socket->last_received = now;
    s->is_costly = cpu_budget_is_exceeded(&s->cpu, clock_thread_cpu_ns());
    if (session_is_over(s) || is_flooded(s)) {
        session_set_error(s, s->fatal, "the SSH session was lost", err);
        /* A new session would be flooded again. */
        if (!is_flooded(s))
            err->kind = ERR_LOST;
        return -1;
    }
    if (now - socket->last_received <= s->limits.silence_ms)
        return 0;
    snprintf(seconds, sizeof seconds, "%lld", (long long)(now - socket->last_received) / 1000);
    return failure_set(FAILURE_SESSION_SILENT, FAILURE_DETAILS(seconds), err);
}

struct pollfd session_poll_entry(const struct session *s)
{
    /* Omit the descriptor if no events are requested: poll would report its end repeatedly. */
    short events = buffered_socket_events(&s->socket);
    return events ? (struct pollfd){.fd = s->socket.fd, .events = events} : (struct pollfd){.fd = -1};
}

void session_read_ahead(struct session *s)
{
    buffered_socket_read_ahead(&s->socket);
}

bool session_is_congested(const struct session *s)
{
    return buffered_socket_is_congested(&s->socket);
}

uint64_t session_bytes_read(const struct session *s)
{
    return s->socket.n_returned;
}

int64_t session_last_receive_time(const struct session *s)
{
    return s->socket.last_received;
}

/* ---- channels ------------------------------------------------------------------------------------------ */

const void *session_opening_owner(const struct session *s)
{
    return s->opening_owner;
}

bool session_begin_opening(struct session *s, const void *owner)
{
    if (s->opening_owner && s->opening_owner != owner)
        return false;
    s->opening_owner = owner;
    return true;
}

void session_end_opening(struct session *s, const void *owner)
{
    if (s->opening_owner == owner)
        s->opening_owner = NULL;
}

ssize_t session_read_channel(struct session *s, LIBSSH2_CHANNEL *channel, void *p, size_t n)
{
    /* Without a limit libssh2 would first read all available data. */
    buffered_socket_limit_read(&s->socket, n);
    ssize_t got = libssh2_channel_read(channel, p, n);
    buffered_socket_limit_read(&s->socket, SIZE_MAX);
    cpu_budget_add(&s->cpu, got);
    return got;
}

ssize_t session_write_channel(struct session *s, LIBSSH2_CHANNEL *channel, const void *p, size_t n)
{
    ssize_t sent = libssh2_channel_write(channel, p, n);
    cpu_budget_add(&s->cpu, sent);
    return sent;
}

bool session_idle_is_opening(const struct session *s)
{
    return s->opening_owner == &s->idle_channel;
}

void session_serve_idle(struct session *s)
{
    char nothing[64];
    if (s->idle_channel && s->socket.in.len > 0) {
        session_record_result(s, libssh2_channel_read(s->idle_channel, nothing, sizeof nothing));
    } else if (!s->idle_channel &&
               (session_idle_is_opening(s) || (!s->opening_owner && s->socket.in.len > 0))) {
        s->opening_owner = &s->idle_channel;
        s->idle_channel = libssh2_channel_open_session(s->ssh);
        if (s->idle_channel || libssh2_session_last_errno(s->ssh) != LIBSSH2_ERROR_EAGAIN)
            s->opening_owner = NULL;
    }
}

void session_close(struct session *s)
{
    if (!s)
        return;
    if (s->ssh) {
        libssh2_session_disconnect(s->ssh, "done");
        buffered_socket_flush(&s->socket);
        buffered_socket_abort(&s->socket);
        /* After buffered_socket_abort no call blocks. The limit is for a libssh2 that still returns EAGAIN.
         */
        for (int i = 0; i < 1000 && libssh2_session_free(s->ssh) == LIBSSH2_ERROR_EAGAIN; i++)
            ;
    }
    buffered_socket_release(&s->socket);
    proxy_stop(s->proxy);
    free(s);
}
