#include "http/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/exchange.h"
#include "base/banned.h"

#define MAX_REDIRECTS 10L
/* The time that a request gets in addition to its timeout_s. */
#define GRACE_S 5

char *url_without_password(const char *url)
{
    CURLU *u = curl_url();
    char *shown = NULL, *password = NULL, *ret = NULL;
    if (u && curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK) {
        if (curl_url_get(u, CURLUPART_PASSWORD, &password, 0) == CURLUE_OK)
            curl_url_set(u, CURLUPART_PASSWORD, "xxxxx", 0);
        if (curl_url_get(u, CURLUPART_URL, &shown, 0) == CURLUE_OK)
            ret = strdup(shown);
    }
    curl_free(shown);
    curl_free(password);
    curl_url_cleanup(u);
    return ret;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

static int on_body(void *ctx, const char *p, size_t n, struct err *err)
{
    struct url_answer *a = ctx;
    buf_add(&a->body, p, n);
    return buf_check(&a->body, "the answer", err);
}

static void on_header(void *ctx, const char *p, size_t n)
{
    struct url_answer *a = ctx;
    if (n > 5 && strncmp(p, "HTTP/", 5) == 0) {
        const char *blank = memchr(p, ' ', n);
        size_t from = blank ? (size_t)(blank + 1 - p) : n;
        text_printable(a->status_line, sizeof a->status_line, p + from, n - from);
        a->is_pprof_error = a->is_text = false;
    } else if (n > 11 && strncasecmp(p, "X-Go-Pprof:", 11) == 0) {
        a->is_pprof_error = true;
    } else if (n > 13 && strncasecmp(p, "Content-Type:", 13) == 0) {
        a->is_text = memmem(p, n, "text/plain", 10) != NULL;
    }
}

/* ---- the request --------------------------------------------------------------------------------------- */

static bool is_given(const char *s)
{
    return s && *s;
}

/* Sets the URL. `https+insecure` is https without a check of the certificate, as in Go's pprof. */
static CURLcode set_address(CURL *e, const char *url)
{
    static const char insecure[] = "https+insecure://";
    bool unchecked = strncasecmp(url, insecure, sizeof insecure - 1) == 0;
    char *plain = NULL;
    int failed = 0;
    if (unchecked && asprintf(&plain, "https://%s", url + sizeof insecure - 1) < 0)
        return CURLE_OUT_OF_MEMORY;
    failed |= (int)curl_easy_setopt(e, CURLOPT_URL, unchecked ? plain : url);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, unchecked ? 0L : 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, unchecked ? 0L : 2L);
    free(plain);
    return failed ? CURLE_FAILED_INIT : CURLE_OK;
}

static int set_options(CURL *e, const struct url_request *r)
{
    int failed = (int)set_address(e, r->url);
    failed |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    failed |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    failed |= (int)curl_easy_setopt(e, CURLOPT_TIMEOUT, r->timeout_s + GRACE_S);
    if (is_given(r->tls_ca))
        failed |= (int)curl_easy_setopt(e, CURLOPT_CAINFO, r->tls_ca);
    if (is_given(r->tls_cert))
        failed |= (int)curl_easy_setopt(e, CURLOPT_SSLCERT, r->tls_cert);
    if (is_given(r->tls_key))
        failed |= (int)curl_easy_setopt(e, CURLOPT_SSLKEY, r->tls_key);
    return failed ? -1 : 0;
}

/* Sets the body of a POST without curl's `Expect: 100-continue`, because few symbol servers answer it. */
static int set_body(CURL *e, struct str body, struct curl_slist **headers)
{
    struct curl_slist *first = curl_slist_append(NULL, "Content-Type: application/octet-stream");
    *headers = first ? curl_slist_append(first, "Expect:") : NULL;
    if (!*headers) {
        curl_slist_free_all(first);
        return -1;
    }
    int failed = (int)curl_easy_setopt(e, CURLOPT_HTTPHEADER, *headers);
    failed |= (int)curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
    failed |= (int)curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.p);
    return failed ? -1 : 0;
}

/* Sets the error for a request without a complete answer. */
static int set_error(const struct url_request *r, const struct http_exchange *x, enum http_failure failure,
                     struct err *err)
{
    enum err_kind kind = failure == HTTP_FAILURE_TIMEOUT ? ERR_TIMEOUT : ERR_FAILED;
    char *shown = NULL;
    if (failure == HTTP_FAILURE_CALLBACK && err)
        *err = x->callback_err;
    if (failure == HTTP_FAILURE_CALLBACK)
        return -1;
    shown = url_without_password(r->url);
    if (failure == HTTP_FAILURE_HEADERS)
        err_set(err, kind, "its headers are larger than %u kB", HTTP_HEADERS_MAX >> 10);
    else if (failure == HTTP_FAILURE_COSTLY)
        err_set(err, kind, HTTP_COSTLY_TEXT);
    else
        err_set(err, kind, "%s", x->handle->error_text);
    err_wrap(err, "%s \"%s\"", r->body ? "Post" : "Get", shown ? shown : "");
    free(shown);
    return -1;
}

int url_send(const struct url_request *r, struct url_answer *ret, struct err *err)
{
    struct http_handle handle = {0};
    struct curl_slist *headers = NULL;
    struct http_exchange x = {
        .handle = &handle, .cancel_fd = -1, .ctx = ret, .header = on_header, .body = on_body};
    int rc = http_handle_init(&handle, err);
    if (rc == 0 &&
        (set_options(handle.easy, r) < 0 || (r->body && set_body(handle.easy, *r->body, &headers) < 0)))
        rc = err_set(err, ERR_FAILED, "libcurl cannot be set up");
    if (rc == 0) {
        enum http_failure failure = http_exchange_run(&x);
        curl_easy_getinfo(handle.easy, CURLINFO_RESPONSE_CODE, &ret->status);
        rc = failure == HTTP_FAILURE_NONE ? 0 : set_error(r, &x, failure, err);
    }
    http_handle_release(&handle);
    curl_slist_free_all(headers);
    return rc;
}
