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
    /* Told of every request that ended; may be NULL. */
    void (*told)(void *ctx, const struct transfer_request *request, const struct transfer_response *response,
                 const struct err *failure);
    void *told_ctx;
};

/* The service behind the listener; both must outlive the transfer. */
int transfer_new(struct gateway_listener *listener, const struct service *service,
                 const struct transfer_options *options, struct transfer **ret, struct err *err);
void transfer_free(struct transfer *t);

struct transfer_request {
    const char *target; /* path and query */
    int64_t timed_ms;   /* how long the server is silent by design */
    int64_t limit_ms;   /* for the whole of it; 0: as long as something comes */
    void *ctx;
    /* Takes the body of a 200; -1 ends the transfer with err as it was left. */
    int (*body)(void *ctx, const void *p, size_t n, struct err *err);
    /* Called about ten times a second while it runs; may be NULL. */
    void (*progress)(void *progress_ctx, uint64_t bytes, int64_t elapsed_ms);
    void *progress_ctx;
};

struct transfer_response {
    int status; /* 0: there was no answer */
    char content_type[128];
    char words[512];  /* what a body that did not go to `body` says; printable, secrets masked */
    uint64_t bytes;   /* given to `body` */
    int64_t started;  /* UTC */
    int64_t first_ms; /* until the first byte of the answer; -1: there was none */
    int64_t duration_ms;
    int64_t date;     /* the Date header as UTC milliseconds; 0 without one */
    int64_t date_at;  /* our clock when it came */
    bool cut_off;     /* the answer ended in the middle */
    bool reconnected; /* a new connection was opened for it, though nobody here had closed the one before */
};

/*
 * One GET. Redirects within the service are followed; one that leads elsewhere is an error that says where.
 * -1 if there was no whole answer (err says why, with the gateway's own reason where it has one) or the
 * answer was not a 200 (kinds as answer_error has them); *ret is filled in as far as known in every case.
 */
int transfer_get(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err);

/* The least time it took until an answer began: about a round trip, once something small was asked for. -1:
 * there was no answer yet. */
int64_t transfer_round_trip(const struct transfer *t);

/* Its connection was lost with the session, which is known: a new one is nothing to be told as reconnected.
 */
void transfer_expect_new_connection(struct transfer *t);

/* Whether the file at fd, which came from the service, holds its secret. -1: it cannot be read. */
int transfer_told(const struct transfer *t, int fd, bool *ret_told);

/* Masks the service's secret in text that came from it. */
void transfer_redact(const struct transfer *t, char *text);

#endif
