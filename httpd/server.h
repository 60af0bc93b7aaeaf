/* The server's state. Private to httpd. */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <openssl/ssl.h>

#include "httpd/httpd.h"

struct connection;

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage storage;
};

TAILQ_HEAD(connection_list, connection);

/* The Content-Security-Policy of an answer that loads nothing. */
#define HTTPD_CLOSED_POLICY "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define HTTPD_LISTENERS_MAX 8
#define HTTPD_COOKIE_BYTES 32 /* random bytes in a cookie, written in hexadecimal */
#define HTTPD_FORM_MAX 4096   /* the largest body with the form of the token page */

struct httpd {
    struct httpd_options options; /* its strings are owned */
    struct strlist host_names;
    char *token, *title;
    char cookie_name[32], cookie_value[2 * HTTPD_COOKIE_BYTES + 1];
    SSL_CTX *tls; /* NULL: plain HTTP */

    struct event_base *base;
    struct evhttp *http;
    struct evhttp_bound_socket *listeners[HTTPD_LISTENERS_MAX];
    size_t n_listeners;
    uint16_t port;
    struct event *adopt; /* runs adopt_new after connections were accepted (connection.c) */
    struct event *tick;  /* enforces deadlines */
    struct event *cancel;
    struct connection_list connections, new_connections;
    atomic_size_t n_connections;
    size_t max_input; /* the bytes that a connection may buffer */
    size_t arriving;  /* bytes of requests that are not answered yet */
    bool listens_beyond_loopback;
    bool stopping;
    int64_t drain_until;
};

/* connection.c */
int connections_begin(struct httpd *server, struct err *err);
void connections_end(struct httpd *server);
/* Frees what remains of connections that were accepted but never adopted. Call it after evhttp_free. */
void connections_release(struct httpd *server);
/* Closes the idle connections. */
void connections_close_idle(struct httpd *server);

/* dispatch.c: answers a request that evhttp has parsed. */
void dispatch(struct evhttp_request *request, void *server);

#endif
