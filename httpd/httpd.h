/*
 * An HTTP/1.1 server on libevent. It knows nothing about profiles.
 *
 * One thread runs the server, with all connections and handlers (httpd_run). A handler must not block: it
 * answers at once, or calls httpd_wait, for example for the pipe of a child process.
 *
 * libevent's evhttp parses requests and writes answers. This folder adds what evhttp lacks: limits of
 * connections, deadlines, bodies that are read from a file while they are sent, ranges, ETags, gzip, and the
 * checks of Host, Origin and the visitor's token. It refuses a request whose length proxies could read in two
 * ways (two lengths, any Transfer-Encoding, a body of a method that has none) and a second Host header, and
 * closes the connection after it. The caller ignores SIGPIPE.
 */
#ifndef HTTPD_HTTPD_H
#define HTTPD_HTTPD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct httpd;
struct httpd_request;

/* ---- routes -------------------------------------------------------------------------------------------- */

enum httpd_method {
    HTTPD_GET = 1, /* and HEAD */
    HTTPD_POST = 2,
    HTTPD_DELETE = 4,
};

/* Answers a request, or calls httpd_wait. `ctx` is that of httpd_options. */
typedef void httpd_handler(struct httpd_request *request, void *ctx);

struct httpd_route {
    /* Exact, without percent-encoding. With a slash at its end: also all paths below it. "": any other path.
     */
    const char *path;
    unsigned methods; /* of enum httpd_method */
    httpd_handler *handle;
    size_t max_body; /* the largest body of a request, in bytes */
};

/* ---- the server ---------------------------------------------------------------------------------------- */

struct httpd_limits {
    /*
     * Open connections, in all and from one address. A new connection beyond them takes the place of the
     * oldest one that has sent no valid request yet, else of the one that has been idle for longest. If there
     * is neither, it is closed.
     */
    size_t connections, per_client;
    size_t header_bytes;   /* request line and headers of a request */
    size_t arriving_bytes; /* of all requests together that are not answered yet */
    int64_t header_ms;     /* until the headers are complete: from the connection or from the first byte on */
    int64_t request_ms;    /* until the body is complete, from the same instant on */
    int64_t idle_ms;       /* between an answer and the next request */
    int64_t stall_ms;      /* without progress while an answer is sent */
    int64_t drain_ms;      /* for open requests after the server was stopped */
};

/* clang-format off */
#define HTTPD_LIMITS                                                                                         \
    {                                                                                                        \
        .connections = 512, .per_client = 256, .header_bytes = 262144, .arriving_bytes = 64 << 20,            \
        .header_ms = 10000, .request_ms = 30000, .idle_ms = 60000, .stall_ms = 60000, .drain_ms = 5000,      \
    }
/* clang-format on */

/* A certificate chain and its private key in PEM. */
struct httpd_tls {
    struct str chain, key;
};

struct httpd_options {
    const struct httpd_route *routes; /* ends with a route without a path; must outlive the server */
    void *ctx;                        /* for the handlers */
    struct httpd_limits limits;
    const struct httpd_tls *tls; /* NULL: plain HTTP */
    /*
     * The names that a request's Host may have besides loopback names, without port. NULL-terminated; NULL:
     * none. Loopback names are `localhost`, names that end in `.localhost`, 127.0.0.0/8 and ::1, with any
     * port.
     */
    const char *const *host_names;
    bool accepts_addresses; /* Host may also be any IP address: no name server can point to another server */
    /*
     * The secret that a visitor must present once: as `?token=`, in the form of the page that asks for it, or
     * as a bearer token. The visitor's browser then gets a cookie, whose name differs in each run, because
     * cookies ignore ports. NULL: everybody who can connect is a visitor.
     */
    const char *token;
    const char *title; /* of the page that asks for the token */
};

/* Creates a server that does not listen yet. Copies the options, except the routes. */
int httpd_new(const struct httpd_options *options, struct httpd **ret, struct err *err);
void httpd_free(struct httpd *server);

/*
 * Listens on all addresses of `host` (a name or an address; NULL, "" or "::": every address of the machine),
 * at most 8. Port 0 chooses a free port, the same for each address. May be called several times. ERR_EXISTS
 * if the port is in use, ERR_NOT_FOUND if the address does not belong to this machine.
 */
int httpd_listen(struct httpd *server, const char *host, uint16_t port, struct err *err);

/* Takes a socket that listens already, also on failure. */
int httpd_listen_on(struct httpd *server, int fd, struct err *err);

/* Returns whether another machine could connect: an address that the server listens on is not a loopback
 * address. */
bool httpd_listens_beyond_loopback(const struct httpd *server);

/* Returns the port of the first listener. */
uint16_t httpd_port(const struct httpd *server);

/*
 * Serves until cancel_fd is readable. Then closes the listeners and idle connections, finishes the open
 * requests within drain_ms, and returns 0. Fails only if the event loop fails.
 */
int httpd_run(struct httpd *server, int cancel_fd, struct err *err);

/* Returns the number of open connections. Any thread may call it. */
size_t httpd_connections(const struct httpd *server);

/* ---- requests ------------------------------------------------------------------------------------------ */

/* The results below are valid until the request is answered. */
enum httpd_method httpd_method(const struct httpd_request *request);
/* The path without percent-encoding; the query as received, without `?`, "" if there is none. */
const char *httpd_path(const struct httpd_request *request);
const char *httpd_query_string(const struct httpd_request *request);
struct str httpd_body(struct httpd_request *request);
const char *httpd_header(const struct httpd_request *request, const char *name); /* NULL: none */

/* Returns the value of the first parameter of that name, decoded, or NULL. As in Go, a parameter with `;` or
 * a bad escape counts as missing. */
const char *httpd_parameter(const struct httpd_request *request, const char *name);

/* The parameters in their order. */
struct httpd_parameter {
    const char *name, *value;
};
const struct httpd_parameter *httpd_parameters(const struct httpd_request *request, size_t *ret_n);

struct httpd_wait {
    /* Called in the server's thread when `fd` is readable; answers the request, or returns to wait again. */
    void (*ready)(struct httpd_request *request, void *ctx);
    /* Called instead of `ready` if the client leaves, timeout_ms have passed or the server ends. The request
     * needs no answer. */
    void (*gone)(void *ctx);
    void *ctx;
    int fd;             /* stays open until `ready` has answered or `gone` was called; the caller closes it */
    int64_t timeout_ms; /* then the client gets the status 504 */
};
/* Waits for a descriptor before the answer. Answers with 500 and calls `gone` if memory runs out. */
void httpd_wait(struct httpd_request *request, const struct httpd_wait *wait);

/* ---- answers ------------------------------------------------------------------------------------------- */

struct httpd_answer {
    int status;
    bool compress;        /* gzip, if the client accepts it */
    const char *type;     /* Content-Type */
    const char *policy;   /* Content-Security-Policy; NULL: the answer loads nothing, and no page frames it */
    const char *etag;     /* a strong tag without quotes: the same tag means the same bytes; NULL: none */
    const char *download; /* the file name under which a browser saves the answer; NULL: it shows it */
};

/*
 * Each of these functions answers a request, which the handler must not use afterwards. With status 200,
 * If-None-Match, Range and If-Range have effect. httpd_answer_bytes copies the bytes. httpd_answer_file sends
 * the `size` bytes from the beginning of a file, which must not shrink, and closes it in any case.
 * httpd_answer_text sends plain text.
 */
void httpd_answer_bytes(struct httpd_request *request, const struct httpd_answer *answer, const void *p,
                        size_t n);
void httpd_answer_file(struct httpd_request *request, const struct httpd_answer *answer, int fd,
                       uint64_t size);
void httpd_answer_text(struct httpd_request *request, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Leads the client to another address of this server with a status of 300 to 399, and keeps the query. `to`
 * is a path, or relative to the request's path. */
void httpd_answer_redirect(struct httpd_request *request, int status, const char *to);

#endif
