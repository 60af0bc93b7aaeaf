#include "fetch/transfer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fetch/fetch.h"
#include "base/banned.h"

#define WORDS_RAW 2048
/* So much of an error page is read, so that its connection can be kept; a longer one is broken off. */
#define ERROR_PAGE_MAX (256u << 10)
#define TICK_MS 100
/* Up to here a lost connection was an idle one. */
#define IDLE_END_MS 500

struct transfer {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    struct gateway_listener *listener;
    const struct service *service;
    struct transfer_options options;
    char curl_words[CURL_ERROR_SIZE];
    bool connected;  /* a connection was opened before */
    bool broken_off; /* the last one was closed by us */
};

/* One request under way. */
struct exchange {
    struct transfer *t;
    const struct transfer_request *request;
    struct transfer_response *response;
    struct buf words;
    size_t error_page; /* bytes of it */
    int64_t lost_ms;   /* into the request, the connection it was sent over was lost; 0: it was not */
    int64_t start;     /* clock_now() */
    int64_t last_byte; /* of header or body */
    struct err body_err;
};

int fetch_global_init(struct err *err)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
               ? 0
               : err_set(err, ERR_FAILED, "libcurl cannot be initialised");
}

void fetch_global_cleanup(void)
{
    curl_global_cleanup();
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    size_t len = size * n;
    x->last_byte = clock_now();
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
    x->last_byte = clock_now();
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
 * libcurl sends a request again when the connection it reused turns out to be closed. Right at the start that
 * is the end of an idle connection. Later it is a service that died over the request, and asking whatever
 * runs there now would hide it.
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

/* An option that cannot be set is a libcurl that cannot be used: all are collected into one result. */
static CURLcode set_options(struct transfer *t)
{
    CURL *e = t->easy;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, gateway_listener_path(t->listener));
    failed |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    failed |= curl_easy_setopt(e, CURLOPT_PROXY, "");
    failed |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http");
    failed |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= curl_easy_setopt(e, CURLOPT_USERAGENT, "profgrab/" PROFGRAB_VERSION);
    failed |= curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 128L * 1024);
    failed |= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->curl_words);
    failed |= curl_easy_setopt(e, CURLOPT_SOCKOPTFUNCTION, on_socket);
    failed |= curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    failed |= curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    failed |= curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
    /* A raw path is sent as the user wrote it. */
    failed |= curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    return failed ? CURLE_FAILED_INIT : CURLE_OK;
}

int transfer_new(struct gateway_listener *listener, const struct service *service,
                 const struct transfer_options *options, struct transfer **ret, struct err *err)
{
    struct transfer *t = calloc(1, sizeof *t);
    if (!t)
        return err_nomem(err);
    t->listener = listener;
    t->service = service;
    t->options = *options;
    t->easy = curl_easy_init();
    t->multi = curl_multi_init();
    if (service->host_header) {
        char header[300];
        snprintf(header, sizeof header, "Host: %s", service->host_header);
        t->headers = curl_slist_append(NULL, header);
    }
    if (!t->easy || !t->multi || (service->host_header && !t->headers) || set_options(t) != CURLE_OK) {
        transfer_free(t);
        return err_set(err, ERR_FAILED, "libcurl cannot be set up");
    }
    *ret = t;
    return 0;
}

void transfer_free(struct transfer *t)
{
    if (!t)
        return;
    curl_easy_cleanup(t->easy);
    curl_multi_cleanup(t->multi);
    curl_slist_free_all(t->headers);
    free(t);
}

/* Silence is allowed for as long as the server takes by design, and `timeout_ms` more. */
static int64_t silence_deadline(const struct exchange *x)
{
    int64_t by_design = x->start + x->request->timed_ms;
    int64_t from = x->last_byte > by_design ? x->last_byte : by_design;
    return from + x->t->options.timeout_ms;
}

static int silent(const struct exchange *x, struct err *err)
{
    char waited[32];
    text_duration(waited, sizeof waited, x->t->options.timeout_ms);
    if (x->last_byte == x->start)
        return err_set(err, ERR_TIMEOUT, "no answer: it accepts the connection but said nothing for %s%s",
                       waited, x->request->timed_ms ? " longer than the profile takes" : "");
    return err_set(err, ERR_TIMEOUT, "the answer stopped in the middle: nothing for %s after %llu bytes",
                   waited, (unsigned long long)x->response->bytes);
}

/* Drives the transfer to its end. */
static int drive(struct exchange *x, CURLcode *ret, struct err *err)
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
        if (fd_cancelled(t->options.cancel_fd))
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (now > silence_deadline(x))
            return silent(x, err);
        if (x->request->progress && now - told >= TICK_MS) {
            x->request->progress(x->request->progress_ctx, x->response->bytes, now - x->start);
            told = now;
        }
        curl_multi_poll(t->multi, &cancel, t->options.cancel_fd >= 0, TICK_MS, NULL);
    }
}

/* Why there was no whole answer. */
static int transfer_error(struct exchange *x, CURLcode code, struct err *err)
{
    struct transfer *t = x->t;
    if (x->body_err.kind != ERR_NONE) {
        if (err)
            *err = x->body_err;
        return -1;
    }
    if (gateway_listener_failure(t->listener, err) < 0)
        return -1;
    unsigned long long bytes = x->response->bytes;
    if (x->lost_ms > 0) {
        char after[32];
        err_set(err, ERR_FAILED, "the service closed the connection %s into it, without an answer",
                text_duration(after, sizeof after, x->lost_ms));
        return err_hint(err, "did it crash or restart?");
    }
    switch (code) {
    case CURLE_GOT_NOTHING:
        return err_set(err, ERR_FAILED, "it closed the connection without an answer");
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
        return err_set(err, ERR_FAILED, "the answer was cut off after %llu bytes", bytes);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        err_set(err, ERR_FAILED, "what answers on port %u does not speak HTTP", t->service->port);
        return err_hint(err, "is the port right? `profgrab hosts` shows what the inventory says");
    default: {
        const char *words = t->curl_words[0] ? t->curl_words : curl_easy_strerror(code);
        char shown[256];
        return err_set(err, ERR_FAILED, "%s", text_printable(shown, sizeof shown, words, strlen(words)));
    }
    }
}

static int status_error(const struct transfer_response *r, struct err *err)
{
    enum err_kind kind = r->status == 404 ? ERR_NOT_FOUND : ERR_FAILED;
    /* The whole of it is in r->words; a message has to hold its context as well. */
    err_set(err, kind, "HTTP %d%s%.160s%s", r->status, r->words[0] ? ": " : "", r->words,
            strlen(r->words) > 160 ? "..." : "");
    /* Go's words (net/http/pprof), before and after 1.25. */
    if (strstr(r->words, "profiling already in use") || strstr(r->words, "tracing is already enabled") ||
        strstr(r->words, "tracer already enabled"))
        err_hint(
            err,
            "somebody else (a colleague, a continuous profiler) is at it in this process: wait and repeat");
    return -1;
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
    if (type)
        text_printable(r->content_type, sizeof r->content_type, type, strlen(type));
    text_printable(r->words, sizeof r->words, buf_str(&x->words), x->words.len);
}

int transfer_get(struct transfer *t, const struct transfer_request *request, struct transfer_response *ret,
                 struct err *err)
{
    struct exchange x = {.t = t, .request = request, .response = ret, .words = BUF_INIT(WORDS_RAW)};
    char url[1024];
    CURLcode code = CURLE_OK;
    x.start = x.last_byte = clock_now();
    /* The end of an idle connection is not this request's failure. */
    gateway_listener_failure(t->listener, NULL);
    *ret = (struct transfer_response){.started = clock_utc()};
    bool ipv6 = strchr(t->service->host, ':') != NULL;
    snprintf(url, sizeof url, "http://%s%s%s:%u%s", ipv6 ? "[" : "", t->service->host, ipv6 ? "]" : "",
             t->service->port, request->target);
    t->curl_words[0] = '\0';
    if (curl_easy_setopt(t->easy, CURLOPT_URL, url) != CURLE_OK ||
        curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, &x) != CURLE_OK ||
        curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, &x) != CURLE_OK ||
        curl_easy_setopt(t->easy, CURLOPT_SOCKOPTDATA, &x) != CURLE_OK ||
        curl_multi_add_handle(t->multi, t->easy) != CURLM_OK)
        return err_set(err, ERR_FAILED, "libcurl cannot ask for %s", request->target);
    int rc = drive(&x, &code, err);
    finish_response(&x);
    t->broken_off = rc < 0 || code == CURLE_WRITE_ERROR;
    curl_multi_remove_handle(t->multi, t->easy);
    buf_release(&x.words);
    if (rc < 0)
        return -1;
    /* An error page that was longer than we read is an answer all the same. */
    if (ret->status != 0 && ret->status != 200 && (code == CURLE_OK || code == CURLE_WRITE_ERROR))
        return status_error(ret, err);
    return code == CURLE_OK ? 0 : transfer_error(&x, code, err);
}
