#include "handoff/http.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "handoff/http_exchange.h"
#include "base/banned.h"

#define MAX_REDIRECTS 3
/* A GET that the tracker could not serve is asked so often. */
#define MAX_TRIES 3
#define BACKOFF_MS 1000
#define BACKOFF_MAX_MS 30000

/* ---- set-up -------------------------------------------------------------------------------------------- */

static int64_t or_default(int64_t ms, int64_t otherwise)
{
    return ms > 0 ? ms : otherwise;
}

static int set_options(struct http *h, bool https)
{
    CURL *e = h->easy;
    int failed = 0;
    failed |= curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    failed |= curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, https ? "https" : "http");
    failed |= curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= curl_easy_setopt(e, CURLOPT_USERAGENT, "profgrab/" PROFGRAB_VERSION);
    failed |= curl_easy_setopt(e, CURLOPT_ERRORBUFFER, h->curl_words);
    failed |= curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 128L * 1024);
    failed |= curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, 512L * 1024);
    failed |= curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)or_default(h->options->connect_ms, 20000));
    failed |= curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* Within TLS a proxy of the environment sees nothing; the plain form is for loopback alone. */
    if (!https)
        failed |= curl_easy_setopt(e, CURLOPT_PROXY, "");
    if (h->ca) {
        failed |= curl_easy_setopt(e, CURLOPT_CAINFO, h->ca);
        failed |= curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
    }
    return failed | http_exchange_set(h);
}

static int set_auth(struct http *h, const char *format, struct err *err)
{
    char header[SECRET_MAX + 64];
    if (!h->token)
        return 0;
    const char *behind = strstr(format, "%s");
    int n = behind ? (int)(behind - format) : (int)strlen(format);
    snprintf(header, sizeof header, "%.*s%s", n, format, h->token->text);
    h->auth = curl_slist_append(NULL, header);
    explicit_bzero(header, sizeof header);
    return h->auth ? 0 : err_nomem(err);
}

/* The token goes over TLS, or nowhere but to this workstation. */
static int check_url(const char *text, bool *ret_https, struct err *err)
{
    CURLU *url = curl_url();
    char *host = NULL;
    if (!url)
        return err_nomem(err);
    bool https = strncasecmp(text, "https://", 8) == 0, http = strncasecmp(text, "http://", 7) == 0;
    bool known = (https || http) && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
                 curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    if (known && *host == '[') { /* an IPv6 address */
        size_t n = strlen(host) - 2;
        memmove(host, host + 1, n);
        host[n] = '\0';
    }
    bool loopback = known && address_is_loopback(host);
    curl_free(host);
    curl_url_cleanup(url);
    if (!known)
        return err_set(err, ERR_USAGE, "the tracker's url %.200s is none of https", text);
    if (!https && !loopback)
        return err_set(err, ERR_USAGE,
                       "the tracker's url %.200s would send the token in the clear: write https", text);
    *ret_https = https;
    return 0;
}

int http_new(const struct http_options *options, struct http **ret, struct err *err)
{
    bool https = false;
    if (check_url(options->url, &https, err) < 0)
        return -1;
    struct http *h = calloc(1, sizeof *h);
    if (!h)
        return err_nomem(err);
    h->ca = options->ca;
    h->token = options->token;
    h->options = options->options;
    h->silence_ms = or_default(options->options->silence_ms, 60000);
    h->patience_ms = or_default(options->options->patience_ms, 120000);
    h->base = strdup(options->url);
    h->easy = curl_easy_init();
    h->multi = curl_multi_init();
    int rc = 0;
    if (!h->base || !h->easy || !h->multi)
        rc = err_nomem(err);
    else if (set_options(h, https) != 0)
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
    curl_easy_cleanup(h->easy);
    curl_multi_cleanup(h->multi);
    if (h->auth)
        explicit_bzero(h->auth->data, strlen(h->auth->data));
    curl_slist_free_all(h->auth);
    free(h->base);
    free(h);
}

void http_answer_release(struct http_answer *a)
{
    buf_release(&a->body);
}

void http_mask(const struct http *h, char *text)
{
    if (h->token && h->token->len)
        secret_mask(text, h->token->text);
}

void http_encode(struct buf *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     strchr("-._~", *p);
        if (plain)
            buf_addc(out, (char)*p);
        else
            buf_addf(out, "%%%02X", *p);
    }
}

/* ---- dry run ------------------------------------------------------------------------------------------- */

#define SHORT_TEXT 80

static void describe_object(struct buf *out, const json_t *o);

/* What is not there for want of memory must not be missed. */
static void starve(struct buf *out)
{
    out->failed = out->starved = true;
}

static void describe_value(struct buf *out, const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_object(value)) {
        buf_addf(out, "%s: { ", key);
        describe_object(out, value);
        buf_adds(out, " }");
    } else if (text && strlen(text) > SHORT_TEXT) {
        buf_addf(out, "%s (%zu bytes)", key, strlen(text));
    } else {
        char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_addf(out, "%s=%s", key, shown ? shown : "");
        if (!shown)
            starve(out);
        free(shown);
    }
}

static void describe_object(struct buf *out, const json_t *o)
{
    const char *key = NULL, *comma = "";
    json_t *value = NULL;
    json_object_foreach((json_t *)o, key, value)
    {
        buf_adds(out, comma);
        describe_value(out, key, value);
        comma = ", ";
    }
}

static void describe_json(struct buf *out, const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    if (!root)
        starve(out);
    describe_object(out, root);
    json_decref(root);
}

static int pretend(const struct http *h, const struct http_request *r, struct http_answer *ret,
                   struct err *err)
{
    struct buf url = BUF_INIT(8192), what = BUF_INIT(16384);
    buf_addf(&url, "%s%s", h->base, r->path);
    if (r->json)
        describe_json(&what, r->json);
    if (r->file && r->file->json)
        describe_json(&what, r->file->json);
    if (r->file) {
        char size[32];
        buf_addf(&what, "%sfile %s (%s)", what.len ? ", " : "", r->file->name,
                 text_bytes(size, sizeof size, r->file->size));
    }
    buf_adds(&ret->body, r->dry ? r->dry : "{}");
    bool whole = buf_check(&url, "the address", err) == 0 && buf_check(&what, "the request", err) == 0 &&
                 buf_check(&ret->body, "the answer", err) == 0;
    if (whole && h->options->would)
        h->options->would(h->options->ctx, &(struct handoff_would){r->method, buf_str(&url), buf_str(&what)});
    buf_release(&url);
    buf_release(&what);
    return whole ? 0 : -1;
}

/* ---- redirects ----------------------------------------------------------------------------------------- */

static bool same_part(CURLU *a, CURLU *b, CURLUPart which)
{
    char *x = NULL, *y = NULL;
    bool same = curl_url_get(a, which, &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(b, which, &y, CURLU_DEFAULT_PORT) == CURLUE_OK && strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

static bool same_origin(const char *a, const char *b)
{
    CURLU *x = curl_url(), *y = curl_url();
    bool same = x && y && curl_url_set(x, CURLUPART_URL, a, 0) == CURLUE_OK &&
                curl_url_set(y, CURLUPART_URL, b, 0) == CURLUE_OK && same_part(x, y, CURLUPART_SCHEME) &&
                same_part(x, y, CURLUPART_HOST) && same_part(x, y, CURLUPART_PORT);
    curl_url_cleanup(x);
    curl_url_cleanup(y);
    return same;
}

/* Whether the answer sends a GET on to another address of the same origin, which replaces *url. */
static bool follows(struct http *h, const struct http_request *r, const struct http_answer *a, char **url)
{
    const char *to = NULL;
    if (a->status < 301 || a->status > 308 || strcmp(r->method, "GET") != 0)
        return false;
    if (curl_easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &to) != CURLE_OK || !to ||
        !same_origin(h->base, to))
        return false;
    char *copy = strdup(to);
    if (!copy)
        return false;
    free(*url);
    *url = copy;
    return true;
}

/* ---- repeating ----------------------------------------------------------------------------------------- */

/* How long to wait before it is asked again; -1: it is not. */
static int64_t wait_for(const struct http_request *r, const struct http_answer *a, unsigned tries)
{
    bool later = a->status == 429;
    bool safe = strcmp(r->method, "GET") == 0 && (a->status == 502 || a->status == 503 || a->status == 504);
    uint64_t seconds = 0;
    if (!later && !(safe && tries < MAX_TRIES))
        return -1;
    int64_t ms = BACKOFF_MS << (tries < 6 ? tries - 1 : 5);
    ms = clock_jitter(ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS);
    /* The other form of Retry-After, a date, is as good as none: clocks differ. */
    if (!*a->asked_wait || a->asked_wait[strspn(a->asked_wait, "0123456789")])
        return ms;
    /* Whoever asks for no wait at all gets ours: it would go on for ever. */
    if (text_to_uint(a->asked_wait, 86400, &seconds) < 0)
        return INT32_MAX;
    return (int64_t)seconds * 1000 > ms ? (int64_t)seconds * 1000 : ms;
}

static int wait_and_tell(const struct http *h, int64_t ms, int status, struct err *err)
{
    char because[64];
    snprintf(because, sizeof because, "HTTP %d", status);
    if (h->options->waiting)
        h->options->waiting(h->options->ctx, ms, because);
    struct err why = ERR_INIT;
    fd_wait(-1, 0, clock_deadline(ms), h->options->cancel_fd, &why);
    return why.kind == ERR_CANCELLED ? err_set(err, ERR_CANCELLED, "interrupted") : 0;
}

static void forget(struct http_answer *a)
{
    buf_release(&a->body);
    *a = (struct http_answer){.body = BUF_INIT(HTTP_ANSWER_MAX)};
}

int http_send(struct http *h, const struct http_request *request, struct http_answer *ret, struct err *err)
{
    unsigned redirects = 0, tries = 0;
    int64_t waited = 0;
    *ret = (struct http_answer){.body = BUF_INIT(HTTP_ANSWER_MAX)};
    if (h->options->dry_run)
        return pretend(h, request, ret, err);
    struct buf first = BUF_INIT(8192);
    buf_addf(&first, "%s%s", h->base, request->path);
    if (buf_check(&first, "the address", err) < 0) {
        buf_release(&first);
        return -1;
    }
    char *url = buf_take(&first);
    int rc = 0;
    for (;;) {
        tries++;
        rc = http_exchange(h, request, url, ret, err);
        if (rc < 0)
            break;
        if (redirects < MAX_REDIRECTS && follows(h, request, ret, &url)) {
            redirects++;
        } else {
            int64_t ms = wait_for(request, ret, tries);
            if (ms < 0 || waited + ms > h->patience_ms)
                break;
            waited += ms;
            rc = wait_and_tell(h, ms, ret->status, err);
            if (rc < 0)
                break;
        }
        forget(ret);
    }
    free(url);
    return rc;
}
