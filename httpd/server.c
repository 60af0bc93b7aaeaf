#include "httpd/server.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "httpd/access.h"
#include "httpd/connection.h"
#include "base/banned.h"

#define BACKLOG 512
/* Attempts to find a port that is free for both families of localhost. */
#define PORT_ATTEMPTS 20

/* ---- TLS ----------------------------------------------------------------------------------------------- */

static int add_chain(SSL_CTX *tls, BIO *pem)
{
    X509 *leaf = PEM_read_bio_X509(pem, NULL, NULL, NULL), *next;
    int ok = leaf && SSL_CTX_use_certificate(tls, leaf) == 1;
    X509_free(leaf);
    while (ok && (next = PEM_read_bio_X509(pem, NULL, NULL, NULL)))
        if (SSL_CTX_add0_chain_cert(tls, next) != 1) {
            X509_free(next);
            ok = 0;
        }
    ERR_clear_error(); /* the end of the chain is an error, too */
    return ok ? 0 : -1;
}

static int load_tls(struct httpd *server, const struct httpd_tls *from, struct err *err)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    BIO *chain = BIO_new_mem_buf(from->chain.p, (int)from->chain.n);
    BIO *key_pem = BIO_new_mem_buf(from->key.p, (int)from->key.n);
    int rc = tls && chain && key_pem ? 0 : err_nomem(err);
    server->tls = tls;
    if (rc == 0 && (SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) != 1 || add_chain(tls, chain) < 0))
        rc = err_set(err, ERR_FAILED, "the certificate is not PEM, or is not usable");
    /* Without a passphrase, OpenSSL would ask for that of an encrypted key on the terminal. */
    void *no_passphrase = (void *)(uintptr_t) "";
    EVP_PKEY *key = rc == 0 ? PEM_read_bio_PrivateKey(key_pem, NULL, NULL, no_passphrase) : NULL;
    if (rc == 0 && (!key || SSL_CTX_use_PrivateKey(tls, key) != 1 || SSL_CTX_check_private_key(tls) != 1))
        rc = err_set(err, ERR_FAILED,
                     "the private key is not PEM, is encrypted, or is not that of the certificate");
    EVP_PKEY_free(key);
    BIO_free(chain);
    BIO_free(key_pem);
    ERR_clear_error();
    return rc;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

/* Hides libevent's warnings. After an error libevent ends the process, so the reason must be seen. */
static void print_fatal(int severity, const char *message)
{
    if (severity == EVENT_LOG_ERR)
        fprintf(stderr, "libevent: %s\n", message);
}

static int copy_options(struct httpd *server, const struct httpd_options *options, struct err *err)
{
    server->options = *options;
    server->token = options->token ? strdup(options->token) : NULL;
    server->title = strdup(options->title ? options->title : "");
    if ((options->token && !server->token) || !server->title)
        return err_nomem(err);
    for (const char *const *name = options->host_names; name && *name; name++) {
        size_t n = strlen(*name);
        n -= n > 1 && (*name)[n - 1] == '.'; /* as copy_name (access.c) */
        if (strlist_addn(&server->host_names, *name, n, err) < 0)
            return -1;
    }
    return 0;
}

static int set_up(struct httpd *server, struct err *err)
{
    const struct httpd_limits *limits = &server->options.limits;
    size_t max_body = HTTPD_FORM_MAX;
    for (const struct httpd_route *route = server->options.routes; route->path; route++)
        max_body = route->max_body > max_body ? route->max_body : max_body;
    event_set_log_callback(print_fatal);
    server->base = event_base_new();
    server->http = server->base ? evhttp_new(server->base) : NULL;
    if (!server->http)
        return err_nomem(err);
    evhttp_set_gencb(server->http, dispatch, server);
    /* More than our own limit and one read, so that on_input (connection.c) refuses longer ones. */
    evhttp_set_max_headers_size(server->http, (ev_ssize_t)(limits->header_bytes + 65536));
    evhttp_set_max_body_size(server->http, (ev_ssize_t)max_body);
    server->max_input = limits->header_bytes + max_body + 131072;
    /* All methods, so that dispatch answers them. */
    evhttp_set_allowed_methods(server->http, 0xffff);
    return connections_begin(server, err);
}

int httpd_new(const struct httpd_options *options, struct httpd **ret, struct err *err)
{
    struct httpd *server = calloc(1, sizeof *server);
    if (!server)
        return err_nomem(err);
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->new_connections);
    if (copy_options(server, options, err) < 0 || access_begin(server, err) < 0 ||
        (options->tls && load_tls(server, options->tls, err) < 0) || set_up(server, err) < 0) {
        httpd_free(server);
        return -1;
    }
    *ret = server;
    return 0;
}

void httpd_free(struct httpd *server)
{
    if (!server)
        return;
    connections_end(server);
    struct event *const events[] = {server->adopt, server->tick, server->cancel};
    if (server->http)
        evhttp_free(server->http); /* also frees the listeners */
    connections_release(server);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            event_free(events[i]);
    if (server->base)
        event_base_free(server->base);
    SSL_CTX_free(server->tls);
    strlist_release(&server->host_names);
    free(server->token);
    free(server->title);
    free(server);
}

/* ---- listening ----------------------------------------------------------------------------------------- */

/* accept(2) failed, for example because no descriptor is left. on_tick (connection.c) ends the pause. */
static void pause_accepting(struct evconnlistener *listener, void *http)
{
    (void)http;
    evconnlistener_disable(listener);
}

static union socket_address get_own_address(int fd)
{
    union socket_address own = {.storage = {0}};
    socklen_t n = sizeof own;
    if (getsockname(fd, &own.any, &n) < 0)
        own.any.sa_family = AF_UNSPEC;
    return own;
}

static bool is_loopback(const union socket_address *a)
{
    return a->any.sa_family == AF_INET6  ? IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr)
           : a->any.sa_family == AF_INET ? ntohl(a->v4.sin_addr.s_addr) >> 24 == 127
                                         : false;
}

static uint16_t get_port(const union socket_address *a)
{
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

int httpd_listen_on(struct httpd *server, int fd, struct err *err)
{
    const unsigned flags = LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE;
    const union socket_address own = get_own_address(fd);
    struct evconnlistener *l = NULL;
    struct evhttp_bound_socket *bound = NULL;
    if (server->n_listeners == HTTPD_LISTENERS_MAX) {
        fd_close(&fd);
        return err_set(err, ERR_FAILED, "more than %d addresses to listen on", HTTPD_LISTENERS_MAX);
    }
    if (evutil_make_socket_nonblocking(fd) == 0)
        l = evconnlistener_new(server->base, NULL, NULL, flags, 0, fd);
    if (l)
        bound = evhttp_bind_listener(server->http, l);
    if (!bound) {
        if (l)
            evconnlistener_free(l);
        else
            fd_close(&fd);
        return err_set(err, ERR_FAILED, "cannot listen on a socket");
    }
    evconnlistener_set_error_cb(l, pause_accepting);
    server->port = server->n_listeners ? server->port : get_port(&own);
    server->listens_beyond_loopback = server->listens_beyond_loopback || !is_loopback(&own);
    server->listeners[server->n_listeners++] = bound;
    return 0;
}

static int set_bind_error(const char *host, uint16_t port, struct err *err)
{
    const char *name = host && *host ? host : "*";
    if (errno == EADDRINUSE) {
        err_set(err, ERR_EXISTS, "%s:%u is in use by another program", name, port);
        return err_hint(err, "choose another port, or port 0 for any free port");
    }
    if (errno == EADDRNOTAVAIL) {
        err_set(err, ERR_NOT_FOUND, "%s is not an address of this machine", name);
        return err_hint(err, "`ip address` lists the addresses; localhost works everywhere");
    }
    return err_sys(err, "cannot listen on %s:%u", name, port);
}

static void set_port(struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
    else if (address->sa_family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
}

/* Listens on one address. Returns the descriptor, or -1 with errno. */
static int listen_on_address(const struct addrinfo *a)
{
    int fd = fd_socket(a->ai_family, NULL);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){1}, sizeof(int));
    if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        fd_close(&fd);
    return fd;
}

static bool is_listed_before(const struct addrinfo *list, const struct addrinfo *a)
{
    for (; list != a; list = list->ai_next)
        if (list->ai_addrlen == a->ai_addrlen && memcmp(list->ai_addr, a->ai_addr, a->ai_addrlen) == 0)
            return true;
    return false;
}

/* Opens a socket for each address of the list, all with one port. Leaves out an address of a family that the
 * machine lacks, if another works. Returns the number of sockets, or 0 with errno and without sockets. */
static size_t open_sockets(struct addrinfo *list, uint16_t port, int ret[HTTPD_LISTENERS_MAX])
{
    int why = EADDRNOTAVAIL;
    size_t n = 0;
    for (struct addrinfo *a = list; a && n < HTTPD_LISTENERS_MAX; a = a->ai_next) {
        set_port(a->ai_addr, port);
        if (is_listed_before(list, a))
            continue;
        int fd = listen_on_address(a);
        if (fd < 0) {
            why = errno;
            if (why == EADDRNOTAVAIL || why == EAFNOSUPPORT)
                continue;
            while (n > 0)
                fd_close(&ret[--n]);
            break;
        }
        const union socket_address own = get_own_address(fd);
        port = get_port(&own);
        set_port(a->ai_addr, port); /* for is_listed_before */
        ret[n++] = fd;
    }
    errno = why;
    return n;
}

/* Takes the sockets, also on failure. */
static int listen_on_sockets(struct httpd *server, int *sockets, size_t n, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = httpd_listen_on(server, sockets[i], err);
        else
            fd_close(&sockets[i]);
    }
    return rc;
}

int httpd_listen(struct httpd *server, const char *host, uint16_t port, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int sockets[HTTPD_LISTENERS_MAX];
    size_t n = 0;
    /* [::] means every address, as in Go. */
    bool everywhere = !host || !*host || strcmp(host, "::") == 0;
    int code = getaddrinfo(everywhere ? NULL : host, "0", &hints, &list);
    if (code != 0) {
        err_set(err, ERR_NOT_FOUND, "cannot resolve %s: %s", host && *host ? host : "*", gai_strerror(code));
        return err_hint(err, "give an address of this machine, for example localhost");
    }
    for (int i = 0; n == 0 && i < (port ? 1 : PORT_ATTEMPTS); i++)
        n = open_sockets(list, port, sockets);
    int rc = n > 0 ? listen_on_sockets(server, sockets, n, err) : set_bind_error(host, port, err);
    freeaddrinfo(list);
    return rc;
}

bool httpd_listens_beyond_loopback(const struct httpd *server)
{
    return server->listens_beyond_loopback;
}

uint16_t httpd_port(const struct httpd *server)
{
    return server->port;
}

size_t httpd_connections(const struct httpd *server)
{
    return server->n_connections;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void stop(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd *server = ctx;
    (void)fd;
    (void)what;
    server->stopping = true;
    server->drain_until = clock_now() + server->options.limits.drain_ms;
    while (server->n_listeners > 0)
        evhttp_del_accept_socket(server->http, server->listeners[--server->n_listeners]);
    connections_close_idle(server);
    if (server->n_connections == 0)
        event_base_loopbreak(server->base);
}

int httpd_run(struct httpd *server, int cancel_fd, struct err *err)
{
    server->cancel = event_new(server->base, cancel_fd, EV_READ, stop, server);
    if (!server->cancel || event_add(server->cancel, NULL) < 0)
        return err_set(err, ERR_FAILED, "the event loop cannot wait for a signal");
    int rc = event_base_dispatch(server->base);
    connections_end(server);
    return rc < 0 ? err_set(err, ERR_FAILED, "the event loop failed") : 0;
}
