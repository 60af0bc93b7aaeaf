/*
 * HTTP over a gateway's private listener: one kept-alive connection to one service.
 */
#ifndef FETCH_TRANSFER_H
#define FETCH_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gateway/gateway.h"
#include "inventory/inventory.h"

struct transfer;
struct transfer_request;
struct transfer_response;

struct transfer_options {
    int cancel_fd;
    int64_t timeout_ms;          /* of silence, beyond `timed_ms` of the request */
    const struct secret *secret; /* of the service; NULL: none. Must outlive the transfer. */
    /* Called after every request; may be NULL. */
    void (*answered)(void *ctx, const struct transfer_request *request,
                     const struct transfer_response *response, const struct err *failure);
    void *answered_ctx;
};

/* `service` is the one behind the listener; both must outlive the transfer. */
int transfer_new(struct gateway_listener *listener, const struct service *service,
                 const struct transfer_options *options, struct transfer **ret, struct err *err);
void transfer_free(struct transfer *t);

struct transfer_request {
    const char *target; /* path and query */
    int64_t timed_ms;   /* how long the server is silent by design */
    int64_t limit_ms;   /* for the whole request; 0: no limit while data arrives */
    void *ctx;
    /* Receives the body of a 200; -1 ends the transfer with err. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
    /* Called about ten times a second while it runs; may be NULL. */
    void (*progress)(void *progress_ctx, uint64_t bytes, int64_t elapsed_ms);
    void *progress_ctx;
};

struct transfer_response {
    int status; /* 0: no answer */
    char content_type[128];
    char words[512];  /* the text of a body that did not go to `body`; printable, secrets masked */
    uint64_t bytes;   /* bytes passed to `body` */
    int64_t started;  /* UTC */
    int64_t first_ms; /* until the first byte of the answer; -1: there was none */
    int64_t duration_ms;
    int64_t date;     /* the Date header as UTC milliseconds; 0 without one */
    int64_t date_at;  /* our clock at its arrival */
    bool cut_off;     /* the body ended early */
    bool reconnected; /* the request needed a new connection, though we had not closed the last one */
};

/*
 * Sends a GET request. Follows redirects within the service; a redirect to another one is an error that names
 * the destination.
 * -1 if there was no complete answer (err has the reason, with the gateway's own if known), or if the answer
 * was not a 200 (kinds as in answer_error). Fills *ret in every case as far as possible.
 */
int transfer_get(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err);

/* The shortest time until an answer began: after a small request about a round trip. -1: no answer yet. */
int64_t transfer_round_trip(const struct transfer *t);

/* Call this after the session was lost: the next connection then does not count as `reconnected`. */
void transfer_expect_new_connection(struct transfer *t);

/* Whether the file at fd, received from the service, contains its secret. -1: read error. */
int transfer_reflected(const struct transfer *t, int fd, bool *ret_reflected);

/* Masks the service's secret in text that the service sent. */
void transfer_redact(const struct transfer *t, char *text);

#endif
