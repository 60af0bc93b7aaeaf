/*
 * GET requests to one server over one kept-alive connection through a socket: a service behind a gateway. It
 * uses no proxy and follows no redirects; the caller decides on them.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "http/auth.h"
#include "http/failure.h"

struct http_connection;

/* TLS 1.2 or later. The members are the caller's and may be NULL. */
struct http_tls {
    bool insecure;    /* accept any certificate */
    const char *ca;   /* PEM; NULL: the system's authorities */
    const char *cert; /* ours, PEM */
    const char *key;  /* its key, without a passphrase; NULL: in the file of the certificate */
};

/* All pointers must outlive the connection. */
struct http_connection_options {
    const char *socket; /* a Unix socket that leads to the server, whatever the URLs contain */
    const char *host;   /* the Host header */
    bool https;         /* URLs have this scheme, and no other */
    struct http_tls tls;
    struct http_auth auth;
    int cancel_fd;      /* readable: ends a request; -1: none */
    int64_t timeout_ms; /* of silence, beyond `timed_ms` of a request */
    /* Returns whether the path to the server is still opening: that time does not count as silence. */
    bool (*opens)(void *ctx);
    void *ctx;
};

int http_connection_new(const struct http_connection_options *options, struct http_connection **ret,
                        struct err *err);
void http_connection_free(struct http_connection *c);

struct http_get {
    int64_t timed_ms; /* how long the server is silent by design */
    int64_t limit_ms; /* for the whole request; 0: no limit while data arrives */
    void *ctx;
    /* Receives the body of a 200; -1 ends the request with err. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
    /* Called about ten times a second while it runs; may be NULL. */
    void (*progress)(void *progress_ctx, uint64_t bytes, int64_t elapsed_ms);
    void *progress_ctx;
};

/* The most bytes of another answer's body that are kept. */
#define HTTP_PAGE_MAX 2048

struct http_response {
    int status; /* 0: no answer */
    char content_type[128];
    char page[HTTP_PAGE_MAX + 1]; /* the beginning of a body that did not go to `body`; not printable, secrets
                                     masked */
    uint64_t bytes;               /* bytes passed to `body` */
    int64_t started;              /* UTC */
    int64_t first_ms;             /* until the first byte of the answer; -1: there was none */
    int64_t duration_ms;
    int64_t lost_ms;  /* of HTTP_FAILURE_LOST: the time into the request */
    int64_t date;     /* the Date header as UTC milliseconds; 0 without one */
    int64_t date_at;  /* our clock at its arrival */
    bool reconnected; /* the request needed a new connection, though we had not closed the last one */
    bool open_end;    /* only the end of the connection ends the body, so libcurl cannot check that it is
                         complete */
    enum http_failure failure;
};

/*
 * Sends a GET request. -1 if there was no complete answer, with an error that names no server:
 * ret->failure has the reason, for a better error. An answer of any status is a success. Fills *ret in every
 * case as far as possible.
 */
int http_connection_get(struct http_connection *c, const char *url, const struct http_get *get,
                        struct http_response *ret, struct err *err);

/* Returns the URL to which the last answer redirects, until the next request; NULL: it does not. */
const char *http_connection_redirect(const struct http_connection *c);

/* Returns the last part of libcurl's text on the last request's failure, for a failure of TLS: OpenSSL's
 * text.
 */
const char *http_connection_words(const struct http_connection *c);

/* Returns the shortest time until an answer began: after a small request about a round trip. -1: no answer
 * yet. */
int64_t http_connection_round_trip(const struct http_connection *c);

/* Excludes the next connection from `reconnected`, because the caller knows that the last one is lost. */
void http_connection_expect_new(struct http_connection *c);

#endif
