/*
 * libcurl repeats a request if the server has closed the kept-alive connection. A repeated request could
 * create a second issue or upload a second file. Therefore each request except a GET opens a new connection,
 * on which libcurl does not repeat a request.
 */
#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>
#include <unistd.h>

#include "http/url_origin.h"
#include "base/banned.h"

/* The time limit of an exchange without a file and a `body` callback, as a multiple of `silence_ms`. */
#define ANSWER_LIMIT_FACTOR 4

struct attempt {
    struct http *http;
    const struct http_request *request;
    struct http_answer *answer;
    struct http_exchange exchange;
    struct curl_slist *headers;
    curl_mime *mime;
    uint64_t offset; /* bytes of the file that libcurl has read */
    uint64_t passed; /* bytes given to the request's `body` */
};

void http_mask(const struct http *h, char *text)
{
    if (h->token && h->token->len)
        secret_mask(text, h->token->text);
}

/* ---- callbacks ----------------------------------------------------------------------------------------- */

static size_t on_read(char *p, size_t size, size_t n, void *ctx)
{
    struct attempt *attempt = ctx;
    const struct http_file *f = attempt->request->file;
    size_t max = size * n;
    if (f->size - attempt->offset < max)
        max = (size_t)(f->size - attempt->offset);
    if (max == 0)
        return 0;
    ssize_t got = pread(f->fd, p, max, (off_t)attempt->offset);
    if (got <= 0) {
        if (got < 0)
            err_sys(&attempt->exchange.callback_err, "cannot read the bundle");
        else
            err_set(&attempt->exchange.callback_err, ERR_LOCAL_IO,
                    "the bundle became shorter while it was sent");
        return CURL_READFUNC_ABORT;
    }
    attempt->offset += (uint64_t)got;
    attempt->exchange.transferred += (uint64_t)got;
    return (size_t)got;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct attempt *attempt = ctx;
    if (origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_CANTSEEK;
    attempt->offset = (uint64_t)offset;
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

static void on_header(void *ctx, const char *p, size_t n)
{
    struct attempt *attempt = ctx;
    size_t m = 0;
    const char *value = header_value(p, n, "retry-after:", &m);
    if (value)
        text_printable(attempt->answer->retry_after, sizeof attempt->answer->retry_after, value, m);
}

static int pass_to_body_callback(struct attempt *attempt, const char *p, size_t n, struct err *err)
{
    const struct http_request *r = attempt->request;
    if (n > r->limit - attempt->passed)
        return err_set(err, ERR_FAILED, "the answer is larger than %llu bytes", (unsigned long long)r->limit);
    attempt->passed += n;
    return r->body(r->ctx, p, n, err);
}

static int on_body(void *ctx, const char *p, size_t n, struct err *err)
{
    struct attempt *attempt = ctx;
    long status = 0;
    curl_easy_getinfo(attempt->http->handle.easy, CURLINFO_RESPONSE_CODE, &status);
    if (attempt->request->body && status == 200)
        return pass_to_body_callback(attempt, p, n, err);
    buf_add(&attempt->answer->body, p, n);
    return buf_check(&attempt->answer->body, "the answer", err);
}

static void on_progress(void *ctx)
{
    const struct attempt *attempt = ctx;
    const struct http_options *o = &attempt->http->options;
    if (o->progress && attempt->request->file)
        o->progress(o->ctx, attempt->offset, attempt->request->file->size);
}

/* ---- the request --------------------------------------------------------------------------------------- */

static bool add_json(curl_mime *mime, const char *json)
{
    curl_mimepart *part = curl_mime_addpart(mime);
    return curl_mime_name(part, "JSON") == CURLE_OK && curl_mime_type(part, "application/json") == CURLE_OK &&
           curl_mime_data(part, json, CURL_ZERO_TERMINATED) == CURLE_OK;
}

static bool add_file(struct attempt *attempt, const struct http_file *f)
{
    curl_mimepart *part = curl_mime_addpart(attempt->mime);
    return curl_mime_name(part, f->part) == CURLE_OK && curl_mime_filename(part, f->name) == CURLE_OK &&
           curl_mime_type(part, "application/octet-stream") == CURLE_OK &&
           curl_mime_data_cb(part, (curl_off_t)f->size, on_read, on_seek, NULL, attempt) == CURLE_OK;
}

static int set_form(struct attempt *attempt)
{
    const struct http_file *f = attempt->request->file;
    attempt->mime = curl_mime_init(attempt->http->handle.easy);
    if (!attempt->mime || (f->json && !add_json(attempt->mime, f->json)) || !add_file(attempt, f))
        return CURLE_OUT_OF_MEMORY;
    return curl_easy_setopt(attempt->http->handle.easy, CURLOPT_MIMEPOST, attempt->mime) == CURLE_OK
               ? 0
               : CURLE_FAILED_INIT;
}

/* Sets a file as the body. libcurl needs other options for a POST than for a PUT. */
static int set_raw_body(struct attempt *attempt)
{
    CURL *e = attempt->http->handle.easy;
    curl_off_t size = (curl_off_t)attempt->request->file->size;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_READDATA, attempt);
    failed |= curl_easy_setopt(e, CURLOPT_SEEKDATA, attempt);
    if (strcmp(attempt->request->method, "POST") == 0) {
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

static int set_headers(struct attempt *attempt, bool without_token)
{
    const struct http_request *r = attempt->request;
    int failed = attempt->http->auth_header && !without_token
                     ? add_header(&attempt->headers, attempt->http->auth_header->data)
                     : 0;
    failed |= add_header(&attempt->headers, r->body ? "Accept: */*" : "Accept: application/json");
    if (r->json)
        failed |= add_header(&attempt->headers, "Content-Type: application/json");
    else if (r->file && !r->file->part)
        failed |= add_header(&attempt->headers, "Content-Type: application/octet-stream");
    failed |= curl_easy_setopt(attempt->http->handle.easy, CURLOPT_HTTPHEADER, attempt->headers);
    return failed;
}

static int set_body(struct attempt *attempt)
{
    CURL *e = attempt->http->handle.easy;
    const struct http_request *r = attempt->request;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    if (r->json) {
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(r->json));
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, r->json);
    } else if (r->file) {
        failed |= curl_easy_setopt(e, CURLOPT_POSTFIELDS, NULL);
        failed |= r->file->part ? set_form(attempt) : set_raw_body(attempt);
    }
    failed |= curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, r->method);
    return failed;
}

/* Sets the URL. A request without the token goes to an object store, whose certificate can be from any
 * authority, so this request also trusts the system's authorities. Only requests with TLS use a proxy of the
 * environment, because the proxy cannot read them; plain HTTP goes to loopback. */
static int set_destination(const struct attempt *attempt, const struct http_destination *destination)
{
    CURL *e = attempt->http->handle.easy;
    bool https = strncasecmp(destination->url, "https://", 8) == 0;
    int failed = curl_easy_setopt(e, CURLOPT_URL, destination->url);
    failed |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, https ? "https" : "http");
    failed |= curl_easy_setopt(e, CURLOPT_PROXY, https ? NULL : "");
    if (attempt->http->ca)
        failed |=
            curl_easy_setopt(e, CURLOPT_CAPATH,
                             destination->without_token ? curl_version_info(CURLVERSION_NOW)->capath : NULL);
    return failed;
}

static int prepare_request(struct attempt *attempt, const struct http_destination *destination,
                           struct err *err)
{
    CURL *e = attempt->http->handle.easy;
    bool is_get = strcmp(attempt->request->method, "GET") == 0;
    int failed = set_destination(attempt, destination);
    failed |= curl_easy_setopt(e, CURLOPT_FRESH_CONNECT, is_get ? 0L : 1L);
    failed |= curl_easy_setopt(e, CURLOPT_READFUNCTION, on_read);
    failed |= curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
    failed |= set_body(attempt);
    failed |= set_headers(attempt, destination->without_token);
    return failed ? http_set_error(attempt->http, HTTP_FAILURE_UNSENT, err) : 0;
}

/* ---- the result ---------------------------------------------------------------------------------------- */

/* Returns the sent part of the request. A body that libcurl has read to its end counts as sent, although it
 * may still be in the kernel. */
static enum http_sent get_sent(const struct attempt *attempt)
{
    long request = 0;
    curl_easy_getinfo(attempt->http->handle.easy, CURLINFO_REQUEST_SIZE, &request);
    if (request == 0)
        return HTTP_SENT_NOTHING;
    return attempt->request->file && attempt->offset < attempt->request->file->size ? HTTP_SENT_PART
                                                                                    : HTTP_SENT_ALL;
}

static void fill_answer(struct attempt *attempt)
{
    struct http_answer *a = attempt->answer;
    long status = 0;
    const char *type = NULL, *location = NULL;
    curl_easy_getinfo(attempt->http->handle.easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(attempt->http->handle.easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(attempt->http->handle.easy, CURLINFO_REDIRECT_URL, &location);
    a->status = status >= 200 ? (int)status : 0;
    a->sent = get_sent(attempt);
    a->file_sent = attempt->offset;
    if (type)
        text_printable(a->content_type, sizeof a->content_type, type, strlen(type));
    if (location)
        url_origin_strip_secrets(location, a->location, sizeof a->location);
    if (a->body.len > 0)
        http_mask(attempt->http, a->body.data);
    a->body.len = strlen(buf_str(&a->body));
    http_mask(attempt->http, a->content_type);
    http_mask(attempt->http, a->location);
    http_mask(attempt->http, a->retry_after);
}

/* Sets the error for an answer that did not begin or continue in time. */
static int set_slow_error(const struct attempt *attempt, struct err *err)
{
    char limit[32];
    text_duration(limit, sizeof limit, attempt->http->silence_ms);
    const struct http_file *f = attempt->request->file;
    if (attempt->exchange.headers_size == 0 && (!f || attempt->offset == f->size))
        return err_set(err, ERR_TIMEOUT, "no answer: no data arrived for %s", limit);
    return err_set(err, ERR_TIMEOUT, "the transfer stalled: less than %d bytes in %s", HTTP_TRICKLE_BYTES,
                   limit);
}

static int set_failure(const struct attempt *attempt, enum http_failure failure, struct err *err)
{
    if (failure == HTTP_FAILURE_TRICKLE)
        return set_slow_error(attempt, err);
    if (failure != HTTP_FAILURE_CALLBACK)
        return http_set_error(attempt->http, failure, err);
    if (err)
        *err = attempt->exchange.callback_err;
    return -1;
}

/* Sends the request. The limit of silence includes the time in which the server processes the request. */
static int run_attempt(struct attempt *attempt, struct err *err)
{
    struct http *h = attempt->http;
    bool bounded = !attempt->request->body && !attempt->request->file;
    attempt->exchange = (struct http_exchange){.handle = &h->handle,
                                               .cancel_fd = h->options.cancel_fd,
                                               .limit_ms = bounded ? ANSWER_LIMIT_FACTOR * h->silence_ms : 0,
                                               .trickle_ms = h->silence_ms,
                                               .ctx = attempt,
                                               .header = on_header,
                                               .body = on_body,
                                               .progress = on_progress};
    enum http_failure failure = http_exchange_run(&attempt->exchange);
    fill_answer(attempt);
    on_progress(attempt);
    /* A server may refuse a large body before it has read all of it; its answer is then complete. */
    bool refused =
        attempt->answer->status >= 400 && (failure == HTTP_FAILURE_SEND || failure == HTTP_FAILURE_RECEIVE);
    return failure == HTTP_FAILURE_NONE || refused ? 0 : set_failure(attempt, failure, err);
}

int http_attempt(struct http *h, const struct http_request *request,
                 const struct http_destination *destination, struct http_answer *ret, struct err *err)
{
    struct attempt attempt = {.http = h, .request = request, .answer = ret};
    int rc = prepare_request(&attempt, destination, err);
    if (rc == 0)
        rc = run_attempt(&attempt, err);
    curl_easy_setopt(h->handle.easy, CURLOPT_MIMEPOST, NULL);
    curl_easy_setopt(h->handle.easy, CURLOPT_HTTPHEADER, NULL);
    curl_mime_free(attempt.mime);
    http_headers_free(attempt.headers);
    return rc;
}
