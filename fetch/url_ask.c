/* One request to any URL. Unlike transfer.c it follows the user's settings for libcurl, with proxies and
 * redirects: the user names a URL, as with Go's pprof. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/url.h"
#include "base/banned.h"

#define MAX_REDIRECTS 10L
/* The time that a server gets beyond the requested length. */
#define GRACE_S 5

static size_t take_body(char *p, size_t size, size_t n, void *ctx)
{
    struct url_answer *a = ctx;
    buf_add(&a->body, p, size * n);
    return a->body.failed ? 0 : size * n;
}

static size_t take_header(char *p, size_t size, size_t n, void *ctx)
{
    struct url_answer *a = ctx;
    size_t length = size * n;
    if (length > 5 && strncmp(p, "HTTP/", 5) == 0) {
        const char *blank = memchr(p, ' ', length);
        size_t from = blank ? (size_t)(blank + 1 - p) : length;
        text_printable(a->line, sizeof a->line, p + from, length - from);
        a->of_pprof = a->is_text = false;
    } else if (length > 11 && strncasecmp(p, "X-Go-Pprof:", 11) == 0) {
        a->of_pprof = true;
    } else if (length > 13 && strncasecmp(p, "Content-Type:", 13) == 0) {
        a->is_text = memmem(p, length, "text/plain", 10) != NULL;
    }
    return length;
}

static bool is_given(const char *s)
{
    return s && *s;
}

/* `https+insecure` means https without checking the certificate, as in Go's pprof. */
static CURLcode set_address(CURL *e, const char *url)
{
    static const char insecure[] = "https+insecure://";
    bool blind = strncasecmp(url, insecure, sizeof insecure - 1) == 0;
    char *plain = NULL;
    int failed = 0;
    if (blind && asprintf(&plain, "https://%s", url + sizeof insecure - 1) < 0)
        return CURLE_OUT_OF_MEMORY;
    failed |= (int)curl_easy_setopt(e, CURLOPT_URL, blind ? plain : url);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, blind ? 0L : 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, blind ? 0L : 2L);
    free(plain);
    return failed ? CURLE_FAILED_INIT : CURLE_OK;
}

static int set_options(CURL *e, const struct url_request *r, struct url_answer *to, char *words)
{
    int failed = (int)set_address(e, r->url);
    failed |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    failed |= (int)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    failed |= (int)curl_easy_setopt(e, CURLOPT_USERAGENT, "profgrab/" PROFGRAB_VERSION);
    failed |= (int)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, words);
    failed |= (int)curl_easy_setopt(e, CURLOPT_TIMEOUT, r->timeout_s + GRACE_S);
    failed |= (int)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
    failed |= (int)curl_easy_setopt(e, CURLOPT_WRITEDATA, to);
    failed |= (int)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
    failed |= (int)curl_easy_setopt(e, CURLOPT_HEADERDATA, to);
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

/* The error for a request without a complete answer. */
static int no_answer(const struct url_request *r, CURLcode code, const char *words, struct err *err)
{
    char *shown = url_shown(r->url);
    err_set(err, code == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_FAILED, "%s \"%s\": %s",
            r->body ? "Post" : "Get", shown ? shown : "", *words ? words : curl_easy_strerror(code));
    free(shown);
    return -1;
}

int url_ask(const struct url_request *r, struct url_answer *ret, struct err *err)
{
    char words[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    CURL *e = curl_easy_init();
    int rc = -1;
    if (e && set_options(e, r, ret, words) == 0 && (!r->body || set_body(e, *r->body, &headers) == 0)) {
        CURLcode code = curl_easy_perform(e);
        curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &ret->status);
        rc = buf_check(&ret->body, "the answer", err);
        if (rc == 0 && code != CURLE_OK)
            rc = no_answer(r, code, words, err);
    } else {
        err_set(err, ERR_FAILED, "libcurl cannot be set up");
    }
    curl_easy_cleanup(e);
    curl_slist_free_all(headers);
    return rc;
}
