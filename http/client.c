#include "http/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/url_origin.h"
#include "base/banned.h"

#define MAX_REDIRECTS 3
/* The maximum number of attempts at a GET that the server answers with 502, 503 or 504. */
#define MAX_TRIES 3
#define BACKOFF_MS 1000
#define BACKOFF_MAX_MS 30000

/* ---- set-up -------------------------------------------------------------------------------------------- */

static int64_t value_or_default(int64_t ms, int64_t default_ms)
{
    return ms > 0 ? ms : default_ms;
}

static int set_options(struct http *h)
{
    CURL *e = h->handle.easy;
    int failed = 0;
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Without this option libcurl waits 10 s and more for a name server that does not answer, even after
     * Ctrl-C. */
    failed |= curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
    failed |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
    failed |=
        curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)value_or_default(h->options.connect_ms, 20000));
    failed |= curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (h->ca)
        failed |= curl_easy_setopt(e, CURLOPT_CAINFO, h->ca);
    return failed;
}

static int set_auth(struct http *h, const char *format, struct err *err)
{
    char header[SECRET_MAX + 64];
    if (!h->token)
        return 0;
    const char *placeholder = strstr(format, "%s");
    int n = placeholder ? (int)(placeholder - format) : (int)strlen(format);
    snprintf(header, sizeof header, "%.*s%s", n, format, h->token->text);
    h->auth_header = curl_slist_append(NULL, header);
    explicit_bzero(header, sizeof header);
    return h->auth_header ? 0 : err_nomem(err);
}

/* Refuses a URL that would send the token unencrypted to another machine. */
static int check_url(const char *text, struct err *err)
{
    struct url_origin origin;
    if (url_origin_parse(text, &origin, err) < 0)
        return -1;
    if (!origin.is_http)
        return err_set(err, ERR_USAGE, "the tracker's url %.200s is not a valid https URL", text);
    if (!origin.https && !origin.is_loopback)
        return err_set(err, ERR_USAGE, "the tracker's url %.200s would send the token unencrypted: use https",
                       text);
    return 0;
}

int http_new(const struct http_options *options, struct http **ret, struct err *err)
{
    if (check_url(options->url, err) < 0)
        return -1;
    struct http *h = calloc(1, sizeof *h);
    if (!h)
        return err_nomem(err);
    h->ca = options->ca;
    h->token = options->token;
    h->options = *options;
    h->silence_ms = value_or_default(options->silence_ms, 60000);
    h->max_wait_ms = value_or_default(options->max_wait_ms, 120000);
    h->base_url = strdup(options->url);
    int rc = h->base_url ? http_handle_init(&h->handle, err) : err_nomem(err);
    if (rc == 0 && set_options(h) != 0)
        rc = err_set(err, ERR_FAILED, "libcurl cannot be set up");
    if (rc < 0 || set_auth(h, options->auth, err) < 0) {
        http_free(h);
        return -1;
    }
    *ret = h;
    return 0;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    http_handle_release(&h->handle);
    http_headers_free(h->auth_header);
    free(h->base_url);
    free(h);
}

void http_answer_release(struct http_answer *a)
{
    buf_release(&a->body);
}

/* ---- redirects ----------------------------------------------------------------------------------------- */

/* If the request is a GET that may follow the redirect, sets the destination to the redirect's URL and
 * returns true. */
static bool follow_redirect(struct http *h, const struct http_request *r, const struct http_answer *a,
                            struct http_destination *destination)
{
    const char *to = NULL;
    if (a->status < 301 || a->status > 308 || strcmp(r->method, "GET") != 0)
        return false;
    if (curl_easy_getinfo(h->handle.easy, CURLINFO_REDIRECT_URL, &to) != CURLE_OK || !to)
        return false;
    bool same_origin = url_origin_is_same(h->base_url, to);
    if (!same_origin && !(r->may_leave_origin && url_origin_may_redirect(h->base_url, to)))
        return false;
    char *copy = strdup(to);
    if (!copy)
        return false;
    free(destination->url);
    destination->url = copy;
    /* Once set, without_token stays set, because the other origin could redirect back to the tracker. */
    destination->without_token = destination->without_token || !same_origin;
    return true;
}

/* ---- retries ------------------------------------------------------------------------------------------- */

/* Returns the milliseconds to wait before the next attempt. -1: the answer is final. */
static int64_t retry_delay(const struct http_request *r, const struct http_answer *a, unsigned tries)
{
    bool rate_limited = a->status == 429;
    bool unavailable =
        strcmp(r->method, "GET") == 0 && (a->status == 502 || a->status == 503 || a->status == 504);
    uint64_t seconds = 0;
    if (!rate_limited && !(unavailable && tries < MAX_TRIES))
        return -1;
    int64_t ms = BACKOFF_MS << (tries < 6 ? tries - 1 : 5);
    ms = clock_jitter(ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS);
    /* Ignore a date in Retry-After, because clocks differ. */
    if (!*a->retry_after || a->retry_after[strspn(a->retry_after, "0123456789")])
        return ms;
    if (text_to_uint(a->retry_after, 86400, &seconds) < 0)
        return INT32_MAX;
    /* Without our own minimum, `Retry-After: 0` would repeat the request for ever. */
    return (int64_t)seconds * 1000 > ms ? (int64_t)seconds * 1000 : ms;
}

static int report_and_wait(const struct http *h, int64_t ms, const struct http_answer *a, struct err *err)
{
    char because[64], waited[32], limit[32];
    int n = snprintf(because, sizeof because, "HTTP %d", a->status);
    if (a->waited_ms > 0)
        snprintf(because + n, sizeof because - (size_t)n, ", after %s of at most %s",
                 text_duration(waited, sizeof waited, a->waited_ms),
                 text_duration(limit, sizeof limit, h->max_wait_ms));
    if (h->options.waiting)
        h->options.waiting(h->options.ctx, ms, because);
    struct err why = ERR_INIT;
    fd_wait(-1, 0, clock_deadline(ms), h->options.cancel_fd, &why);
    return why.kind == ERR_CANCELLED ? err_set(err, ERR_CANCELLED, "interrupted") : 0;
}

/* Returns 1 after a wait, 0 if the answer is final, -1 if cancelled. */
static int wait_for_retry(const struct http *h, const struct http_request *r, struct http_answer *a,
                          unsigned tries, struct err *err)
{
    int64_t ms = retry_delay(r, a, tries);
    if (ms < 0 || a->waited_ms + ms > h->max_wait_ms)
        return 0;
    if (report_and_wait(h, ms, a, err) < 0)
        return -1;
    a->waited_ms += ms;
    return 1;
}

/* Clears the answer for the next attempt, except the time waited. */
static void reset_answer(struct http_answer *a)
{
    struct http_answer next = {.body = BUF_INIT(HTTP_ANSWER_MAX), .waited_ms = a->waited_ms};
    buf_release(&a->body);
    *a = next;
}

/* Sends the request, follows redirects and retries, until an answer is final. */
static int send_to(struct http *h, const struct http_request *request, struct http_destination *destination,
                   struct http_answer *ret, struct err *err)
{
    unsigned redirects = 0, tries = 0;
    uint64_t max_file_sent = 0;
    int rc = 0;
    for (;;) {
        rc = http_attempt(h, request, destination, ret, err);
        if (ret->file_sent > max_file_sent)
            max_file_sent = ret->file_sent;
        if (destination->without_token)
            url_origin_text(destination->url, ret->other_origin, sizeof ret->other_origin);
        if (rc < 0)
            break;
        if (redirects < MAX_REDIRECTS && follow_redirect(h, request, ret, destination))
            redirects++;
        else if ((rc = wait_for_retry(h, request, ret, ++tries, err)) != 1)
            break;
        reset_answer(ret);
    }
    ret->file_sent = max_file_sent;
    return rc;
}

int http_send(struct http *h, const struct http_request *request, struct http_answer *ret, struct err *err)
{
    *ret = (struct http_answer){.body = BUF_INIT(HTTP_ANSWER_MAX)};
    if (h->options.dry_run)
        return http_describe_request(h, request, ret, err);
    struct buf url = BUF_INIT(8192);
    buf_addf(&url, "%s%s", h->base_url, request->path);
    if (buf_check(&url, "the address", err) < 0) {
        buf_release(&url);
        return -1;
    }
    struct http_destination destination = {.url = buf_detach(&url)};
    int rc = send_to(h, request, &destination, ret, err);
    free(destination.url);
    return rc;
}
