/* The server's state. Private to httpd. */
#ifndef HTTPD_SERVER_H
#define HTTPD_SERVER_H

#include <stdatomic.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include <openssl/ssl.h>

#include "httpd/httpd.h"

struct connection;
TAILQ_HEAD(connection_list, connection);

#define HTTPD_LISTENERS_MAX 8
/* The bytes of a token in a cookie, before base64. */
#define HTTPD_COOKIE_BYTES 32

struct httpd {
    struct httpd_options options; /* its strings are owned */
    struct strlist host_names;
    char *token, *title;
    char cookie_name[32], cookie_value[64];
    SSL_CTX *tls; /* NULL: plain HTTP */

    struct event_base *base;
    struct evhttp *http;
    struct evconnlistener *listeners[HTTPD_LISTENERS_MAX];
    size_t n_listeners;
    uint16_t port;
    struct event *accepted; /* runs after connections were accepted (connection.c) */
    struct event *tick;     /* enforces deadlines */
    struct event *cancel;
    struct event *reopen; /* accepts again after the process ran out of descriptors */
    struct connection_list connections, new_connections;
    atomic_size_t n_connections;
    bool stopping;
    int64_t drain_until;
};

/* connection.c */
int connections_begin(struct httpd *server, struct err *err);
void connections_end(struct httpd *server);
/* Closes the idle connections. */
void connections_close_idle(struct httpd *server);

/* dispatch.c: answers a request that evhttp has parsed. */
void dispatch(struct evhttp_request *request, void *server);

#endif
