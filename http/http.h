/*
 * HTTP over libcurl. Three clients share one event loop (exchange.h): connection.h sends requests to a
 * service behind a gateway, url.h sends them to any URL, and the client below sends them to the API of a
 * tracker.
 *
 * This client has one origin and one token. It sends the token in a header, to this origin only. It uses TLS,
 * or plain HTTP to loopback. It repeats a GET after a 502, 503 or 504, and any request after a 429, because a
 * server that answers 429 has not acted on the request. It follows at most three redirects of a GET, within
 * the origin; only a GET with `may_leave_origin` may be redirected to another origin. Answers have a maximum
 * size. No output contains the token.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "http/auth.h"
#include "http/connection.h"
#include "http/url.h"

/* Set up and release libcurl's global state. Call the first before any thread starts, and the second after
 * all threads have ended. */
int http_global_init(struct err *err);
void http_global_cleanup(void);

struct http;

/* A request that a dry run would have sent. */
struct http_dry_request {
    const char *method;
    const char *url;
    const char *body; /* a description, such as "confidential=true, description (94 bytes)"; "": no body */
};

struct http_options {
    const char *url;  /* the prefix of all paths: https://HOST[:PORT][/PATH], without a slash at the end */
    const char *ca;   /* PEM; NULL: the system's authorities */
    const char *auth; /* the header with the token, as a format: "PRIVATE-TOKEN: %s" */
    const struct secret *token; /* NULL in a dry run. Must outlive the client. */
    bool dry_run;               /* sends nothing; `dry_request` receives each request */
    int64_t connect_ms;         /* timeout of the connection, with TLS; 0: 20 s */
    int64_t silence_ms;         /* limit of the time without a byte in either direction; 0: 60 s */
    int64_t max_wait_ms; /* limit of the sum of the pauses between the attempts of a request; 0: 2 minutes */
    int cancel_fd;       /* cancels a request when it becomes readable (ERR_CANCELLED); -1: none */
    /* The callbacks may be NULL. */
    /* Called about ten times a second while a file is sent: the number of sent bytes, and of all bytes. */
    void (*progress)(void *ctx, uint64_t sent, uint64_t size);
    /* Called before the pause that precedes a repeated request. */
    void (*waiting)(void *ctx, int64_t ms, const char *because);
    void (*dry_request)(void *ctx, const struct http_dry_request *request);
    void *ctx;
};

/* ERR_USAGE for a URL that would send the token unencrypted. */
int http_new(const struct http_options *options, struct http **ret, struct err *err);
void http_free(struct http *h);

/* A file in a request's body, read from its beginning. */
struct http_file {
    int fd;
    uint64_t size;
    const char *part; /* the name of its part in a multipart form; NULL: the file is the complete body */
    const char *name; /* the file name of the part */
    const char *json; /* the content of another part, named JSON; NULL: none */
};

/* The maximum size of a stored answer. A larger answer is an error. */
#define HTTP_ANSWER_MAX (1u << 20)

struct http_request {
    const char *method;
    const char *path;             /* appended to http_options.url; begins with a slash, percent-encoded */
    const char *json;             /* the body; NULL: none */
    const struct http_file *file; /* the body; NULL: none */
    /* Receives the body of an answer with status 200, at most `limit` bytes. NULL: http_answer.body stores
     * it. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    uint64_t limit;
    /* A GET that may be redirected to another origin: GitLab redirects to its object store, by a URL that
     * gives access for some minutes to anyone (administration/object_storage: proxy_download). The redirected
     * request has no token and no cookie, and uses TLS unless both URLs are on loopback. */
    bool may_leave_origin;
    /* The answer in a dry run, a JSON text; NULL: an empty object. */
    const char *dry_answer;
};

/* The part of a request that was sent. */
enum http_sent {
    HTTP_SENT_NOTHING,
    HTTP_SENT_PART, /* a part of the body: the server cannot act on the request */
    HTTP_SENT_ALL,  /* everything: libcurl has read the complete body */
};

struct http_answer {
    int status; /* 0: no answer */
    char content_type[128];
    char location[512]; /* the URL of a redirect that was not followed (url_origin_strip_secrets); "": none */
    char retry_after[64];   /* Retry-After of a 429 or 503, printable */
    char other_origin[256]; /* the other origin that sent the final answer; "" for none */
    struct buf body;
    enum http_sent sent; /* of the last attempt */
    uint64_t file_sent;  /* the most bytes of the file that any attempt sent */
    int64_t waited_ms;   /* the sum of the pauses between attempts */
};

/*
 * Sends a request and receives the answer, of any status. -1: there was no complete answer (ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_FAILED, or the err of `body`). Fills *ret in any case; the caller releases it.
 */
int http_send(struct http *h, const struct http_request *request, struct http_answer *ret, struct err *err);
void http_answer_release(struct http_answer *a);

/* Masks the token in text that the server sent. */
void http_mask(const struct http *h, char *text);

#endif
