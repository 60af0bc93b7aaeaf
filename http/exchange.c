#include "http/exchange.h"

#include <stdio.h>
#include <string.h>

#include <openssl/ssl.h>

#include "base/banned.h"

#define TICK_MS 100

/* The limit of CPU time of all exchanges of a handle: a fixed part, and for each exchange a share of its
 * elapsed time and a part for each byte. Without this limit, tiny chunks, TCP segments of one byte and chunk
 * extensions could use a processor with almost no bytes, in each of a thousand answers. The gateway's thread
 * for such an answer uses up to four times as much CPU time. */
#define CPU_NS_FIXED INT64_C(1500000000)
#define CPU_NS_PER_MS INT64_C(2000)
/* A usual answer takes less than 1 s for each 100 MB. */
#define CPU_NS_PER_BYTE INT64_C(10)
/* The CPU time of `body` for pieces of at least this size does not count, because the client limits the
 * number of bytes. */
#define CPU_FREE_BYTES ((size_t)1024)

int http_global_init(struct err *err)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
               ? 0
               : err_set(err, ERR_FAILED, "libcurl cannot be initialised");
}

void http_global_cleanup(void)
{
    curl_global_cleanup();
}

/* ---- callbacks ----------------------------------------------------------------------------------------- */

/* Counts received bytes. */
static void note_received(struct http_exchange *x, size_t n)
{
    x->last_byte = clock_now();
    if (x->first_byte_ms < 0) {
        x->first_byte_ms = x->last_byte - x->start;
        if (x->silence_ms > 0)
            x->window_start = x->last_byte;
    }
    x->transferred += n;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    size_t len = size * n;
    note_received(x, len);
    x->headers_size += len;
    if (x->headers_size > HTTP_HEADERS_MAX)
        return 0;
    if (x->header)
        x->header(x->ctx, p, len);
    return len;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct http_exchange *x = ctx;
    size_t len = size * n;
    note_received(x, len);
    if (!x->body)
        return len;
    if (len < CPU_FREE_BYTES)
        return x->body(x->ctx, p, len, &x->callback_err) == 0 ? len : 0;
    int64_t before = clock_thread_cpu_ns();
    int rc = x->body(x->ctx, p, len, &x->callback_err);
    x->cpu_body += clock_thread_cpu_ns() - before;
    return rc == 0 ? len : 0;
}

/* ---- deadlines ----------------------------------------------------------------------------------------- */

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns whether trickle_ms have passed since window_start with too few bytes. Begins the next window after
 * that time. */
static bool is_trickling(struct http_exchange *x, int64_t now)
{
    if (x->trickle_ms <= 0 || (x->silence_ms > 0 && x->first_byte_ms < 0))
        return false;
    x->window_start = later_of(x->window_start, x->start + x->timed_ms);
    if (now - x->window_start < x->trickle_ms)
        return false;
    bool too_few = x->transferred - x->window_bytes < HTTP_TRICKLE_BYTES;
    x->window_start = now;
    x->window_bytes = x->transferred;
    return too_few;
}

/* Returns the CPU time that the handle's exchanges may still take, in ns. */
static int64_t cpu_left(const struct http_exchange *x, int64_t now)
{
    int64_t used = clock_thread_cpu_ns() - x->cpu_start - x->cpu_body;
    return x->handle->cpu_left + CPU_NS_PER_MS * (now - x->start) +
           CPU_NS_PER_BYTE * (int64_t)x->transferred - used;
}

static enum http_failure check_limits(struct http_exchange *x)
{
    int64_t now = clock_now();
    if (x->is_opening && x->is_opening(x->ctx))
        x->last_byte = now;
    if (x->limit_ms > 0 && now - x->start > x->limit_ms)
        return HTTP_FAILURE_LIMIT;
    if (fd_cancelled(x->cancel_fd))
        return HTTP_FAILURE_CANCELLED;
    if (x->silence_ms > 0 && now > later_of(x->last_byte, x->start + x->timed_ms) + x->silence_ms)
        return HTTP_FAILURE_SILENCE;
    if (cpu_left(x, now) < 0)
        return HTTP_FAILURE_COSTLY;
    return is_trickling(x, now) ? HTTP_FAILURE_TRICKLE : HTTP_FAILURE_NONE;
}

/* ---- the handle ---------------------------------------------------------------------------------------- */

/* OpenSSL calls this for each message of TLS that is not data, such as a session ticket. While the server
 * sends such messages faster than OpenSSL reads them, SSL_read does not return. So this function checks the
 * limits too, and calls SSL_set_shutdown to end SSL_read. */
static void on_tls_message(const SSL *ssl, int where, int value)
{
    const struct http_handle *h = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    struct http_exchange *x = h->running;
    (void)where;
    (void)value;
    if (x && x->end_reason == HTTP_FAILURE_NONE)
        x->end_reason = check_limits(x);
    /* Without an exchange, libcurl reads only to close the connection. */
    if (!x || x->end_reason != HTTP_FAILURE_NONE)
        SSL_set_shutdown((SSL *)ssl, SSL_RECEIVED_SHUTDOWN);
}

static CURLcode on_tls_context(CURL *easy, void *context, void *ctx)
{
    (void)easy;
    SSL_CTX_set_info_callback(context, on_tls_message);
    return SSL_CTX_set_app_data((SSL_CTX *)context, ctx) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

/* Returns nonzero if libcurl rejects any option. */
static int set_options(struct http_handle *h)
{
    int failed = 0;
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_USERAGENT, "profgrab/" PROFGRAB_VERSION);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_BUFFERSIZE, 128L * 1024);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, h->error_text);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_body);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
    failed |= (int)curl_easy_setopt(h->easy, CURLOPT_SSL_CTX_DATA, h);
    return failed;
}

int http_handle_init(struct http_handle *h, struct err *err)
{
    *h = (struct http_handle){.easy = curl_easy_init(), .multi = curl_multi_init(), .cpu_left = CPU_NS_FIXED};
    if (!h->easy || !h->multi || set_options(h) != 0)
        return err_set(err, ERR_FAILED, "libcurl cannot be set up");
    return 0;
}

void http_handle_release(struct http_handle *h)
{
    curl_easy_cleanup(h->easy);
    curl_multi_cleanup(h->multi);
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static enum http_failure find_failure(const struct http_exchange *x, CURLcode code)
{
    if (code == CURLE_OK)
        return HTTP_FAILURE_NONE;
    if (x->headers_size > HTTP_HEADERS_MAX)
        return HTTP_FAILURE_HEADERS;
    if (x->callback_err.kind != ERR_NONE)
        return HTTP_FAILURE_CALLBACK;
    switch (code) {
    case CURLE_WRITE_ERROR:
        return HTTP_FAILURE_STOPPED;
    case CURLE_PEER_FAILED_VERIFICATION:
        return HTTP_FAILURE_CERTIFICATE;
    case CURLE_SSL_CACERT_BADFILE:
        return HTTP_FAILURE_AUTHORITIES;
    case CURLE_SSL_CERTPROBLEM:
        return HTTP_FAILURE_OWN_CERTIFICATE;
    case CURLE_SSL_CONNECT_ERROR:
        return HTTP_FAILURE_TLS;
    case CURLE_GOT_NOTHING:
        return HTTP_FAILURE_NO_ANSWER;
    case CURLE_SEND_ERROR:
        return HTTP_FAILURE_SEND;
    case CURLE_RECV_ERROR:
        return HTTP_FAILURE_RECEIVE;
    case CURLE_PARTIAL_FILE:
        return HTTP_FAILURE_PARTIAL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return HTTP_FAILURE_NOT_HTTP;
    case CURLE_OPERATION_TIMEDOUT:
        return HTTP_FAILURE_TIMEOUT;
    case CURLE_OUT_OF_MEMORY:
        return HTTP_FAILURE_MEMORY;
    default:
        return HTTP_FAILURE_OTHER;
    }
}

/* Returns why we ended the transfer. HTTP_FAILURE_NONE: libcurl finished it, and *ret is libcurl's code. */
static enum http_failure run_transfer(struct http_exchange *x, CURLcode *ret)
{
    struct http_handle *h = x->handle;
    struct curl_waitfd cancel = {.fd = x->cancel_fd, .events = CURL_WAIT_POLLIN};
    int64_t reported = x->start;
    for (;;) {
        int n_running = 0, n_pending = 0;
        if (curl_multi_perform(h->multi, &n_running) != CURLM_OK)
            return HTTP_FAILURE_BROKEN;
        if (x->end_reason != HTTP_FAILURE_NONE)
            return x->end_reason;
        const CURLMsg *message = curl_multi_info_read(h->multi, &n_pending);
        if (message && message->msg == CURLMSG_DONE) {
            *ret = message->data.result;
            return HTTP_FAILURE_NONE;
        }
        enum http_failure reason = check_limits(x);
        if (reason != HTTP_FAILURE_NONE)
            return reason;
        if (x->progress && clock_now() - reported >= TICK_MS) {
            x->progress(x->ctx);
            reported = clock_now();
        }
        curl_multi_poll(h->multi, &cancel, x->cancel_fd >= 0, TICK_MS, NULL);
    }
}

enum http_failure http_exchange_run(struct http_exchange *x)
{
    struct http_handle *h = x->handle;
    CURLcode code = CURLE_OK;
    h->error_text[0] = '\0';
    x->start = x->last_byte = x->window_start = clock_now();
    x->first_byte_ms = -1;
    x->cpu_start = clock_thread_cpu_ns();
    x->cpu_body = 0;
    x->callback_err = (struct err)ERR_INIT;
    x->end_reason = HTTP_FAILURE_NONE;
    if (curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, x) != CURLE_OK ||
        curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, x) != CURLE_OK ||
        curl_multi_add_handle(h->multi, h->easy) != CURLM_OK)
        return HTTP_FAILURE_UNSENT;
    h->running = x;
    enum http_failure failure = run_transfer(x, &code);
    h->running = NULL;
    h->cpu_left = cpu_left(x, clock_now());
    h->cpu_left = h->cpu_left < CPU_NS_FIXED ? h->cpu_left : CPU_NS_FIXED;
    curl_multi_remove_handle(h->multi, h->easy);
    /* libcurl reports a header of more than 100 kB as it reports a lack of memory. */
    if (code == CURLE_OUT_OF_MEMORY)
        snprintf(h->error_text, sizeof h->error_text,
                 "one of its headers is too large, or this workstation is out of memory");
    else if (code != CURLE_OK && !h->error_text[0])
        snprintf(h->error_text, sizeof h->error_text, "%s", curl_easy_strerror(code));
    return failure != HTTP_FAILURE_NONE ? failure : find_failure(x, code);
}
