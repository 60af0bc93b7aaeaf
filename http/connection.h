/*
 * Sends GET requests to one server, a service behind a gateway, over one kept-alive connection through a Unix
 * socket. Uses no proxy and does not follow redirects; the caller can follow them.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "http/auth.h"
#include "http/failure.h"

struct http_connection;

/* Settings of TLS, version 1.2 or later. The strings may be NULL. */
struct http_tls {
    bool insecure;    /* accept any certificate */
    const char *ca;   /* PEM; NULL: the system's authorities */
    const char *cert; /* the client certificate, PEM; NULL: none */
    const char *key;  /* its key, without a passphrase; NULL: the file of the certificate contains it */
};

/* All pointers must outlive the connection. */
struct http_connection_options {
    const char *socket; /* the Unix socket that every request uses, whatever host its URL names */
    const char *host;   /* the Host header */
    bool https;         /* true: all URLs are https; false: all are http */
    struct http_tls tls;
    struct http_auth auth;
    int cancel_fd;      /* ends a request when it becomes readable; -1: none */
    int64_t timeout_ms; /* the maximum silence of the server, in addition to http_get.timed_ms */
    /* Returns whether the SSH channel to the server is still being opened. That time does not count as
     * silence. */
    bool (*is_opening)(void *ctx);
    void *ctx;
};

int http_connection_new(const struct http_connection_options *options, struct http_connection **ret,
                        struct err *err);
void http_connection_free(struct http_connection *c);

struct http_get {
    int64_t timed_ms; /* the duration of the profile, during which the server sends nothing */
    int64_t limit_ms; /* for the whole request; 0: no limit while data arrives */
    void *ctx;
    /* Receives the body of an answer with status 200. -1 ends the request with err. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
    /* Called about ten times a second during the request; may be NULL. */
    void (*progress)(void *progress_ctx, uint64_t bytes, int64_t elapsed_ms);
    void *progress_ctx;
};

/* The maximum number of bytes that http_response.page stores of an answer whose status is not 200. */
#define HTTP_PAGE_MAX 2048

struct http_response {
    int status; /* 0: no answer */
    char content_type[128];
    /* The beginning of the body if the status is not 200, with masked secrets; it may contain control
     * characters. */
    char page[HTTP_PAGE_MAX + 1];
    uint64_t bytes;        /* bytes passed to `body` */
    int64_t started;       /* UTC milliseconds */
    int64_t first_byte_ms; /* until the first byte of the answer; -1: there was none */
    int64_t duration_ms;
    int64_t lost_ms;    /* HTTP_FAILURE_LOST: the time from the start of the request to the loss */
    int64_t date;       /* the Date header as UTC milliseconds; 0 without this header */
    int64_t date_at;    /* the UTC milliseconds of our own clock when the Date header arrived */
    bool reconnected;   /* the server had closed the connection, and the request opened a new one */
    bool ends_at_close; /* only the end of the connection ends the body: it may be incomplete */
    enum http_failure failure;
};

/* Sends a GET request. Returns 0 for a complete answer of any status, else -1; ret->failure has the reason,
 * and err does not name the server. Fills *ret in every case, as far as the answer is known. */
int http_connection_get(struct http_connection *c, const char *url, const struct http_get *get,
                        struct http_response *ret, struct err *err);

/* Returns the URL to which the last answer redirects, valid until the next request. NULL: it was no
 * redirect. */
const char *http_connection_redirect(const struct http_connection *c);

/* Returns libcurl's text on the last failure. After a failure of TLS it ends with OpenSSL's text. */
const char *http_connection_error_text(const struct http_connection *c);

/* Returns the shortest time from a request to the first byte of its answer in milliseconds, about a round
 * trip. -1: there was no answer yet. */
int64_t http_connection_round_trip(const struct http_connection *c);

/* Call this if the last connection is known to be lost: then the next request does not set `reconnected`. */
void http_connection_expect_new(struct http_connection *c);

#endif
