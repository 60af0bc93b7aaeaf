/*
 * libcurl repeats a request by itself if a kept-alive connection turns out to be closed. That could create a
 * second issue or upload a second file. So each request but a GET opens a new connection, on which libcurl
 * does not repeat it.
 */
#include "http/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>
#include <unistd.h>

#include "http/url_origin.h"
#include "base/banned.h"

#define HEADERS_MAX (256u << 10)
#define TICK_MS 100
/* An exchange that moves fewer bytes in `silence_ms` has stalled. */
#define TRICKLE_BYTES 1024
/* The time limit of an exchange without a file, as a multiple of `silence_ms`. */
#define ANSWER_PATIENCE 4

struct exchange {
    struct http *h;
    const struct http_request *request;
    struct http_answer *answer;
    struct curl_slist *headers;
    curl_mime *mime;
    uint64_t offset; /* bytes of the file that libcurl has read */
    uint64_t taken;  /* bytes given to the request's `body` */
    size_t headers_size;
    uint64_t moved; /* bytes in either direction */
    int64_t start, window_start;
    uint64_t window_from;
    struct err failure; /* the error of a callback */
};

void http_mask(const struct http *h, char *text)
{
    if (h->token && h->token->len)
        secret_mask(text, h->token->text);
}

/* ---- callbacks ----------------------------------------------------------------------------------------- */

static size_t on_read(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    const struct http_file *f = x->request->file;
    size_t want = size * n;
    if (f->size - x->offset < want)
        want = (size_t)(f->size - x->offset);
    if (want == 0)
        return 0;
    ssize_t got = pread(f->fd, p, want, (off_t)x->offset);
    if (got <= 0) {
        if (got < 0)
            err_sys(&x->failure, "cannot read the bundle");
        else
            err_set(&x->failure, ERR_LOCAL_IO, "the bundle became shorter while it was sent");
        return CURL_READFUNC_ABORT;
    }
    x->offset += (uint64_t)got;
    x->moved += (uint64_t)got;
    return (size_t)got;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct exchange *x = ctx;
    if (origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_CANTSEEK;
    x->offset = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* Returns the value of a header line if it begins with `name`, which includes the colon; else NULL. */
static const char *header_value(const char *line, size_t n, const char *name, size_t *ret_n)
{
    size_t length = strlen(name);
    if (n < length || strncasecmp(line, name, length) != 0)
        return NULL;
    *ret_n = n - length;
    return line + length;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    struct http_answer *a = x->answer;
    size_t len = size * n, m = 0;
    const char *value = NULL;
    x->moved += len;
    x->headers_size += len;
    if (x->headers_size > HEADERS_MAX) {
        err_set(&x->failure, ERR_FAILED, "the answer's headers are larger than %u kB", HEADERS_MAX >> 10);
        return 0;
    }
    if ((value = header_value(p, len, "retry-after:", &m)))
        text_printable(a->asked_wait, sizeof a->asked_wait, value, m);
    return len;
}

static size_t pass_to_sink(struct exchange *x, const char *p, size_t n)
{
    const struct http_request *r = x->request;
    if (n > r->limit - x->taken) {
        err_set(&x->failure, ERR_FAILED, "the answer is larger than %llu bytes",
                (unsigned long long)r->limit);
        return 0;
    }
    x->taken += n;
    return r->body(r->ctx, p, n, &x->failure) < 0 ? 0 : n;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    size_t len = size * n;
    long status = 0;
    x->moved += len;
    curl_easy_getinfo(x->h->easy, CURLINFO_RESPONSE_CODE, &status);
    if (x->request->body && status == 200)
        return pass_to_sink(x, p, len);
    buf_add(&x->answer->body, p, len);
    return buf_check(&x->answer->body, "the answer", &x->failure) < 0 ? 0 : len;
}

int http_exchange_set(struct http *h)
{
    int failed = 0;
    failed |= curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, on_header);
    failed |= curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, on_body);
    failed |= curl_easy_setopt(h->easy, CURLOPT_READFUNCTION, on_read);
    failed |= curl_easy_setopt(h->easy, CURLOPT_SEEKFUNCTION, on_seek);
    return failed;
}

/* ---- the request --------------------------------------------------------------------------------------- */

static bool add_json(curl_mime *mime, const char *json)
{
    curl_mimepart *part = curl_mime_addpart(mime);
    return curl_mime_name(part, "JSON") == CURLE_OK && curl_mime_type(part, "application/json") == CURLE_OK &&
           curl_mime_data(part, json, CURL_ZERO_TERMINATED) == CURLE_OK;
}

static bool add_file(struct exchange *x, const struct http_file *f)
{
    curl_mimepart *part = curl_mime_addpart(x->mime);
    return curl_mime_name(part, f->part) == CURLE_OK && curl_mime_filename(part, f->name) == CURLE_OK &&
           curl_mime_type(part, "application/octet-stream") == CURLE_OK &&
           curl_mime_data_cb(part, (curl_off_t)f->size, on_read, on_seek, NULL, x) == CURLE_OK;
}

static int set_form(struct exchange *x)
{
    const struct http_file *f = x->request->file;
    x->mime = curl_mime_init(x->h->easy);
    if (!x->mime || (f->json && !add_json(x->mime, f->json)) || !add_file(x, f))
        return CURLE_OUT_OF_MEMORY;
    return curl_easy_setopt(x->h->easy, CURLOPT_MIMEPOST, x->mime) == CURLE_OK ? 0 : CURLE_FAILED_INIT;
}

/* Sets a file as the body. libcurl needs other options for a POST than for a PUT. */
static int set_raw_body(struct exchange *x)
{
    CURL *e = x->h->easy;
    curl_off_t size = (curl_off_t)x->request->file->size;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_READDATA, x);
    failed |= curl_easy_setopt(e, CURLOPT_SEEKDATA, x);
    if (strcmp(x->request->method, "POST") == 0) {
        failed |= curl_easy_setopt(e, CURLOPT_POST, 1L);
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, size);
    } else {
        failed |= curl_easy_setopt(e, CURLOPT_UPLOAD, 1L);
        failed |= curl_easy_setopt(e, CURLOPT_INFILESIZE_LARGE, size);
    }
    return failed;
}

static int add_header(struct curl_slist **list, const char *header)
{
    struct curl_slist *longer = curl_slist_append(*list, header);
    if (!longer)
        return CURLE_OUT_OF_MEMORY;
    *list = longer;
    return 0;
}

void http_headers_free(struct curl_slist *headers)
{
    for (const struct curl_slist *i = headers; i; i = i->next)
        explicit_bzero(i->data, strlen(i->data));
    curl_slist_free_all(headers);
}

static int set_headers(struct exchange *x, bool bare)
{
    const struct http_request *r = x->request;
    int failed = x->h->auth && !bare ? add_header(&x->headers, x->h->auth->data) : 0;
    failed |= add_header(&x->headers, r->body ? "Accept: */*" : "Accept: application/json");
    if (r->json)
        failed |= add_header(&x->headers, "Content-Type: application/json");
    else if (r->file && !r->file->part)
        failed |= add_header(&x->headers, "Content-Type: application/octet-stream");
    failed |= curl_easy_setopt(x->h->easy, CURLOPT_HTTPHEADER, x->headers);
    return failed;
}

static int set_body(struct exchange *x)
{
    CURL *e = x->h->easy;
    const struct http_request *r = x->request;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    if (r->json) {
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(r->json));
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, r->json);
    } else if (r->file) {
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, NULL);
        failed |= r->file->part ? set_form(x) : set_raw_body(x);
    }
    failed |= curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
    return failed;
}

/* Any authority may have certified a store, so a bare request also trusts the system's authorities. Only TLS
 * may use a proxy of the environment, because the proxy cannot read it; plain HTTP goes to loopback. */
static int set_target(const struct exchange *x, const struct http_target *t)
{
    CURL *e = x->h->easy;
    bool https = strncasecmp(t->url, "https://", 8) == 0;
    int failed = curl_easy_setopt(e, CURLOPT_URL, t->url);
    failed |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, https ? "https" : "http");
    failed |= curl_easy_setopt(e, CURLOPT_PROXY, https ? NULL : "");
    if (x->h->ca)
        failed |=
            curl_easy_setopt(e, CURLOPT_CAPATH, t->bare ? curl_version_info(CURLVERSION_NOW)->capath : NULL);
    return failed;
}

static int prepare_request(struct exchange *x, const struct http_target *target, struct err *err)
{
    CURL *e = x->h->easy;
    bool safe = strcmp(x->request->method, "GET") == 0;
    x->h->curl_words[0] = '\0';
    int failed = set_target(x, target);
    failed |= curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
    failed |= curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
    failed |= curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, safe ? 0L : 1L);
    failed |= set_body(x);
    failed |= set_headers(x, target->bare);
    if (failed || curl_multi_add_handle(x->h->multi, e) != CURLM_OK)
        return err_set(err, ERR_FAILED, "libcurl cannot make the request");
    return 0;
}

/* ---- deadlines ----------------------------------------------------------------------------------------- */

static int set_slow_error(const struct exchange *x, struct err *err)
{
    char over[32];
    text_duration(over, sizeof over, x->h->silence_ms);
    const struct http_file *f = x->request->file;
    if (x->headers_size == 0 && (!f || x->offset == f->size))
        return err_set(err, ERR_TIMEOUT, "no answer: nothing came for %s", over);
    return err_set(err, ERR_TIMEOUT, "it stopped in the middle: less than %d bytes moved in %s",
                   TRICKLE_BYTES, over);
}

/* Enforces the deadlines. No byte moves while the tracker processes the request, so that time counts too. */
static int check_time(struct exchange *x, struct err *err)
{
    int64_t now = clock_now();
    if (fd_cancelled(x->h->options.cancel_fd))
        return err_set(err, ERR_CANCELLED, "interrupted");
    if (!x->request->body && !x->request->file && now - x->start > ANSWER_PATIENCE * x->h->silence_ms)
        return err_set(err, ERR_TIMEOUT, "the answer only trickles");
    if (now - x->window_start < x->h->silence_ms)
        return 0;
    if (x->moved - x->window_from < TRICKLE_BYTES)
        return set_slow_error(x, err);
    x->window_start = now;
    x->window_from = x->moved;
    return 0;
}

static void report_progress(const struct exchange *x)
{
    const struct http_options *o = &x->h->options;
    if (o->progress && x->request->file)
        o->progress(o->ctx, x->offset, x->request->file->size);
}

static int run_exchange(struct exchange *x, CURLcode *ret, struct err *err)
{
    struct curl_waitfd cancel = {.fd = x->h->options.cancel_fd, .events = CURL_WAIT_POLLIN};
    int64_t reported = x->start;
    for (;;) {
        int running = 0, pending = 0;
        if (curl_multi_perform(x->h->multi, &running) != CURLM_OK)
            return err_set(err, ERR_FAILED, "libcurl failed");
        CURLMsg *message = curl_multi_info_read(x->h->multi, &pending);
        if (message && message->msg == CURLMSG_DONE) {
            *ret = message->data.result;
            report_progress(x);
            return 0;
        }
        if (check_time(x, err) < 0)
            return -1;
        if (clock_now() - reported >= TICK_MS) {
            report_progress(x);
            reported = clock_now();
        }
        curl_multi_poll(x->h->multi, &cancel, cancel.fd >= 0, TICK_MS, NULL);
    }
}

/* ---- the result ---------------------------------------------------------------------------------------- */

/* A body that libcurl has read to its end may still be in the kernel, but counts as sent. */
static enum http_sent find_sent(const struct exchange *x)
{
    long request = 0;
    curl_easy_getinfo(x->h->easy, CURLINFO_REQUEST_SIZE, &request);
    if (request == 0)
        return HTTP_SENT_NOTHING;
    return x->request->file && x->offset < x->request->file->size ? HTTP_SENT_PART : HTTP_SENT_WHOLE;
}

static void fill_answer(struct exchange *x)
{
    struct http_answer *a = x->answer;
    long status = 0;
    const char *type = NULL, *location = NULL;
    curl_easy_getinfo(x->h->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(x->h->easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(x->h->easy, CURLINFO_REDIRECT_URL, &location);
    a->status = status >= 200 ? (int)status : 0;
    a->sent = find_sent(x);
    a->file_sent = x->offset;
    if (type)
        text_printable(a->content_type, sizeof a->content_type, type, strlen(type));
    if (location)
        url_origin_strip(location, a->location, sizeof a->location);
    if (a->body.len > 0)
        http_mask(x->h, a->body.data);
    a->body.len = strlen(buf_str(&a->body));
    http_mask(x->h, a->content_type);
    http_mask(x->h, a->location);
    http_mask(x->h, a->asked_wait);
}

/* Sets the error of a callback if there is one, because that made libcurl stop. */
static int set_failure(const struct exchange *x, CURLcode code, struct err *err)
{
    if (x->failure.kind == ERR_NONE)
        return http_failed(x->h, code, err);
    if (err)
        *err = x->failure;
    return -1;
}

int http_exchange(struct http *h, const struct http_request *request, const struct http_target *target,
                  struct http_answer *ret, struct err *err)
{
    struct exchange x = {.h = h, .request = request, .answer = ret, .failure = ERR_INIT};
    CURLcode code = CURLE_OK;
    int rc = prepare_request(&x, target, err);
    x.start = x.window_start = clock_now();
    if (rc == 0) {
        rc = run_exchange(&x, &code, err);
        fill_answer(&x);
        curl_multi_remove_handle(h->multi, h->easy);
    }
    /* A server that refuses a large body need not read all of it: its answer counts. */
    bool refused = ret->status >= 400 && (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR);
    if (rc == 0 && code != CURLE_OK && !refused)
        rc = set_failure(&x, code, err);
    curl_easy_setopt(h->easy, CURLOPT_MIMEPOST, NULL);
    curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, NULL);
    curl_mime_free(x.mime);
    http_headers_free(x.headers);
    return rc;
}
