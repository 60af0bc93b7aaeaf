#include "fetch/exchange.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fetch/answer.h"
#include "fetch/endpoint.h"
#include "base/banned.h"

#define WORDS_RAW 2048
/* Read an error page up to this size, so that the connection can be reused; close the connection of a longer
 * one. */
#define ERROR_PAGE_MAX (256u << 10)
#define HEADERS_MAX (256u << 10)
#define TICK_MS 100
/* A connection that is lost within this time after the request was idle before. */
#define IDLE_END_MS 500
/* Fewer bytes than this within `timeout_ms` are an error, because a trickling body would never end. */
#define TRICKLE_BYTES 1024

/* A request in progress. */
struct exchange {
    struct transfer *t;
    const struct transfer_request *request;
    struct transfer_response *response;
    struct buf words;
    uint64_t received; /* bytes of headers and body */
    size_t headers_size;
    size_t error_page;    /* bytes of the error page */
    bool chunked;         /* libcurl recognises the end of a chunked body */
    int64_t lost_ms;      /* the time into the request at which its connection was lost; 0: it was not */
    int64_t start;        /* clock_now() */
    int64_t last_byte;    /* clock_now() at the last byte of a header or body */
    int64_t window_start; /* start of the interval in which a trickle is measured */
    uint64_t window_from; /* `received` at window_start */
    struct err body_err;
};

/* Counts received bytes. */
static void note_received(struct exchange *x, size_t n)
{
    x->last_byte = clock_now();
    if (x->response->first_ms < 0) {
        x->response->first_ms = x->last_byte - x->start;
        x->window_start = x->last_byte;
    }
    x->received += n;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    size_t len = size * n;
    note_received(x, len);
    x->headers_size += len;
    if (x->headers_size > HEADERS_MAX) {
        err_set(&x->body_err, ERR_FAILED, "its headers are larger than %u kB", HEADERS_MAX >> 10);
        return 0;
    }
    if (len > 18 && strncasecmp(p, "transfer-encoding:", 18) == 0)
        x->chunked = true;
    if (len > 5 && strncasecmp(p, "date:", 5) == 0) {
        char value[64];
        text_printable(value, sizeof value, p + 5, len - 5);
        time_t date = curl_getdate(value, NULL);
        if (date > 0) {
            x->response->date = (int64_t)date * 1000;
            x->response->date_at = clock_utc();
        }
    }
    return len;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    size_t len = size * n;
    long status = 0;
    note_received(x, len);
    curl_easy_getinfo(x->t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        size_t room = x->words.max - x->words.len;
        buf_add(&x->words, p, len < room ? len : room);
        x->error_page += len;
        return x->error_page <= ERROR_PAGE_MAX ? len : 0;
    }
    if (x->request->body(x->request->ctx, p, len, &x->body_err) < 0)
        return 0;
    x->response->bytes += len;
    return len;
}

/*
 * libcurl repeats a request if the connection it reused turns out to be closed. Within IDLE_END_MS this is
 * the end of an idle connection. Later the service has died during the request, and a request to its
 * successor would hide that.
 */
static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    (void)fd;
    (void)purpose;
    struct exchange *x = ctx;
    int64_t elapsed = clock_now() - x->start;
    if (!x->t->connected || elapsed < IDLE_END_MS)
        return CURL_SOCKOPT_OK;
    x->lost_ms = elapsed;
    return CURL_SOCKOPT_ERROR;
}

int exchange_set_callbacks(struct transfer *t)
{
    int failed = 0;
    failed |= curl_easy_setopt(t->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    failed |= curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
    failed |= curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    return failed;
}

/* ---- deadlines ----------------------------------------------------------------------------------------- */

/* Allows silence for the time that the server takes by design, plus `timeout_ms`. */
static int64_t silence_deadline(const struct exchange *x)
{
    int64_t by_design = x->start + x->request->timed_ms;
    int64_t from = x->last_byte > by_design ? x->last_byte : by_design;
    return from + x->t->options.timeout_ms;
}

static int silence_error(const struct exchange *x, struct err *err)
{
    char waited[32];
    text_duration(waited, sizeof waited, x->t->options.timeout_ms);
    if (x->response->first_ms < 0) {
        err_set(err, ERR_TIMEOUT, "no answer: it accepts the connection but said nothing for %s%s", waited,
                x->request->timed_ms ? " longer than the profile takes" : "");
        return err_unreached(err);
    }
    return err_set(err, ERR_TIMEOUT, "the answer stopped in the middle: nothing for %s after %llu bytes",
                   waited, (unsigned long long)x->response->bytes);
}

/* Whether the body arrives too slowly. Measures over `timeout_ms`, and only after the time that the server
 * takes by design. */
static bool is_trickling(struct exchange *x, int64_t now)
{
    int64_t by_design = x->start + x->request->timed_ms;
    if (x->window_start < by_design)
        x->window_start = by_design;
    if (x->response->first_ms < 0 || now - x->window_start < x->t->options.timeout_ms)
        return false;
    bool few = x->received - x->window_from < TRICKLE_BYTES;
    x->window_start = now;
    x->window_from = x->received;
    return few;
}

static int trickle_error(const struct exchange *x, struct err *err)
{
    char over[32];
    return err_set(err, ERR_TIMEOUT, "the answer only trickles: less than %d bytes in %s, %llu bytes so far",
                   TRICKLE_BYTES, text_duration(over, sizeof over, x->t->options.timeout_ms),
                   (unsigned long long)x->response->bytes);
}

static int limit_error(const struct exchange *x, struct err *err)
{
    char limit[32];
    return err_set(err, ERR_TIMEOUT, "the answer takes longer than %s, %llu bytes so far",
                   text_duration(limit, sizeof limit, x->request->limit_ms),
                   (unsigned long long)x->response->bytes);
}

static int check_time(struct exchange *x, struct err *err)
{
    int64_t now = clock_now();
    /* The service is not silent while the gateway still opens the connection. */
    if (gateway_listener_opens(x->t->listener))
        x->last_byte = now;
    if (x->request->limit_ms > 0 && now - x->start > x->request->limit_ms)
        return limit_error(x, err);
    if (fd_cancelled(x->t->options.cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (now > silence_deadline(x))
        return silence_error(x, err);
    return is_trickling(x, now) ? trickle_error(x, err) : 0;
}

/* Runs the transfer to its end. */
static int run_transfer(struct exchange *x, CURLcode *ret, struct err *err)
{
    struct transfer *t = x->t;
    struct curl_waitfd cancel = {.fd = t->options.cancel_fd, .events = CURL_WAIT_POLLIN};
    int64_t told = x->start;
    for (;;) {
        int running = 0, pending = 0;
        if (curl_multi_perform(t->multi, &running) != CURLM_OK)
            return err_set(err, ERR_FAILED, "libcurl failed");
        CURLMsg *message = curl_multi_info_read(t->multi, &pending);
        if (message && message->msg == CURLMSG_DONE) {
            *ret = message->data.result;
            return 0;
        }
        int64_t now = clock_now();
        if (check_time(x, err) < 0)
            return -1;
        if (x->request->progress && now - told >= TICK_MS) {
            x->request->progress(x->request->progress_ctx, x->response->bytes, now - x->start);
            told = now;
        }
        curl_multi_poll(t->multi, &cancel, t->options.cancel_fd >= 0, TICK_MS, NULL);
    }
}

/* ---- errors -------------------------------------------------------------------------------------------- */

/* If a middleware's ResponseWriter hides the connection, Go cannot extend its WriteTimeout. The connection
 * then closes when the profile is ready (net/http/pprof, from Go 1.23 on). */
static int hint_write_timeout(const struct exchange *x, struct err *err)
{
    if (x->request->timed_ms == 0 || clock_now() - x->start < x->request->timed_ms * 9 / 10)
        return -1;
    return err_hint(err,
                    "is the WriteTimeout of the program's http.Server shorter than the profile? ask for a "
                    "shorter one");
}

/* Explains why there is no complete answer. */
static int transfer_error(struct exchange *x, CURLcode code, struct err *err)
{
    struct transfer *t = x->t;
    if (x->body_err.kind != ERR_NONE) {
        if (err)
            *err = x->body_err;
        return -1;
    }
    const char *words = t->curl_words[0] ? t->curl_words : curl_easy_strerror(code);
    unsigned long long bytes = x->response->bytes;
    /* A TLS alert explains more than the closed connection does. No other TLS error does. */
    if ((strstr(words, "alert") && endpoint_tls_error(t->service, code, words, err)) ||
        gateway_listener_failure(t->listener, err) < 0 || endpoint_tls_error(t->service, code, words, err))
        return -1;
    if (x->lost_ms > 0) {
        char after[32];
        err_set(err, ERR_FAILED, "the service closed the connection %s into it, without an answer",
                text_duration(after, sizeof after, x->lost_ms));
        err_hint(err, "did it crash or restart?");
        return hint_write_timeout(x, err);
    }
    switch (code) {
    case CURLE_GOT_NOTHING:
        err_set(err, ERR_FAILED, "it closed the connection without an answer");
        return hint_write_timeout(x, err);
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
        x->response->cut_off = true;
        err_set(err, ERR_FAILED, "the answer was cut off after %llu bytes", bytes);
        return hint_write_timeout(x, err);
    case CURLE_OUT_OF_MEMORY: /* libcurl returns this also for a header of more than 100 kB */
        return err_set(err, ERR_FAILED,
                       "one of its headers is too large, or this workstation is out of memory");
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        /* A retry would not help either. */
        if (t->service->unix_path)
            return err_set(err, ERR_DENIED, "what answers on %s does not speak HTTP", t->service->unix_path);
        err_set(err, ERR_DENIED, "what answers on port %u does not speak HTTP", t->service->port);
        return err_hint(err, "is the port right?%s",
                        t->service->adhoc ? "" : " `profgrab hosts` shows what the inventory says");
    default: {
        char shown[256];
        return err_set(err, ERR_FAILED, "%s", text_printable(shown, sizeof shown, words, strlen(words)));
    }
    }
}

static void finish_response(struct exchange *x)
{
    struct transfer *t = x->t;
    struct transfer_response *r = x->response;
    long status = 0, connects = 0;
    const char *type = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(t->easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    r->status = (int)status;
    r->duration_ms = clock_now() - x->start;
    r->reconnected = connects > 0 && t->connected && !t->broken_off;
    t->connected = t->connected || connects > 0;
    if (r->first_ms >= 0 && (t->round_trip_ms < 0 || r->first_ms < t->round_trip_ms))
        t->round_trip_ms = r->first_ms;
    if (type)
        text_printable(r->content_type, sizeof r->content_type, type, strlen(type));
    /* Mask before cutting the text to size, because half a secret is a secret too. */
    if (x->words.len > 0)
        transfer_redact(t, x->words.data);
    answer_words(buf_str(&x->words), strlen(buf_str(&x->words)), r->words, sizeof r->words);
    transfer_redact(t, r->words);
    transfer_redact(t, r->content_type);
}

static int prepare_request(struct exchange *x, const char *target, struct err *err)
{
    struct transfer *t = x->t;
    char url[1400];
    if (endpoint_url(t->service, target, url, sizeof url, err) < 0)
        return -1;
    t->curl_words[0] = '\0';
    if (curl_easy_setopt(t->easy, CURLOPT_URL, url) != CURLE_OK ||
        curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, x) != CURLE_OK ||
        curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, x) != CURLE_OK ||
        curl_easy_setopt(t->easy, CURLOPT_SOCKOPTDATA, x) != CURLE_OK ||
        curl_multi_add_handle(t->multi, t->easy) != CURLM_OK)
        return err_set(err, ERR_FAILED, "libcurl cannot ask for %s", target);
    return 0;
}

/* A body without a length ends with its connection. libcurl does not know why the connection ended; the
 * gateway does. */
static int check_end(struct exchange *x, struct err *err)
{
    curl_off_t length = -1;
    curl_easy_getinfo(x->t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length >= 0 || x->chunked ? 0 : gateway_listener_failure(x->t->listener, err);
}

int exchange_run(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err)
{
    struct exchange x = {.t = t, .request = request, .response = ret, .words = BUF_INIT(WORDS_RAW)};
    CURLcode code = CURLE_OK;
    x.start = x.last_byte = x.window_start = clock_now();
    /* Discard the gateway's error: the end of an idle connection is not a failure of this request. */
    gateway_listener_failure(t->listener, NULL);
    *ret = (struct transfer_response){.started = clock_utc(), .first_ms = -1};
    if (prepare_request(&x, request->target, err) < 0)
        return -1;
    int rc = run_transfer(&x, &code, err);
    finish_response(&x);
    t->broken_off = rc < 0 || code == CURLE_WRITE_ERROR;
    curl_multi_remove_handle(t->multi, t->easy);
    /* An error page longer than ERROR_PAGE_MAX is an answer too. */
    bool answered =
        ret->status != 0 && ret->status != 200 && code == CURLE_WRITE_ERROR && x.body_err.kind == ERR_NONE;
    if (rc == 0 && code != CURLE_OK && !answered)
        rc = transfer_error(&x, code, err);
    if (rc == 0 && ret->status == 200)
        rc = check_end(&x, err);
    buf_release(&x.words);
    return rc;
}
