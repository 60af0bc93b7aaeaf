/* Checks each request, and gives it to the handler of its route. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include <event2/keyvalq_struct.h>

#include "httpd/access.h"
#include "httpd/connection.h"
#include "httpd/request.h"
#include "base/banned.h"

/* ---- framing ------------------------------------------------------------------------------------------- */

/* The headers that decide where a request ends and whom it is for. */
struct framing {
    unsigned hosts, lengths, encodings;
    bool bad_length; /* a length has another character than digits */
    bool bad_name;   /* a header's name has another character than those of a token */
};

static bool is_token(const char *name)
{
    static const char token[] =
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return *name && name[strspn(name, token)] == '\0';
}

static struct framing read_framing(struct evhttp_request *ev)
{
    struct framing f = {0};
    const struct evkeyval *header;
    TAILQ_FOREACH(header, evhttp_request_get_input_headers(ev), next)
    {
        f.bad_name = f.bad_name || !is_token(header->key);
        f.hosts += strcasecmp(header->key, "Host") == 0;
        f.encodings += strcasecmp(header->key, "Transfer-Encoding") == 0;
        if (strcasecmp(header->key, "Content-Length") == 0) {
            f.lengths++;
            f.bad_length = header->value[strspn(header->value, "0123456789")] != '\0';
        }
    }
    return f;
}

/* Returns whether evhttp reads the body of a request with this method. */
static bool may_have_body(struct evhttp_request *ev)
{
    switch (evhttp_request_get_command(ev)) {
    case EVHTTP_REQ_GET:
    case EVHTTP_REQ_POST:
    case EVHTTP_REQ_PUT:
    case EVHTTP_REQ_PATCH:
    case EVHTTP_REQ_DELETE:
    case EVHTTP_REQ_OPTIONS:
        return true;
    default:
        return false;
    }
}

/* Returns why another program could understand the request in another way than evhttp, or NULL. */
static const char *find_ambiguity(const struct connection *c, struct evhttp_request *ev)
{
    struct framing f = read_framing(ev);
    if (c->has_nul || f.bad_name)
        return c->has_nul ? "the headers have a NUL" : "a header has a bad name";
    if (f.hosts != 1)
        return f.hosts ? "the request has two Host headers" : "the request has no Host header";
    if (f.lengths > 1 || f.bad_length)
        return f.bad_length ? "the length of the request is no number"
                            : "the request states its length twice";
    if (f.lengths && !may_have_body(ev))
        return "a request with this method has no body";
    return NULL;
}

/* ---- routes -------------------------------------------------------------------------------------------- */

static bool route_matches(const struct httpd_route *route, const char *path)
{
    size_t n = strlen(route->path);
    return n == 0 || strcmp(route->path, path) == 0 ||
           (n > 1 && route->path[n - 1] == '/' && strncmp(route->path, path, n) == 0);
}

static const struct httpd_route *find_route(const struct httpd *server, const char *path)
{
    for (const struct httpd_route *route = server->options.routes; route->path; route++)
        if (route_matches(route, path))
            return route;
    return NULL;
}

static void refuse_method(struct httpd_request *r, const struct httpd_route *route)
{
    char allowed[40] = "";
    snprintf(allowed, sizeof allowed, "%s%s%s", route->methods & HTTPD_GET ? ", GET, HEAD" : "",
             route->methods & HTTPD_POST ? ", POST" : "", route->methods & HTTPD_DELETE ? ", DELETE" : "");
    evhttp_add_header(evhttp_request_get_output_headers(r->ev), "Allow", allowed + 2);
    httpd_answer_text(r, 405, "this address accepts only %s\n", allowed + 2);
}

static void call_handler(struct httpd_request *r)
{
    const struct httpd_route *route = find_route(r->server, r->path);
    if (!route)
        httpd_answer_text(r, 404, "404 page not found\n");
    else if (!(route->methods & (unsigned)r->method))
        refuse_method(r, route);
    else if (httpd_body(r).n > route->max_body)
        httpd_answer_text(r, 413, "the body has more than %zu bytes\n", route->max_body);
    else
        route->handle(r, r->server->options.ctx);
}

/* Returns what follows the server's own origin in a target of absolute form (RFC 9112, 3.2.2), else the whole
 * target. */
static const char *skip_origin(const struct httpd *server, const char *target, const char *host)
{
    const char *scheme = server->tls ? "https://" : "http://";
    size_t n = strlen(scheme), n_host = host ? strlen(host) : 0;
    if (target && host && strncasecmp(target, scheme, n) == 0 && strncasecmp(target + n, host, n_host) == 0 &&
        target[n + n_host] == '/')
        return target + n + n_host;
    return target;
}

/* Returns whether the target of a request is a path, and not a URL of a server, with or without scheme. */
static bool is_local_path(const char *target)
{
    if (!target || target[0] != '/' || target[1] == '/')
        return false;
    for (const char *p = target; *p; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
            return false;
    return true;
}

/* Refuses a request and closes its connection, because its end is uncertain. */
static void refuse(struct httpd_request *r, int status, const char *why)
{
    connection_end_after_answer(r->connection);
    httpd_answer_text(r, status, "%s\n", why);
}

static void check_and_call(struct httpd_request *r)
{
    struct evhttp_request *ev = r->ev;
    const char *host = httpd_header(r, "Host"), *why = find_ambiguity(r->connection, ev);
    if (why)
        refuse(r, 400, why);
    else if (httpd_header(r, "Transfer-Encoding"))
        refuse(r, 411, "the request needs a Content-Length");
    else if (!may_have_body(ev) && evhttp_request_get_command(ev) != EVHTTP_REQ_HEAD)
        refuse(r, 501, "the server has no such method");
    else if (!r->path || !is_local_path(skip_origin(r->server, evhttp_request_get_uri(ev), host)))
        refuse(r, 400, "the path is malformed");
    else if (!access_host_is_ours(r->server, host))
        refuse(r, 421, "this server does not have the host name of the request");
    else if (!access_origin_is_ours(r->server, httpd_header(r, "Origin"), host))
        refuse(r, 403, "a page of another site sent this request");
    else if ((r->connection->is_visitor = access_is_visitor(r)))
        call_handler(r);
}

void dispatch(struct evhttp_request *ev, void *ctx)
{
    struct httpd *server = ctx;
    struct connection *c = connection_of(server, ev);
    struct httpd_request *r = c && !c->ends ? request_new(c, ev) : NULL;
    if (!r) {
        evhttp_connection_free(evhttp_request_get_connection(ev));
        return;
    }
    connection_begin_answer(c, request_abandon, r);
    check_and_call(r);
}
