#include "fetch/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/answer.h"
#include "fetch/endpoint.h"
#include "base/banned.h"

#define MAX_REDIRECTS 3

struct transfer {
    struct http_connection *connection;
    struct gateway_listener *listener;
    struct endpoint endpoint;
    struct transfer_options options;
};

static bool is_opening(void *ctx)
{
    const struct transfer *t = ctx;
    return gateway_listener_is_opening(t->listener);
}

int transfer_new(struct gateway_listener *listener, const struct service *service,
                 const struct transfer_options *options, struct transfer **ret, struct err *err)
{
    char host[ENDPOINT_HOST_MAX];
    struct transfer *t = calloc(1, sizeof *t);
    if (!t)
        return err_nomem(err);
    *t = (struct transfer){.listener = listener, .endpoint = {service, options->secret}, .options = *options};
    struct http_connection_options connection = {.socket = gateway_listener_path(listener),
                                                 .host = endpoint_host(service, host, sizeof host),
                                                 .https = service->https,
                                                 .tls = {.insecure = service->tls.insecure,
                                                         .ca = service->tls.ca,
                                                         .cert = service->tls.cert,
                                                         .key = service->tls.key},
                                                 .auth = endpoint_auth(&t->endpoint),
                                                 .cancel_fd = options->cancel_fd,
                                                 .timeout_ms = options->timeout_ms,
                                                 .is_opening = is_opening,
                                                 .ctx = t};
    if (http_connection_new(&connection, &t->connection, err) < 0) {
        free(t);
        return -1;
    }
    *ret = t;
    return 0;
}

void transfer_free(struct transfer *t)
{
    if (!t)
        return;
    http_connection_free(t->connection);
    free(t);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

/* If a middleware's ResponseWriter hides the connection, Go cannot extend its WriteTimeout. The connection
 * then closes when the profile is ready (net/http/pprof, from Go 1.23 on). */
static int hint_write_timeout(const struct http_get *get, const struct http_response *r, struct err *err)
{
    if (get->timed_ms == 0 || r->duration_ms < get->timed_ms * 9 / 10)
        return -1;
    return err_hint(err,
                    "is the WriteTimeout of the program's http.Server shorter than the profile? ask for a "
                    "shorter one");
}

static int set_not_http_error(const struct service *service, struct err *err)
{
    /* ERR_DENIED, because a retry would not help. */
    if (service->unix_path)
        return err_set(err, ERR_DENIED, "the listener on %s does not speak HTTP", service->unix_path);
    err_set(err, ERR_DENIED, "the listener on port %u does not speak HTTP", service->port);
    return err_hint(err, "is the port right?%s",
                    service->adhoc ? "" : " `profgrab hosts` shows what the inventory says");
}

/* Returns whether the connection failed by itself, and neither profgrab nor one of its limits ended it. */
static bool is_connection_failure(enum http_failure failure)
{
    switch (failure) {
    case HTTP_FAILURE_UNSENT:
    case HTTP_FAILURE_BROKEN:
    case HTTP_FAILURE_CANCELLED:
    case HTTP_FAILURE_LIMIT:
    case HTTP_FAILURE_SILENCE:
    case HTTP_FAILURE_TRICKLE:
    case HTTP_FAILURE_COSTLY:
    case HTTP_FAILURE_HEADERS:
    case HTTP_FAILURE_CALLBACK:
        return false;
    default:
        return true;
    }
}

/* Replaces an error of the connection by a better one: the gateway's, TLS's, or one that knows the service.
 * Returns -1. */
static int explain_failure(struct transfer *t, const struct http_get *get, struct http_response *r,
                           struct err *err)
{
    const char *text = http_connection_error_text(t->connection);
    if (!is_connection_failure(r->failure))
        return -1;
    /* A TLS alert explains more than the closed connection does. No other TLS error does. */
    if ((strstr(text, "alert") && endpoint_set_tls_error(t->endpoint.service, r->failure, text, err)) ||
        gateway_listener_failure(t->listener, err) < 0 ||
        endpoint_set_tls_error(t->endpoint.service, r->failure, text, err)) {
        r->failure = HTTP_FAILURE_OTHER;
        return -1;
    }
    switch (r->failure) {
    case HTTP_FAILURE_LOST:
        err_hint(err, "did it crash or restart?");
        return hint_write_timeout(get, r, err);
    case HTTP_FAILURE_NO_ANSWER:
    case HTTP_FAILURE_PARTIAL:
    case HTTP_FAILURE_RECEIVE:
        return hint_write_timeout(get, r, err);
    case HTTP_FAILURE_NOT_HTTP:
        return set_not_http_error(t->endpoint.service, err);
    default:
        return -1;
    }
}

bool transfer_is_cut_off(const struct http_response *response)
{
    return response->failure == HTTP_FAILURE_PARTIAL || response->failure == HTTP_FAILURE_RECEIVE;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

/* One request, without redirects. */
static int send_request(struct transfer *t, const char *request_target, const struct http_get *get,
                        struct http_response *ret, struct err *err)
{
    char url[1400];
    *ret = (struct http_response){.first_byte_ms = -1};
    if (endpoint_url(t->endpoint.service, request_target, url, sizeof url, err) < 0)
        return -1;
    /* Discard the gateway's error: the end of an idle connection is not a failure of this request. */
    gateway_listener_failure(t->listener, NULL);
    if (http_connection_get(t->connection, url, get, ret, err) < 0)
        return explain_failure(t, get, ret, err);
    /* libcurl does not know why the connection ended; the gateway does. */
    return ret->status == 200 && ret->ends_at_close ? gateway_listener_failure(t->listener, err) : 0;
}

/* Resolves a redirect. Returns 1 with the new request target, 0 without a redirect, -1 if it leads to another
 * service. */
static int follow_redirect(struct transfer *t, int status, char *dst, size_t cap, struct err *err)
{
    const char *url = http_connection_redirect(t->connection);
    if (status < 300 || status > 399 || !url)
        return 0;
    if (endpoint_redirect(&t->endpoint, url, dst, cap, err) < 0)
        return err_wrap(err, "HTTP %d", status);
    return 1;
}

static int explain_answer(const struct transfer *t, const struct http_response *r, struct err *err)
{
    char text[512];
    answer_read_text(r->page, strlen(r->page), text, sizeof text);
    transfer_mask(t, text);
    return answer_set_error(&(struct answer){r->status, text, t->endpoint.secret != NULL},
                            t->endpoint.service, err);
}

static int get_with_redirects(struct transfer *t, const char *request_target, const struct http_get *get,
                              struct http_response *ret, struct err *err)
{
    char next[1024];
    for (unsigned i = 0; i <= MAX_REDIRECTS; i++) {
        if (send_request(t, request_target, get, ret, err) < 0)
            return -1;
        if (ret->status == 200)
            return 0;
        int rc = follow_redirect(t, ret->status, next, sizeof next, err);
        if (rc <= 0)
            return rc < 0 ? -1 : explain_answer(t, ret, err);
        request_target = next;
    }
    return err_set(err, ERR_FAILED, "HTTP %d: it redirects in circles", ret->status);
}

int transfer_get(struct transfer *t, const char *request_target, const struct http_get *get,
                 struct http_response *ret, struct err *err)
{
    struct err why = ERR_INIT;
    int rc = get_with_redirects(t, request_target, get, ret, &why);
    transfer_mask(t, why.msg);
    if (t->options.on_answer)
        t->options.on_answer(t->options.on_answer_ctx, request_target, ret, rc < 0 ? &why : NULL);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int64_t transfer_round_trip(const struct transfer *t)
{
    return http_connection_round_trip(t->connection);
}

void transfer_expect_new_connection(struct transfer *t)
{
    http_connection_expect_new(t->connection);
}

void transfer_mask(const struct transfer *t, char *text)
{
    struct http_auth auth = endpoint_auth(&t->endpoint);
    http_auth_mask(&auth, text);
}

bool transfer_has_secret(const struct transfer *t, const char *text)
{
    struct http_auth auth = endpoint_auth(&t->endpoint);
    return http_auth_find(&auth, text);
}

int transfer_find_secret(const struct transfer *t, int fd, bool *ret_has_secret)
{
    struct http_auth auth = endpoint_auth(&t->endpoint);
    return http_auth_find_in_file(&auth, fd, ret_has_secret);
}
