/*
 * HTTP over a gateway's private listener: one kept-alive connection to one service.
 */
#ifndef FETCH_TRANSFER_H
#define FETCH_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "gateway/gateway.h"
#include "http/http.h"
#include "inventory/inventory.h"

struct transfer;

struct transfer_options {
    int cancel_fd;
    int64_t timeout_ms;          /* the longest silence, in addition to http_get.timed_ms */
    const struct secret *secret; /* the secret of the service; NULL: none. Must outlive the transfer. */
    /* Called after every request; may be NULL. */
    void (*on_answer)(void *ctx, const char *request_target, const struct http_response *response,
                      const struct err *failure);
    void *on_answer_ctx;
};

/* Creates a transfer. `service` is the one behind the listener; both must outlive the transfer. */
int transfer_new(struct gateway_listener *listener, const struct service *service,
                 const struct transfer_options *options, struct transfer **ret, struct err *err);
void transfer_free(struct transfer *t);

/*
 * Sends a GET request for `request_target`, a path and its query. Follows redirects within the service; a
 * redirect to another service is an error that names the destination. -1 if there was no complete answer (err
 * has the gateway's reason, if the gateway knows one), or if the answer was not a 200 (kinds as in
 * answer_set_error). Fills *ret in every case as far as possible.
 */
int transfer_get(struct transfer *t, const char *request_target, const struct http_get *get,
                 struct http_response *ret, struct err *err);

/*
 * Returns whether the connection ended before the end of the answer, without an error of the gateway or of
 * TLS.
 */
bool transfer_is_cut_off(const struct http_response *response);

/* Returns the shortest time in milliseconds until an answer began. For small requests this is about a round
 * trip. -1: no answer yet. */
int64_t transfer_round_trip(const struct transfer *t);

/* Call this after the session was lost: the next connection then does not count as `reconnected`. */
void transfer_expect_new_connection(struct transfer *t);

/* Checks whether a file received from the service contains the service's secret. -1: read error. */
int transfer_find_secret(const struct transfer *t, int fd, bool *ret_has_secret);

/* Returns whether text that the service sent contains the service's secret. */
bool transfer_has_secret(const struct transfer *t, const char *text);

/* Masks the service's secret in text that the service sent. */
void transfer_mask(const struct transfer *t, char *text);

#endif
