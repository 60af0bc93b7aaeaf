/* A request, from the end of its body to the end of its answer. */
#ifndef HTTPD_REQUEST_H
#define HTTPD_REQUEST_H

#include "httpd/connection.h"
#include "httpd/server.h"

struct body;

struct httpd_request {
    struct httpd *server;
    struct connection *connection;
    struct evhttp_request *ev;
    enum httpd_method method;
    char *path;               /* decoded */
    const char *query_string; /* points into the request's URI */
    struct httpd_parameter *parameters;
    size_t n_parameters;
    char *parameter_text; /* the decoded names and values */
    bool parsed;          /* the parameters were parsed */
    bool answered;
    struct httpd_wait wait;
    struct event *ready, *late; /* of httpd_wait; NULL: not waiting */
    struct body *body;          /* an answer that is sent piece by piece; NULL: none */
};

/* Creates the request of a connection. NULL: no memory. */
struct httpd_request *request_new(struct connection *c, struct evhttp_request *ev);

/* Ends a request whose connection closes. `request` is a struct httpd_request. */
void request_abandon(void *request);

/* Ends a request whose answer has been sent. */
void request_end(struct httpd_request *r);

/* Ends the wait of httpd_wait, if any, without a call of `gone`. */
void request_stop_waiting(struct httpd_request *r);

/* Decodes percent escapes in n bytes of a URL; `plus`: a plus sign means a blank. Writes at most n bytes and
 * a NUL to `ret`. Returns the number of bytes, or -1 for a bad escape or a NUL. */
ptrdiff_t request_decode(const char *p, size_t n, bool plus, char *ret);

#endif
