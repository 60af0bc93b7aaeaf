/*
 * HTTP to one tracker: its own origin, its own authorities, its token in a header and nowhere else.
 *
 * Over TLS, or plain to loopback. What is sent once is sent once: a request is repeated only when it was
 * refused before anything happened (429), or asks for something and changes nothing (GET). Redirects are
 * followed by GET alone, at most three, and within the origin; the token goes nowhere else. A GET of a stored
 * file may be sent on to the store that keeps it, where it is asked for without the token. Answers are
 * bounded. No text that comes out of here holds the token.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

struct http;

/* A request that a dry run would have sent. */
struct http_would {
    const char *method;
    const char *url;
    const char *what; /* "confidential=true, title "...", description (94 bytes)"; "" without a body */
};

struct http_options {
    const char *url; /* what all paths stand behind: https://HOST[:PORT][/PATH], without a slash at the end */
    const char *ca;  /* PEM; NULL: the system's authorities */
    const char *auth; /* the header with the token as a format for one %s, such as "PRIVATE-TOKEN: %s" */
    const struct secret *token; /* NULL in a dry run. Must outlive it. */
    /* Sends nothing: `would` gets each request. */
    bool dry_run;
    int64_t connect_ms;  /* to connect, TLS included; 0: 20 s */
    int64_t silence_ms;  /* without a byte in either direction; 0: 60 s */
    int64_t patience_ms; /* for all waits of one request together; 0: 2 minutes */
    int cancel_fd;       /* readable: ERR_CANCELLED; -1: none */
    /* All may be NULL. */
    void (*progress)(void *ctx, uint64_t bytes, uint64_t of);    /* sent, about ten times a second */
    void (*waiting)(void *ctx, int64_t ms, const char *because); /* before it repeats a request */
    void (*would)(void *ctx, const struct http_would *would);
    void *ctx;
};

/* ERR_USAGE for a URL that would carry the token in the clear. */
int http_new(const struct http_options *options, struct http **ret, struct err *err);
void http_free(struct http *h);

/* A file in a request's body, read from its beginning. */
struct http_file {
    int fd;
    uint64_t size;
    const char *part; /* the multipart form's name for it; NULL: it is the whole body */
    const char *name; /* of a part */
    const char *json; /* a part named JSON beside it; NULL: none */
};

/* The most bytes of an answer that are kept; more is an error. */
#define HTTP_ANSWER_MAX (1u << 20)

struct http_request {
    const char *method;
    const char *path;             /* behind the URL; begins with a slash, encoded */
    const char *json;             /* the body; NULL: none */
    const struct http_file *file; /* the body; NULL: none */
    /* Takes the body of a 200 instead of the answer, at most `limit` bytes; NULL: the answer keeps it. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
    void *ctx;
    uint64_t limit;
    /* A GET whose answer may lie with another origin: GitLab redirects to the object store that keeps its
     * files, by an address that is good for some minutes and for whoever has it
     * (administration/object_storage: proxy_download). It goes over TLS, or from loopback to loopback, with
     * neither token nor cookie. */
    bool elsewhere;
    /* A dry run goes on with this answer, a JSON text; NULL: an empty object. */
    const char *dry;
};

/* How much of a request went out. */
enum http_sent {
    HTTP_SENT_NOTHING,
    HTTP_SENT_PART,  /* not the whole body: nobody can act on it */
    HTTP_SENT_WHOLE, /* as far as this workstation knows */
};

struct http_answer {
    int status; /* 0: there was none */
    char content_type[128];
    char location[512];  /* where a redirect that was not followed leads, printable and without what gives
                            access there (query, name, password); "" for none */
    char asked_wait[64]; /* of a 429 or 503: what Retry-After says, printable */
    char elsewhere[256]; /* the other origin that was asked in the end, without the token; "" for none */
    struct buf body;
    enum http_sent sent; /* of the last try */
    uint64_t file_sent;  /* bytes of the file that have left, at most, in the try that sent most */
    int64_t waited_ms;   /* between the tries, all together */
};

/*
 * Sends it and takes the answer, whatever its status is. -1: there was no whole answer (ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_FAILED, or as `body` left it). *ret is filled in in every case and released by the
 * caller.
 */
int http_send(struct http *h, const struct http_request *request, struct http_answer *ret, struct err *err);
void http_answer_release(struct http_answer *a);

/* Masks the token in text that came from there. */
void http_mask(const struct http *h, char *text);

#endif
