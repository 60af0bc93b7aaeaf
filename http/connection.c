#include "http/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "http/exchange.h"
#include "base/banned.h"

/* profgrab does not read the rest of a larger error page, so the connection cannot be reused. */
#define ERROR_PAGE_MAX (256u << 10)
/* If a connection is lost within this time after the start of a request, the server closed it while it was
 * idle. */
#define IDLE_END_MS 500

struct http_connection {
    struct http_handle handle;
    struct http_connection_options options;
    struct curl_slist *headers;
    bool connected;        /* a connection was opened before */
    bool aborted;          /* profgrab closed the last connection */
    int64_t round_trip_ms; /* the shortest time until an answer began; -1: there was no answer yet */
};

/* A request in progress. */
struct request {
    struct http_connection *connection;
    const struct http_get *get;
    struct http_response *response;
    struct http_exchange exchange;
    size_t page_size; /* bytes of the error page, of which response->page has the first ones */
    bool chunked;     /* the body is chunked, so libcurl recognises its end */
};

/* ---- callbacks ----------------------------------------------------------------------------------------- */

static void on_header(void *ctx, const char *p, size_t n)
{
    struct request *r = ctx;
    if (n > 18 && strncasecmp(p, "transfer-encoding:", 18) == 0)
        r->chunked = true;
    if (n > 5 && strncasecmp(p, "date:", 5) == 0) {
        char value[64];
        text_printable(value, sizeof value, p + 5, n - 5);
        time_t date = curl_getdate(value, NULL);
        if (date > 0) {
            r->response->date = (int64_t)date * 1000;
            r->response->date_at = clock_utc();
        }
    }
}

static int on_body(void *ctx, const char *p, size_t n, struct err *err)
{
    struct request *r = ctx;
    long status = 0;
    curl_easy_getinfo(r->connection->handle.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        size_t room = r->page_size < HTTP_PAGE_MAX ? HTTP_PAGE_MAX - r->page_size : 0;
        memcpy(r->response->page + HTTP_PAGE_MAX - room, p, n < room ? n : room);
        r->page_size += n;
        return r->page_size <= ERROR_PAGE_MAX ? 0 : -1;
    }
    if (r->get->body(r->get->ctx, p, n, err) < 0)
        return -1;
    r->response->bytes += n;
    return 0;
}

static void on_progress(void *ctx)
{
    const struct request *r = ctx;
    if (r->get->progress)
        r->get->progress(r->get->progress_ctx, r->response->bytes, clock_now() - r->exchange.start);
}

static bool is_channel_opening(void *ctx)
{
    const struct request *r = ctx;
    const struct http_connection_options *o = &r->connection->options;
    return o->is_opening && o->is_opening(o->ctx);
}

/*
 * libcurl repeats a request on a new connection if the reused connection was closed. If this happens within
 * IDLE_END_MS, the server had closed an idle connection, and this function allows the new connection. If it
 * happens later, the service ended during the request. This function then refuses the new connection, because
 * a request to a restarted service would hide the failure.
 */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    (void)fd;
    (void)purpose;
    struct request *r = ctx;
    int64_t elapsed = clock_now() - r->exchange.start;
    if (!r->connection->connected || elapsed < IDLE_END_MS)
        return CURL_SOCKOPT_OK;
    r->response->lost_ms = elapsed;
    return CURL_SOCKOPT_ERROR;
}

/* ---- set-up -------------------------------------------------------------------------------------------- */

/* Sets an empty passphrase, so that OpenSSL does not ask the user for one on the terminal. */
static int set_tls(CURL *e, const struct http_tls *tls)
{
    int failed = 0;
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, tls->insecure ? 0L : 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, tls->insecure ? 0L : 2L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_KEYPASSWD, "");
    if (tls->ca) {
        failed |= (int)curl_easy_setopt(e, CURLOPT_CAINFO, tls->ca);
        failed |= (int)curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
    }
    if (tls->cert) {
        failed |= (int)curl_easy_setopt(e, CURLOPT_SSLCERT, tls->cert);
        failed |= (int)curl_easy_setopt(e, CURLOPT_SSLKEY, tls->key ? tls->key : tls->cert);
    }
    return failed;
}

static int set_auth(CURL *e, const struct http_auth *auth)
{
    int failed = 0;
    if (auth->user) {
        failed |= (int)curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        failed |= (int)curl_easy_setopt(e, CURLOPT_USERNAME, auth->user);
        failed |= (int)curl_easy_setopt(e, CURLOPT_PASSWORD, auth->secret->text);
    } else {
        failed |= (int)curl_easy_setopt(e, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        failed |= (int)curl_easy_setopt(e, CURLOPT_XOAUTH2_BEARER, auth->secret->text);
    }
    return failed;
}

static int set_options(struct http_connection *c)
{
    const struct http_connection_options *o = &c->options;
    CURL *e = c->handle.easy;
    int failed = 0;
    failed |= (int)curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, o->socket);
    failed |= (int)curl_easy_setopt(e, CURLOPT_PROXY, "");
    failed |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, o->https ? "https" : "http");
    failed |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, on_socket);
    /* Sends a raw path as the user wrote it. */
    failed |= (int)curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->headers);
    if (o->https)
        failed |= set_tls(e, &o->tls);
    if (o->auth.secret)
        failed |= set_auth(e, &o->auth);
    return failed;
}

static int add_host_header(struct http_connection *c, struct err *err)
{
    char *header = NULL;
    if (asprintf(&header, "Host: %s", c->options.host) < 0)
        return err_nomem(err);
    c->headers = curl_slist_append(NULL, header);
    free(header);
    return c->headers ? 0 : err_nomem(err);
}

int http_connection_new(const struct http_connection_options *options, struct http_connection **ret,
                        struct err *err)
{
    struct http_connection *c = calloc(1, sizeof *c);
    if (!c)
        return err_nomem(err);
    c->options = *options;
    c->round_trip_ms = -1;
    int rc = http_handle_init(&c->handle, err);
    if (rc == 0)
        rc = add_host_header(c, err);
    if (rc == 0 && set_options(c) != 0)
        rc = err_set(err, ERR_FAILED, "libcurl cannot be set up for the service's TLS or authentication");
    if (rc < 0) {
        http_connection_free(c);
        return -1;
    }
    *ret = c;
    return 0;
}

void http_connection_free(struct http_connection *c)
{
    if (!c)
        return;
    http_handle_release(&c->handle);
    curl_slist_free_all(c->headers);
    free(c);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static int set_silence_error(const struct request *r, struct err *err)
{
    char waited[32];
    text_duration(waited, sizeof waited, r->connection->options.timeout_ms);
    if (r->response->first_byte_ms < 0) {
        err_set(err, ERR_TIMEOUT, "no answer: the connection was accepted, but no data arrived for %s%s",
                waited, r->get->timed_ms ? " longer than the profile takes" : "");
        return err_mark_unreachable(err);
    }
    return err_set(err, ERR_TIMEOUT, "the answer stalled: no data for %s after %llu bytes", waited,
                   (unsigned long long)r->response->bytes);
}

static int set_slow_error(const struct request *r, struct err *err)
{
    char limit[32];
    unsigned long long bytes = r->response->bytes;
    if (r->response->failure == HTTP_FAILURE_LIMIT)
        return err_set(err, ERR_TIMEOUT, "the answer takes longer than %s, %llu bytes so far",
                       text_duration(limit, sizeof limit, r->get->limit_ms), bytes);
    return err_set(err, ERR_TIMEOUT, "the answer is too slow: less than %d bytes in %s, %llu bytes so far",
                   HTTP_TRICKLE_BYTES, text_duration(limit, sizeof limit, r->connection->options.timeout_ms),
                   bytes);
}

static int set_error(const struct request *r, const char *url, struct err *err)
{
    const char *text = r->connection->handle.error_text;
    char shown[256];
    switch (r->response->failure) {
    case HTTP_FAILURE_UNSENT:
        return err_set(err, ERR_FAILED, "libcurl cannot request %s", url);
    case HTTP_FAILURE_BROKEN:
        return err_set(err, ERR_FAILED, "libcurl failed");
    case HTTP_FAILURE_CANCELLED:
        return err_set(err, ERR_CANCELLED, "interrupted");
    case HTTP_FAILURE_SILENCE:
        return set_silence_error(r, err);
    case HTTP_FAILURE_LIMIT:
    case HTTP_FAILURE_TRICKLE:
        return set_slow_error(r, err);
    case HTTP_FAILURE_COSTLY:
        return err_set(err, ERR_FAILED, HTTP_COSTLY_TEXT);
    case HTTP_FAILURE_HEADERS:
        return err_set(err, ERR_FAILED, "its headers are larger than %u kB", HTTP_HEADERS_MAX >> 10);
    case HTTP_FAILURE_CALLBACK:
        if (err)
            *err = r->exchange.callback_err;
        return -1;
    case HTTP_FAILURE_LOST:
        return err_set(err, ERR_FAILED, "the service closed the connection after %s without an answer",
                       text_duration(shown, sizeof shown, r->response->lost_ms));
    case HTTP_FAILURE_NO_ANSWER:
        return err_set(err, ERR_FAILED, "it closed the connection without an answer");
    case HTTP_FAILURE_PARTIAL:
    case HTTP_FAILURE_RECEIVE:
        return err_set(err, ERR_FAILED, "the answer was cut off after %llu bytes",
                       (unsigned long long)r->response->bytes);
    default:
        return err_set(err, ERR_FAILED, "%s", text_printable(shown, sizeof shown, text, strlen(text)));
    }
}

/* ---- requests ------------------------------------------------------------------------------------------ */

/* Returns whether profgrab itself ended the exchange, so that the connection cannot be reused. */
static bool aborts_connection(enum http_failure failure)
{
    switch (failure) {
    case HTTP_FAILURE_BROKEN:
    case HTTP_FAILURE_CANCELLED:
    case HTTP_FAILURE_LIMIT:
    case HTTP_FAILURE_SILENCE:
    case HTTP_FAILURE_TRICKLE:
    case HTTP_FAILURE_COSTLY:
    case HTTP_FAILURE_HEADERS:
    case HTTP_FAILURE_CALLBACK:
    case HTTP_FAILURE_STOPPED:
        return true;
    default:
        return false;
    }
}

static void fill_response(struct request *request)
{
    struct http_connection *c = request->connection;
    struct http_response *r = request->response;
    CURL *e = c->handle.easy;
    long status = 0, connects = 0;
    const char *type = NULL;
    curl_off_t length = -1;
    curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(e, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(e, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(e, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    r->status = (int)status;
    r->first_byte_ms = request->exchange.first_byte_ms;
    r->duration_ms = clock_now() - request->exchange.start;
    r->ends_at_close = length < 0 && !request->chunked;
    r->reconnected = connects > 0 && c->connected && !c->aborted;
    c->connected = c->connected || connects > 0;
    c->aborted = aborts_connection(r->failure);
    if (r->first_byte_ms >= 0 && (c->round_trip_ms < 0 || r->first_byte_ms < c->round_trip_ms))
        c->round_trip_ms = r->first_byte_ms;
    if (type)
        text_printable(r->content_type, sizeof r->content_type, type, strlen(type));
    http_auth_mask(&c->options.auth, r->content_type);
    http_auth_mask(&c->options.auth, r->page);
}

int http_connection_get(struct http_connection *c, const char *url, const struct http_get *get,
                        struct http_response *ret, struct err *err)
{
    struct request r = {.connection = c, .get = get, .response = ret};
    r.exchange = (struct http_exchange){.handle = &c->handle,
                                        .cancel_fd = c->options.cancel_fd,
                                        .limit_ms = get->limit_ms,
                                        .silence_ms = c->options.timeout_ms,
                                        .trickle_ms = c->options.timeout_ms,
                                        .timed_ms = get->timed_ms,
                                        .ctx = &r,
                                        .header = on_header,
                                        .body = on_body,
                                        .progress = on_progress,
                                        .is_opening = is_channel_opening};
    *ret = (struct http_response){.started = clock_utc(), .first_byte_ms = -1};
    if (curl_easy_setopt(c->handle.easy, CURLOPT_URL, url) != CURLE_OK ||
        curl_easy_setopt(c->handle.easy, CURLOPT_SOCKOPTDATA, &r) != CURLE_OK)
        ret->failure = HTTP_FAILURE_UNSENT;
    else
        ret->failure = http_exchange_run(&r.exchange);
    if (ret->failure == HTTP_FAILURE_UNSENT)
        return set_error(&r, url, err);
    fill_response(&r);
    /* An error page longer than ERROR_PAGE_MAX is an answer too. */
    if (ret->failure == HTTP_FAILURE_STOPPED && ret->status != 0 && ret->status != 200)
        ret->failure = HTTP_FAILURE_NONE;
    else if (ret->lost_ms > 0 && ret->failure == HTTP_FAILURE_OTHER)
        ret->failure = HTTP_FAILURE_LOST;
    return ret->failure == HTTP_FAILURE_NONE ? 0 : set_error(&r, url, err);
}

const char *http_connection_redirect(const struct http_connection *c)
{
    char *url = NULL;
    return curl_easy_getinfo(c->handle.easy, CURLINFO_REDIRECT_URL, &url) == CURLE_OK ? url : NULL;
}

const char *http_connection_error_text(const struct http_connection *c)
{
    return c->handle.error_text;
}

int64_t http_connection_round_trip(const struct http_connection *c)
{
    return c->round_trip_ms;
}

void http_connection_expect_new(struct http_connection *c)
{
    c->connected = false;
}
