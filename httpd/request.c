#include "httpd/request.h"

#include <stdlib.h>
#include <string.h>

#include "httpd/body.h"
#include "base/banned.h"

/* A browser's request has a handful of parameters; upstream's longest link has 30. */
#define PARAMETERS_MAX 256

ptrdiff_t request_decode(const char *p, size_t n, bool plus, char *ret)
{
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (c == '%') {
            int high = i + 2 < n ? text_hex_digit(p[i + 1]) : -1,
                low = i + 2 < n ? text_hex_digit(p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return -1;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c == '\0')
            return -1;
        ret[out++] = c;
    }
    ret[out] = '\0';
    return (ptrdiff_t)out;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static enum httpd_method get_method(const struct evhttp_request *ev)
{
    switch (evhttp_request_get_command(ev)) {
    case EVHTTP_REQ_GET:
    case EVHTTP_REQ_HEAD:
        return HTTPD_GET;
    case EVHTTP_REQ_POST:
        return HTTPD_POST;
    case EVHTTP_REQ_DELETE:
        return HTTPD_DELETE;
    default:
        return 0;
    }
}

struct httpd_request *request_new(struct connection *c, struct evhttp_request *ev)
{
    struct httpd_request *r = calloc(1, sizeof *r);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(ev);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL, *query = uri ? evhttp_uri_get_query(uri) : NULL;
    if (!r)
        return NULL;
    size_t n = path ? strlen(path) : 0;
    r->server = c->server;
    r->connection = c;
    r->ev = ev;
    r->method = get_method(ev);
    r->query_string = query ? query : "";
    r->path = malloc(n + 1);
    if (!r->path || request_decode(path ? path : "", n, false, r->path) < 0) {
        free(r->path);
        r->path = NULL; /* dispatch answers with 400 */
    }
    return r;
}

void request_stop_waiting(struct httpd_request *r)
{
    struct event **const events[] = {&r->ready, &r->late};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (*events[i])
            event_free(*events[i]);
        *events[i] = NULL;
    }
    r->connection->ends_with_client = false;
}

static void free_request(struct httpd_request *r)
{
    request_stop_waiting(r);
    body_free(r->body);
    free(r->path);
    free(r->parameters);
    free(r->parameter_text);
    free(r);
}

void request_abandon(void *request)
{
    struct httpd_request *r = request;
    bool waits = r->ready != NULL;
    struct httpd_wait wait = r->wait;
    /* evhttp leaves a request whose answer is not complete to the server. */
    if (!evhttp_request_get_connection(r->ev))
        evhttp_request_free(r->ev);
    free_request(r);
    if (waits)
        wait.gone(wait.ctx);
}

void request_end(struct httpd_request *r)
{
    connection_end_answer(r->connection);
    free_request(r);
}

/* ---- contents ------------------------------------------------------------------------------------------ */

enum httpd_method httpd_method(const struct httpd_request *request)
{
    return request->method;
}

const char *httpd_path(const struct httpd_request *request)
{
    return request->path;
}

const char *httpd_query_string(const struct httpd_request *request)
{
    return request->query_string;
}

struct str httpd_body(struct httpd_request *request)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(request->ev);
    size_t n = evbuffer_get_length(body);
    const unsigned char *p = n ? evbuffer_pullup(body, -1) : NULL;
    return p ? (struct str){(const char *)p, n} : STR("");
}

const char *httpd_header(const struct httpd_request *request, const char *name)
{
    return evhttp_find_header(evhttp_request_get_input_headers(request->ev), name);
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

/* Decodes NAME=VALUE into *at, which it moves. */
static void add_parameter(struct httpd_request *r, const char *p, size_t n, char **at)
{
    const char *equals = memchr(p, '=', n);
    size_t n_name = equals ? (size_t)(equals - p) : n;
    if (n == 0 || memchr(p, ';', n) || r->n_parameters == PARAMETERS_MAX)
        return;
    char *name = *at;
    ptrdiff_t name_n = request_decode(p, n_name, true, name);
    if (name_n < 0)
        return;
    char *value = name + name_n + 1;
    ptrdiff_t value_n =
        equals ? request_decode(equals + 1, n - n_name - 1, true, value) : request_decode("", 0, true, value);
    if (value_n < 0)
        return;
    r->parameters[r->n_parameters++] = (struct httpd_parameter){name, value};
    *at = value + value_n + 1;
}

static void parse_parameters(struct httpd_request *r)
{
    const char *p = r->query_string;
    size_t n = strlen(p);
    r->parsed = true;
    /* Decoding makes no part longer; each part needs two NULs. */
    r->parameters = calloc(PARAMETERS_MAX, sizeof *r->parameters);
    r->parameter_text = malloc(n + 2 * (size_t)PARAMETERS_MAX + 2);
    if (!r->parameters || !r->parameter_text)
        return;
    for (char *at = r->parameter_text;;) {
        size_t part = strcspn(p, "&");
        add_parameter(r, p, part, &at);
        if (!p[part])
            return;
        p += part + 1;
    }
}

const struct httpd_parameter *httpd_parameters(const struct httpd_request *request, size_t *ret_n)
{
    struct httpd_request *r = (struct httpd_request *)(uintptr_t)request;
    if (!r->parsed)
        parse_parameters(r);
    *ret_n = r->n_parameters;
    return r->parameters;
}

const char *httpd_parameter(const struct httpd_request *request, const char *name)
{
    size_t n;
    const struct httpd_parameter *p = httpd_parameters(request, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, name) == 0)
            return p[i].value;
    return NULL;
}
