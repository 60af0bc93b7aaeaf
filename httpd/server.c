#include "httpd/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
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
#define REOPEN_MS 500

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
    EVP_PKEY *key = rc == 0 ? PEM_read_bio_PrivateKey(key_pem, NULL, NULL, NULL) : NULL;
    if (rc == 0 && (!key || SSL_CTX_use_PrivateKey(tls, key) != 1 || SSL_CTX_check_private_key(tls) != 1))
        rc = err_set(err, ERR_FAILED, "the private key is not PEM, or not that of the certificate");
    EVP_PKEY_free(key);
    BIO_free(chain);
    BIO_free(key_pem);
    ERR_clear_error();
    return rc;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

/* libevent prints its warnings otherwise. */
static void ignore_message(int severity, const char *message)
{
    (void)severity;
    (void)message;
}

static int copy_options(struct httpd *server, const struct httpd_options *options, struct err *err)
{
    server->options = *options;
    server->token = options->token ? strdup(options->token) : NULL;
    server->title = strdup(options->title ? options->title : "");
    if ((options->token && !server->token) || !server->title)
        return err_nomem(err);
    for (const char *const *name = options->host_names; name && *name; name++)
        if (strlist_add(&server->host_names, *name, err) < 0)
            return -1;
    return 0;
}

static int set_up(struct httpd *server, struct err *err)
{
    const struct httpd_limits *limits = &server->options.limits;
    const struct timeval stall = {.tv_sec = limits->stall_ms / 1000,
                                  .tv_usec = limits->stall_ms % 1000 * 1000};
    size_t max_body = 4096; /* the form of the token page */
    for (const struct httpd_route *route = server->options.routes; route->path; route++)
        max_body = route->max_body > max_body ? route->max_body : max_body;
    event_set_log_callback(ignore_message);
    server->base = event_base_new();
    server->http = server->base ? evhttp_new(server->base) : NULL;
    if (!server->http)
        return err_nomem(err);
    evhttp_set_gencb(server->http, dispatch, server);
    evhttp_set_max_headers_size(server->http, (ev_ssize_t)limits->header_bytes);
    evhttp_set_max_body_size(server->http, (ev_ssize_t)max_body);
    evhttp_set_timeout_tv(server->http, &stall);
    /* All methods, so that dispatch answers them; TRACE and CONNECT have no route. */
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
    struct event *const events[] = {server->accepted, server->tick, server->reopen, server->cancel};
    if (server->http)
        evhttp_free(server->http); /* also frees the listeners */
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

/* accept(2) failed, for example because no descriptor is left. Pauses, because it would fail again at once.
 */
static void pause_accepting(struct evconnlistener *listener, void *ctx)
{
    struct httpd *server = ctx;
    const struct timeval pause = {.tv_usec = REOPEN_MS * 1000};
    (void)listener;
    for (size_t i = 0; i < server->n_listeners; i++)
        if (server->listeners[i])
            evconnlistener_disable(server->listeners[i]);
    event_add(server->reopen, &pause);
}

int httpd_listen_on(struct httpd *server, int fd, struct err *err)
{
    const unsigned flags = LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE;
    struct evconnlistener *l = NULL;
    if (server->n_listeners < HTTPD_LISTENERS_MAX && evutil_make_socket_nonblocking(fd) == 0)
        l = evconnlistener_new(server->base, NULL, NULL, flags, 0, fd);
    if (!l || !evhttp_bind_listener(server->http, l)) {
        if (l)
            evconnlistener_free(l);
        else
            fd_close(&fd);
        return err_set(err, ERR_FAILED, "too many addresses to listen on");
    }
    evconnlistener_set_error_cb(l, pause_accepting);
    server->listeners[server->n_listeners++] = l;
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

/* Returns the port of a listening socket. */
static uint16_t get_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
    } own = {.storage = {0}};
    socklen_t n = sizeof own;
    if (getsockname(fd, &own.any, &n) < 0)
        return 0;
    return ntohs(own.any.sa_family == AF_INET6 ? own.v6.sin6_port : own.v4.sin_port);
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

/* Listens on each address of the list. An address of a family that the machine lacks is left out, if another
 * works. */
static int listen_on_all(struct httpd *server, struct addrinfo *list, uint16_t port, struct err *err)
{
    int last_errno = EADDRNOTAVAIL;
    size_t before = server->n_listeners;
    for (struct addrinfo *a = list; a; a = a->ai_next) {
        set_port(a->ai_addr, port);
        int fd = listen_on_address(a);
        if (fd < 0 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT)) {
            last_errno = errno;
            continue;
        }
        if (fd < 0)
            return -1;
        port = get_port(fd);
        if (httpd_listen_on(server, fd, err) < 0)
            return -1;
        server->port = server->port ? server->port : port;
    }
    errno = last_errno;
    return server->n_listeners > before ? 0 : -1;
}

int httpd_listen(struct httpd *server, const char *host, uint16_t port, struct err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    struct err why = ERR_INIT;
    int code = getaddrinfo(host && *host ? host : NULL, "0", &hints, &list);
    if (code != 0) {
        err_set(err, ERR_NOT_FOUND, "cannot resolve %s: %s", host && *host ? host : "*", gai_strerror(code));
        return err_hint(err, "give an address of this machine, for example localhost");
    }
    int rc = listen_on_all(server, list, port, &why);
    if (rc < 0 && why.kind == ERR_NONE)
        set_bind_error(host, port, &why);
    freeaddrinfo(list);
    if (rc < 0 && err)
        *err = why;
    return rc;
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
    for (size_t i = 0; i < server->n_listeners; i++)
        evconnlistener_disable(server->listeners[i]);
    connections_close_idle(server);
    if (server->n_connections == 0)
        event_base_loopbreak(server->base);
}

int httpd_run(struct httpd *server, int cancel_fd, struct err *err)
{
    server->cancel = event_new(server->base, cancel_fd, EV_READ, stop, server);
    if (!server->cancel || event_add(server->cancel, NULL) < 0)
        return err_nomem(err);
    int rc = event_base_dispatch(server->base);
    connections_end(server);
    return rc < 0 ? err_set(err, ERR_FAILED, "the event loop failed") : 0;
}
