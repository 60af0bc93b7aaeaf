#include "httpd/connection.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/bufferevent_ssl.h>

#include "base/banned.h"

#define TICK_MS 250

/* ---- accepting ----------------------------------------------------------------------------------------- */

/* Creates the bufferevent of a connection that evhttp accepts, and notes it for adopt_new. If OpenSSL has no
 * memory, the connection gets none of TLS, and adopt closes it. */
static struct bufferevent *create_bufferevent(struct event_base *base, void *ctx)
{
    struct httpd *server = ctx;
    struct connection *c = calloc(1, sizeof *c);
    SSL *tls = c && server->tls ? SSL_new(server->tls) : NULL;
    if (!c)
        return NULL;
    c->server = server;
    c->ends = server->tls && !tls;
    c->bev = tls ? bufferevent_openssl_socket_new(base, -1, tls, BUFFEREVENT_SSL_ACCEPTING,
                                                  BEV_OPT_CLOSE_ON_FREE) /* frees tls if it fails */
                 : bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!c->bev) {
        free(c);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&server->new_connections, c, next);
    event_active(server->adopt, 0, 0);
    return c->bev;
}

static void get_client(evutil_socket_t fd, unsigned char ret[16])
{
    union socket_address peer = {.storage = {0}};
    socklen_t n = sizeof peer;
    memset(ret, 0, 16);
    if (getpeername(fd, &peer.any, &n) < 0)
        return;
    if (peer.any.sa_family == AF_INET6) {
        memcpy(ret, &peer.v6.sin6_addr, 16);
    } else if (peer.any.sa_family == AF_INET) {
        ret[10] = ret[11] = 0xff;
        memcpy(ret + 12, &peer.v4.sin_addr, 4);
    }
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *ctx);

/* Counts the first n bytes of the connection's next request, in place of those of the last one. */
static void count_received(struct connection *c, size_t n)
{
    c->server->arriving = c->server->arriving - c->received + n;
    c->received = n;
}

static void on_close(struct evhttp_connection *evcon, void *ctx)
{
    struct connection *c = ctx;
    (void)evcon;
    /* A read that ends the connection reports its bytes to on_input after this. */
    if (c->input_cb)
        evbuffer_remove_cb_entry(bufferevent_get_input(c->bev), c->input_cb);
    TAILQ_REMOVE(&c->server->connections, c, next);
    count_received(c, 0);
    c->server->n_connections--;
    if (c->closed)
        c->closed(c->ctx);
    if (c->server->stopping && c->server->n_connections == 0)
        event_base_loopbreak(c->server->base);
    free(c);
}

static size_t count_of_client(const struct httpd *server, const unsigned char client[16])
{
    const struct connection *c;
    size_t n = 0;
    TAILQ_FOREACH(c, &server->connections, next)
    {
        n += memcmp(c->client, client, 16) == 0;
    }
    return n;
}

/* Returns the connection that has to give way to a new one: the oldest whose client has not shown that it may
 * visit the server, else the one that has been idle for longest, or NULL. `client`: only connections of this
 * address; NULL: of all. */
static struct connection *find_dispensable(const struct httpd *server, const unsigned char *client)
{
    struct connection *c, *idle = NULL;
    TAILQ_FOREACH(c, &server->connections, next)
    {
        if (client && memcmp(c->client, client, 16) != 0)
            continue;
        if (!c->is_visitor)
            return c;
        if (c->state == CONNECTION_IDLE && (!idle || c->began < idle->began))
            idle = c;
    }
    return idle;
}

/* Makes room for a connection of this client. Returns false if nothing can give way to it. */
static bool make_room(struct httpd *server, const unsigned char client[16])
{
    const struct httpd_limits *limits = &server->options.limits;
    bool client_is_full = count_of_client(server, client) >= limits->per_client;
    if (!client_is_full && server->n_connections < limits->connections)
        return true;
    struct connection *c = find_dispensable(server, client_is_full ? client : NULL);
    if (c)
        evhttp_connection_free(c->evcon);
    return c != NULL;
}

/* Counts a connection that evhttp has accepted, or closes it if it is one too many. */
static void adopt(struct httpd *server, struct connection *c)
{
    const struct httpd_limits *limits = &server->options.limits;
    const struct timeval stall = {.tv_sec = limits->stall_ms / 1000,
                                  .tv_usec = limits->stall_ms % 1000 * 1000};
    void *evcon = NULL;
    bufferevent_getcb(c->bev, NULL, NULL, NULL, &evcon);
    if (!evcon) { /* evhttp had no memory, and has freed the connection */
        free(c);
        return;
    }
    c->evcon = evcon;
    c->state = CONNECTION_IDLE;
    c->began = clock_now();
    c->deadline = c->began + limits->header_ms;
    get_client(bufferevent_getfd(c->bev), c->client);
    bool refused = c->ends || server->stopping || !make_room(server, c->client);
    TAILQ_INSERT_TAIL(&server->connections, c, next);
    server->n_connections++;
    evhttp_connection_set_closecb(c->evcon, on_close, c);
    /* Only for writing: the deadlines of reading are on_tick's. */
    bufferevent_set_timeouts(c->bev, NULL, &stall);
    c->input_cb = evbuffer_add_cb(bufferevent_get_input(c->bev), on_input, c);
    if (refused || !c->input_cb)
        evhttp_connection_free(c->evcon);
}

/* Runs in the same turn of the event loop as create_bufferevent, so no connection has closed since then. */
static void adopt_new(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd *server = ctx;
    struct connection *c;
    (void)fd;
    (void)what;
    while ((c = TAILQ_FIRST(&server->new_connections))) {
        TAILQ_REMOVE(&server->new_connections, c, next);
        adopt(server, c);
    }
}

/* ---- states -------------------------------------------------------------------------------------------- */

/* Searches the next bytes of a request's headers for the empty line at their end. */
static bool ends_headers(struct connection *c, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        c->has_nul = c->has_nul || p[i] == '\0';
        if (p[i] == '\n' && c->line_is_empty)
            return true;
        if (p[i] != '\r')
            c->line_is_empty = p[i] == '\n';
    }
    return false;
}

/* Reads the last n bytes of the input as a part of a request's headers. */
static void scan_headers(struct connection *c, struct evbuffer *input, size_t n)
{
    enum { PIECES = 64 };
    struct evbuffer_ptr at;
    struct evbuffer_iovec pieces[PIECES];
    if (evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - n, EVBUFFER_PTR_SET) < 0)
        return;
    int n_pieces = evbuffer_peek(input, -1, &at, pieces, PIECES);
    for (int i = 0; i < n_pieces && i < PIECES; i++)
        if (ends_headers(c, pieces[i].iov_base, pieces[i].iov_len)) {
            c->state = CONNECTION_BODY;
            c->deadline = c->began + c->server->options.limits.request_ms;
            return;
        }
}

static void begin_headers(struct connection *c)
{
    c->state = CONNECTION_HEADERS;
    c->line_is_empty = c->has_nul = false;
    c->began = clock_now();
    c->deadline = c->began + c->server->options.limits.header_ms;
}

/* Ends a connection at the next turn of the event loop, without reading more. */
static void end_soon(struct connection *c)
{
    bufferevent_disable(c->bev, EV_READ);
    c->ends = true;
    c->deadline = 0;
}

/* Ends the connection with the largest request that has not arrived yet, so that clients with large requests
 * keep nobody out. */
static void end_largest(struct httpd *server)
{
    struct connection *c, *largest = NULL;
    TAILQ_FOREACH(c, &server->connections, next)
    {
        if (c->state != CONNECTION_ANSWER && !c->ends && (!largest || c->received > largest->received))
            largest = c;
    }
    if (!largest)
        return;
    count_received(largest, 0);
    end_soon(largest);
}

/* Answers a request whose headers are too long. evhttp's own answer has no sentence for the reader. */
static void refuse_long_headers(struct connection *c)
{
    char text[120];
    int n =
        snprintf(text, sizeof text, "the address and the headers of the request have more than %zu bytes\n",
                 c->server->options.limits.header_bytes);
    evbuffer_add_printf(bufferevent_get_output(c->bev),
                        "HTTP/1.1 431 Request Header Fields Too Large\r\n"
                        "Content-Type: text/plain; charset=utf-8\r\n"
                        "Content-Security-Policy: " HTTPD_CLOSED_POLICY "\r\n"
                        "X-Content-Type-Options: nosniff\r\n"
                        "Cache-Control: no-store\r\n"
                        "Connection: close\r\n"
                        "Content-Length: %d\r\n\r\n%s",
                        n, text);
    /* evhttp, which does not write while it reads a request, has no part in this answer. */
    bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
    bufferevent_enable(c->bev, EV_WRITE);
    end_soon(c);
}

/* Called after each read. */
static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *ctx)
{
    struct connection *c = ctx;
    if (info->n_added == 0 || c->ends)
        return;
    /* evhttp does not limit what arrives during an answer, and the length of a line within a body. */
    if (evbuffer_get_length(input) > c->server->max_input) {
        end_soon(c);
        return;
    }
    count_received(c, c->received + info->n_added);
    if (c->server->arriving > c->server->options.limits.arriving_bytes)
        end_largest(c->server);
    if (c->ends)
        return;
    if (c->state == CONNECTION_IDLE)
        begin_headers(c);
    if (c->state == CONNECTION_HEADERS)
        scan_headers(c, input, info->n_added);
    if (c->state == CONNECTION_HEADERS && c->received > c->server->options.limits.header_bytes)
        refuse_long_headers(c);
}

struct connection *connection_of(struct httpd *server, struct evhttp_request *request)
{
    struct evhttp_connection *evcon = evhttp_request_get_connection(request);
    struct bufferevent *bev = evcon ? evhttp_connection_get_bufferevent(evcon) : NULL;
    struct connection *c;
    TAILQ_FOREACH(c, &server->connections, next)
    {
        if (c->bev == bev)
            return c;
    }
    return NULL;
}

void connection_begin_answer(struct connection *c, void (*closed)(void *ctx), void *ctx)
{
    c->state = CONNECTION_ANSWER;
    c->deadline = CLOCK_NEVER;
    c->closed = closed;
    c->ctx = ctx;
}

void connection_end_answer(struct connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->bev);
    size_t n = evbuffer_get_length(input);
    c->closed = NULL;
    c->state = CONNECTION_IDLE;
    c->began = clock_now();
    c->deadline = c->ends || c->server->stopping ? 0 : c->began + c->server->options.limits.idle_ms;
    count_received(c, n);
    if (n == 0 || c->ends)
        return;
    /* The next request has arrived with this one, or a part of it. */
    begin_headers(c);
    scan_headers(c, input, n);
}

void connection_end_after_answer(struct connection *c)
{
    c->ends = true;
}

void connections_close_idle(struct httpd *server)
{
    struct connection *c = TAILQ_FIRST(&server->connections), *next;
    for (; c; c = next) {
        next = TAILQ_NEXT(c, next);
        if (c->state == CONNECTION_IDLE)
            evhttp_connection_free(c->evcon);
    }
}

/* ---- deadlines ----------------------------------------------------------------------------------------- */

/* Returns whether the client has closed its end. Input may still be unread. */
static bool client_has_left(const struct connection *c)
{
    struct pollfd p = {.fd = bufferevent_getfd(c->bev), .events = POLLRDHUP};
    return poll(&p, 1, 0) > 0;
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd *server = ctx;
    int64_t now = clock_now();
    (void)fd;
    (void)what;
    struct connection *c = TAILQ_FIRST(&server->connections), *next;
    for (; c; c = next) {
        next = TAILQ_NEXT(c, next);
        if (now >= c->deadline || (c->ends_with_client && client_has_left(c)))
            evhttp_connection_free(c->evcon);
    }
    if (server->stopping && now >= server->drain_until)
        event_base_loopbreak(server->base);
    /* Listeners pause after accept(2) has failed, because it would fail again at once. */
    for (size_t i = 0; i < server->n_listeners; i++)
        evconnlistener_enable(evhttp_bound_socket_get_listener(server->listeners[i]));
}

int connections_begin(struct httpd *server, struct err *err)
{
    const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->new_connections);
    server->adopt = event_new(server->base, -1, 0, adopt_new, server);
    server->tick = event_new(server->base, -1, EV_PERSIST, on_tick, server);
    if (!server->adopt || !server->tick || event_add(server->tick, &tick) < 0)
        return err_nomem(err);
    evhttp_set_bevcb(server->http, create_bufferevent, server);
    return 0;
}

void connections_end(struct httpd *server)
{
    struct connection *c;
    server->stopping = true;
    adopt_new(-1, 0, server); /* closes them */
    while ((c = TAILQ_FIRST(&server->connections)))
        evhttp_connection_free(c->evcon);
}

void connections_release(struct httpd *server)
{
    struct connection *c;
    while ((c = TAILQ_FIRST(&server->new_connections))) {
        TAILQ_REMOVE(&server->new_connections, c, next);
        free(c);
    }
}
