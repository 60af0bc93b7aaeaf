#include "httpd/connection.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/bufferevent_ssl.h>

#include "base/banned.h"

#define TICK_MS 250

/* ---- accepting ----------------------------------------------------------------------------------------- */

/* Creates the bufferevent of a connection that evhttp accepts, and notes it for adopt_new. */
static struct bufferevent *create_bufferevent(struct event_base *base, void *ctx)
{
    struct httpd *server = ctx;
    struct connection *c = calloc(1, sizeof *c);
    SSL *tls = c && server->tls ? SSL_new(server->tls) : NULL;
    if (!c || (server->tls && !tls)) {
        free(c);
        return NULL;
    }
    c->server = server;
    c->bev =
        tls ? bufferevent_openssl_socket_new(base, -1, tls, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE)
            : bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!c->bev) {
        SSL_free(tls);
        free(c);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&server->new_connections, c, next);
    event_active(server->accepted, 0, 0);
    return c->bev;
}

static void get_client(evutil_socket_t fd, unsigned char ret[16])
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage storage;
    } peer = {.storage = {0}};
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

static void on_close(struct evhttp_connection *evcon, void *ctx)
{
    struct connection *c = ctx;
    (void)evcon;
    TAILQ_REMOVE(&c->server->connections, c, next);
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
    n += memcmp(c->client, client, 16) == 0;
    return n;
}

/* Closes the connection that has been idle for longest. Returns false if none is idle. */
static bool close_longest_idle(struct httpd *server)
{
    struct connection *c, *oldest = NULL;
    TAILQ_FOREACH(c, &server->connections, next)
    if (c->state == CONNECTION_IDLE && (!oldest || c->deadline < oldest->deadline))
        oldest = c;
    if (oldest)
        evhttp_connection_free(oldest->evcon);
    return oldest != NULL;
}

/* Counts a connection that evhttp has accepted, or closes it if it is one too many. */
static void adopt(struct httpd *server, struct connection *c)
{
    const struct httpd_limits *limits = &server->options.limits;
    void *evcon = NULL;
    bufferevent_getcb(c->bev, NULL, NULL, NULL, &evcon);
    c->evcon = evcon;
    c->state = CONNECTION_HEADERS;
    c->line_is_empty = false;
    c->began = clock_now();
    c->deadline = c->began + limits->header_ms;
    get_client(bufferevent_getfd(c->bev), c->client);
    size_t n_of_client = count_of_client(server, c->client);
    bool refused = server->stopping || n_of_client >= limits->per_client ||
                   (server->n_connections >= limits->connections && !close_longest_idle(server));
    TAILQ_INSERT_TAIL(&server->connections, c, next);
    server->n_connections++;
    evhttp_connection_set_closecb(c->evcon, on_close, c);
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
        if (p[i] == '\n' && c->line_is_empty)
            return true;
        if (p[i] != '\r')
            c->line_is_empty = p[i] == '\n';
    }
    return false;
}

static void begin_headers(struct connection *c)
{
    c->state = CONNECTION_HEADERS;
    c->line_is_empty = false;
    c->began = clock_now();
    c->deadline = c->began + c->server->options.limits.header_ms;
}

/* Called after each read. */
static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *ctx)
{
    struct connection *c = ctx;
    if (info->n_added == 0)
        return;
    if (c->state == CONNECTION_IDLE)
        begin_headers(c);
    if (c->state != CONNECTION_HEADERS)
        return;
    struct evbuffer_ptr at;
    struct evbuffer_iovec pieces[16];
    if (evbuffer_ptr_set(input, &at, evbuffer_get_length(input) - info->n_added, EVBUFFER_PTR_SET) < 0)
        return;
    int n = evbuffer_peek(input, -1, &at, pieces, (int)(sizeof pieces / sizeof *pieces));
    for (int i = 0; i < n && i < (int)(sizeof pieces / sizeof *pieces); i++)
        if (ends_headers(c, pieces[i].iov_base, pieces[i].iov_len)) {
            c->state = CONNECTION_BODY;
            c->deadline = c->began + c->server->options.limits.request_ms;
            return;
        }
}

struct connection *connection_of(struct httpd *server, struct evhttp_request *request)
{
    struct evhttp_connection *evcon = evhttp_request_get_connection(request);
    struct bufferevent *bev = evcon ? evhttp_connection_get_bufferevent(evcon) : NULL;
    struct connection *c;
    TAILQ_FOREACH(c, &server->connections, next)
    if (c->bev == bev)
        return c;
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
    c->closed = NULL;
    c->state = CONNECTION_IDLE;
    c->deadline = clock_now() + c->server->options.limits.idle_ms;
    /* The next request may have arrived with this one. */
    if (evbuffer_get_length(bufferevent_get_input(c->bev)) > 0)
        begin_headers(c);
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

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd *server = ctx;
    int64_t now = clock_now();
    (void)fd;
    (void)what;
    struct connection *c = TAILQ_FIRST(&server->connections), *next;
    for (; c; c = next) {
        next = TAILQ_NEXT(c, next);
        if (now >= c->deadline)
            evhttp_connection_free(c->evcon);
    }
    if (server->stopping && now >= server->drain_until)
        event_base_loopbreak(server->base);
}

static void open_again(evutil_socket_t fd, short what, void *ctx)
{
    struct httpd *server = ctx;
    (void)fd;
    (void)what;
    for (size_t i = 0; i < server->n_listeners; i++)
        if (server->listeners[i])
            evconnlistener_enable(server->listeners[i]);
}

int connections_begin(struct httpd *server, struct err *err)
{
    const struct timeval tick = {.tv_usec = TICK_MS * 1000};
    TAILQ_INIT(&server->connections);
    TAILQ_INIT(&server->new_connections);
    server->accepted = event_new(server->base, -1, 0, adopt_new, server);
    server->tick = event_new(server->base, -1, EV_PERSIST, on_tick, server);
    server->reopen = event_new(server->base, -1, 0, open_again, server);
    if (!server->accepted || !server->tick || !server->reopen || event_add(server->tick, &tick) < 0)
        return err_nomem(err);
    evhttp_set_bevcb(server->http, create_bufferevent, server);
    return 0;
}

void connections_end(struct httpd *server)
{
    struct connection *c;
    while ((c = TAILQ_FIRST(&server->connections)))
        evhttp_connection_free(c->evcon);
}
