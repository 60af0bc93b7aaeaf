/*
 * Connections: their number, deadlines and clients.
 *
 * evhttp of libevent 2.1 reports a connection only with its first request. To count connections and to limit
 * the time of their headers, adopt_new finds the evhttp_connection as the argument of its bufferevent's
 * callbacks, right after evhttp has accepted the connection. libevent 2.2 has a callback for this
 * (evhttp_set_newreqcb).
 */
#ifndef HTTPD_CONNECTION_H
#define HTTPD_CONNECTION_H

#include "httpd/server.h"

enum connection_state {
    CONNECTION_IDLE,    /* no byte of the next request, or of the first one, has arrived */
    CONNECTION_HEADERS, /* waits for the end of a request's headers */
    CONNECTION_BODY,    /* waits for the end of a request's body */
    CONNECTION_ANSWER,  /* a handler works, or an answer is sent */
};

struct connection {
    TAILQ_ENTRY(connection) next;
    struct httpd *server;
    struct bufferevent *bev;
    struct evhttp_connection *evcon; /* NULL: evhttp has not created it yet */
    struct evbuffer_cb_entry *input_cb;
    enum connection_state state;
    size_t received;           /* bytes of the present request */
    int64_t began;             /* when the request or the idle time began */
    int64_t deadline;          /* of the state */
    unsigned char client[16];  /* the address; IPv4 mapped into IPv6 */
    bool line_is_empty;        /* the current line of the headers has no byte but a carriage return */
    bool has_nul;              /* the headers have a NUL, at which evhttp would cut them */
    bool ends_with_client;     /* a handler waits, so a client that has closed its end needs no answer */
    bool is_visitor;           /* a request had a valid cookie or token, or the server needs none */
    bool ends;                 /* the connection ends after this answer */
    void (*closed)(void *ctx); /* in CONNECTION_ANSWER: called when the connection closes */
    void *ctx;
};

/* Returns the connection of a request, or NULL. */
struct connection *connection_of(struct httpd *server, struct evhttp_request *request);

/* A request begins its answer, or its answer has been sent. If the connection closes in between, calls
 * `closed`. */
void connection_begin_answer(struct connection *c, void (*closed)(void *ctx), void *ctx);
void connection_end_answer(struct connection *c);

/* Closes the connection after the answer, and ignores further requests of it. */
void connection_end_after_answer(struct connection *c);

#endif
