/*
 * The event loop that all clients of this folder share. It sends one request over a libcurl handle and
 * receives the answer. It counts bytes, enforces deadlines and limits, waits for the cancel descriptor, and
 * returns the reason of a failure. A client sets the handle's options first, and writes the error message.
 * Only this folder includes this header.
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <curl/curl.h>

#include "http/http.h"

#define HTTP_HEADERS_MAX (256u << 10)
/* An exchange that moves fewer bytes than this within `trickle_ms` has stalled. */
#define HTTP_TRICKLE_BYTES 1024
#define HTTP_COSTLY_TEXT                                                                                     \
    "receiving the answer took too much processor time: it comes in too many small pieces"

struct http_exchange;

struct http_handle {
    CURL *easy;
    CURLM *multi;
    struct http_exchange *running;    /* NULL: no exchange is running */
    int64_t cpu_left;                 /* the CPU time that further exchanges may take, in ns */
    char error_text[CURL_ERROR_SIZE]; /* libcurl's text on the last failure; not printable */
};

/* Sets the options that every client needs. http_handle_release is valid after a failure too. */
int http_handle_init(struct http_handle *h, struct err *err);
void http_handle_release(struct http_handle *h);

struct http_exchange {
    struct http_handle *handle;
    int cancel_fd;      /* -1: none */
    int64_t limit_ms;   /* limit of the complete exchange; 0: none */
    int64_t silence_ms; /* limit of the time without a byte of the answer, in addition to timed_ms; 0: none */
    /* Limit of the time with fewer bytes than HTTP_TRICKLE_BYTES, in addition to timed_ms; 0: none. If
     * silence_ms is set, this time begins with the first byte of the answer. */
    int64_t trickle_ms;
    int64_t timed_ms; /* the duration of the profile, during which the server sends nothing */
    void *ctx;
    /* Receives a header line. This and the next three callbacks may be NULL. */
    void (*header)(void *ctx, const char *p, size_t n);
    /* Receives a piece of the body. -1 ends the exchange, with HTTP_FAILURE_CALLBACK if err is set, else
     * HTTP_FAILURE_STOPPED. */
    int (*body)(void *ctx, const char *p, size_t n, struct err *err);
    /* Called about ten times a second. */
    void (*progress)(void *ctx);
    /* Returns whether the SSH channel to the server is still being opened. That time does not count as
     * silence. */
    bool (*is_opening)(void *ctx);

    /* The exchange sets these. */
    int64_t start;         /* by clock_now() */
    int64_t first_byte_ms; /* until the first byte of the answer; -1: there was none */
    uint64_t transferred;  /* bytes of the answer; the client adds the bytes that it sends */
    size_t headers_size;
    struct err callback_err; /* the error of a callback */

    enum http_failure end_reason; /* why the exchange must end, set inside libcurl's callbacks */
    int64_t last_byte;            /* the time of the last byte, by clock_now() */
    int64_t window_start;         /* the start of the time of trickle_ms, by clock_now() */
    uint64_t window_bytes;        /* `transferred` at window_start */
    int64_t cpu_start;            /* the CPU time of this thread at the start, in ns */
    int64_t cpu_body;             /* the CPU time in `body` for large pieces, in ns */
};

/* Sends the request that the handle describes. HTTP_FAILURE_NONE: a complete answer of any status was
 * received. */
enum http_failure http_exchange_run(struct http_exchange *x);

#endif
