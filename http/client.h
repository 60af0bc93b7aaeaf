/* The internals of the client of http.h: attempt.c sends a request once; in a dry run, dry_run.c describes
 * the request instead. Only this folder includes this header. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "http/exchange.h"

struct http {
    struct http_handle handle;
    struct curl_slist *auth_header; /* has a copy of the token; NULL: no token */
    char *base_url;                 /* http_options.url */
    const char *ca;
    const struct secret *token;
    struct http_options options;
    int64_t silence_ms, max_wait_ms;
};

/* The destination of one attempt. */
struct http_destination {
    char *url;
    bool without_token; /* a redirect has led to another origin */
};

/* Sends the request once. The caller initialises ret->body. This function sets the other members. */
int http_attempt(struct http *h, const struct http_request *request,
                 const struct http_destination *destination, struct http_answer *ret, struct err *err);

/* Used instead of http_attempt in a dry run: reports the request, and copies its dry_answer to ret->body. */
int http_describe_request(const struct http *h, const struct http_request *request, struct http_answer *ret,
                          struct err *err);

/* Sets the error for any failure except one of a callback (HTTP_FAILURE_CALLBACK). Returns -1. */
int http_set_error(const struct http *h, enum http_failure failure, struct err *err);

/* Wipes and frees headers, one of which has the token. */
void http_headers_free(struct curl_slist *headers);

#endif
