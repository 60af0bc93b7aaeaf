/* Profiles from URLs. Source: cmd/pprof of Go, adjustURL and getProfile; google/pprof
 * internal/driver/fetch.go. */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pprof.h"
#include "cli/source.h"
#include "base/banned.h"

#define MAX_REDIRECTS 10L
/* What is left of a refusal. */
#define COMPLAINT 400
/* Go's handler for CPU profiles, where a URL names none. */
#define CPU_HANDLER "/debug/pprof/profile"
/* What is given to a server beyond the time it was asked to take. */
#define GRACE_S 5
/* What a server may take for symbols, where -timeout says nothing. */
#define SYMBOLS_TIMEOUT_S 60

/* ---- URLs ------------------------------------------------------------------------------------------------
 */

/* net/url.QueryEscape: what a value may hold. */
static void add_escaped(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     (c && strchr("-_.~%+", c));
        if (plain)
            buf_addc(b, (char)c);
        else
            buf_addf(b, "%%%02X", c);
    }
}

/* The query with seconds in it, as the server gets it; *seconds is what it says where nothing was asked. */
static void set_seconds(const char *query, long *seconds, struct buf *to)
{
    bool asked = *seconds > 0;
    for (const char *at = query; *at;) {
        size_t n = strcspn(at, "&"), key = strcspn(at, "=&");
        bool is = key == 7 && memcmp(at, "seconds", 7) == 0;
        if (is && !asked && n > 8)
            *seconds = strtol(at + 8, NULL, 10);
        if (n && !(is && asked)) {
            buf_adds(to, to->len ? "&" : "");
            add_escaped(to, at, key);
            buf_addc(to, '=');
            if (n > key)
                add_escaped(to, at + key + 1, n - key - 1);
        }
        at += n + (at[n] == '&');
    }
    if (asked)
        buf_addf(to, "%sseconds=%ld", to->len ? "&" : "", *seconds);
}

/* Without a scheme it is HOST:PORT/PATH; a word without a colon or slashes is a file's name. */
static char *with_scheme(const char *source)
{
    char *url = NULL;
    if (strstr(source, "://"))
        return strdup(source);
    if (strncmp(source, "file:", 5) == 0 || !strchr(source, ':'))
        return NULL;
    return asprintf(&url, "http://%s", source) < 0 ? NULL : url;
}

static int adjust(CURLU *u, long *seconds, char **ret, struct err *err)
{
    char *path = NULL, *query = NULL;
    struct buf to = BUF_INIT(65536);
    bool bare = curl_url_get(u, CURLUPART_PATH, &path, 0) != CURLUE_OK || strcmp(path, "/") == 0;
    int failed = bare ? (int)curl_url_set(u, CURLUPART_PATH, CPU_HANDLER, 0) : 0;
    if (curl_url_get(u, CURLUPART_QUERY, &query, 0) != CURLUE_OK)
        query = NULL;
    set_seconds(query ? query : "", seconds, &to);
    failed |= (int)curl_url_set(u, CURLUPART_QUERY, to.len ? buf_str(&to) : NULL, 0);
    char *url = NULL;
    failed |= (int)curl_url_get(u, CURLUPART_URL, &url, 0);
    if (!failed && !to.failed)
        *ret = strdup(url);
    curl_free(url);
    curl_free(path);
    curl_free(query);
    buf_release(&to);
    return *ret ? 0 : err_nomem(err);
}

int pprof_url(const char *source, long seconds, long timeout, char **ret_url, long *ret_timeout_s,
              struct err *err)
{
    char *text = with_scheme(source), *url = NULL;
    CURLU *u = text ? curl_url() : NULL;
    int rc = 0;
    if (u && curl_url_set(u, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK) {
        rc = adjust(u, &seconds, &url, err);
        *ret_url = url;
        *ret_timeout_s = timeout > 0 ? timeout : seconds > 0 ? seconds + seconds / 2 : 60;
    }
    curl_url_cleanup(u);
    free(text);
    return rc;
}

char *pprof_url_shown(const char *url)
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

/* ---- one request -----------------------------------------------------------------------------------------
 */

struct request {
    CURL *easy;
    struct buf body;
    char status[100]; /* "404 Not Found" */
    bool of_pprof;    /* the handler itself says no, and why */
    bool is_text;
    char words[CURL_ERROR_SIZE];
};

static size_t take_body(char *p, size_t size, size_t n, void *ctx)
{
    struct request *r = ctx;
    buf_add(&r->body, p, size * n);
    return r->body.failed ? 0 : size * n;
}

static size_t take_header(char *p, size_t size, size_t n, void *ctx)
{
    struct request *r = ctx;
    size_t length = size * n;
    if (length > 5 && strncmp(p, "HTTP/", 5) == 0) {
        const char *blank = memchr(p, ' ', length);
        size_t from = blank ? (size_t)(blank + 1 - p) : length;
        text_printable(r->status, sizeof r->status, p + from, length - from);
        r->of_pprof = r->is_text = false;
    } else if (length > 11 && strncasecmp(p, "X-Go-Pprof:", 11) == 0) {
        r->of_pprof = true;
    } else if (length > 13 && strncasecmp(p, "Content-Type:", 13) == 0) {
        r->is_text = memmem(p, length, "text/plain", 10) != NULL;
    }
    return length;
}

static bool given(const char *s)
{
    return s && *s;
}

/* `https+insecure` asks for https without a look at the certificate, as Go's pprof has it. */
static int set_options(struct request *r, const struct pprof_options *o, const char *url, long timeout_s)
{
    static const char insecure[] = "https+insecure://";
    CURL *e = r->easy;
    bool blind = strncasecmp(url, insecure, sizeof insecure - 1) == 0;
    char *plain = NULL;
    int failed = 0;
    if (blind && asprintf(&plain, "https://%s", url + sizeof insecure - 1) < 0)
        return -1;
    failed |= (int)curl_easy_setopt(e, CURLOPT_URL, blind ? plain : url);
    free(plain);
    failed |= (int)curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    failed |= (int)curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_MAXREDIRS, MAX_REDIRECTS);
    failed |= (int)curl_easy_setopt(e, CURLOPT_USERAGENT, "profgrab/" PROFGRAB_VERSION);
    failed |= (int)curl_easy_setopt(e, CURLOPT_ERRORBUFFER, r->words);
    failed |= (int)curl_easy_setopt(e, CURLOPT_TIMEOUT, timeout_s + GRACE_S);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, blind ? 0L : 1L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, blind ? 0L : 2L);
    failed |= (int)curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
    failed |= (int)curl_easy_setopt(e, CURLOPT_WRITEDATA, r);
    failed |= (int)curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
    failed |= (int)curl_easy_setopt(e, CURLOPT_HEADERDATA, r);
    if (given(o->tls_ca))
        failed |= (int)curl_easy_setopt(e, CURLOPT_CAINFO, o->tls_ca);
    if (given(o->tls_cert))
        failed |= (int)curl_easy_setopt(e, CURLOPT_SSLCERT, o->tls_cert);
    if (given(o->tls_key))
        failed |= (int)curl_easy_setopt(e, CURLOPT_SSLKEY, o->tls_key);
    return failed ? -1 : 0;
}

/* Why there is no profile, or no answer to a question, where there is none. `what`: the method. */
static int judge(const struct request *r, CURLcode code, const char *what, const char *url, struct err *err)
{
    long status = 0;
    char complaint[COMPLAINT];
    curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    if (buf_check(&r->body, "the answer", err) < 0)
        return -1;
    if (code != CURLE_OK) {
        char *shown = pprof_url_shown(url);
        err_set(err, code == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_FAILED, "%s \"%s\": %s", what,
                shown ? shown : "", r->words[0] ? r->words : curl_easy_strerror(code));
        free(shown);
        return -1;
    }
    if (status == 200)
        return 0;
    if (!r->of_pprof || !r->is_text)
        return err_set(err, ERR_FAILED, "server response: %s", r->status);
    return err_set(err, ERR_FAILED, "server response: %s - %s", r->status,
                   text_printable(complaint, sizeof complaint, buf_str(&r->body), r->body.len));
}

int pprof_fetch(const struct pprof_options *o, const char *url, long timeout_s, struct profile **ret,
                struct err *err)
{
    uint64_t most;
    if (source_most(&most, err) < 0)
        return -1;
    struct request r = {.easy = curl_easy_init(), .body = BUF_INIT(most)};
    int rc = r.easy && set_options(&r, o, url, timeout_s) == 0
                 ? judge(&r, curl_easy_perform(r.easy), "Get", url, err)
                 : err_set(err, ERR_FAILED, "libcurl cannot be set up");
    if (rc == 0)
        rc = profile_parse_buf(&r.body, most, ret, err);
    curl_easy_cleanup(r.easy);
    buf_release(&r.body);
    return rc;
}

/* ---- symbols ---------------------------------------------------------------------------------------------
 */

/* The handlers of gperftools, beside which the symbols are called as Go calls them. */
static bool is_of_pprof(const char *path)
{
    static const char *const ends[] = {"/pprof/heap", "/pprof/growth", "/pprof/profile", "/pprof/pmuprofile",
                                       "/pprof/contention"};
    size_t n = strlen(path);
    bool is = strstr(path, "/debug/pprof/") != NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is = is || (n >= strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0);
    return is;
}

/* The path of the symbols beside a profile's: a new string. */
static char *symbol_path(const char *path)
{
    const char *name = is_of_pprof(path) ? "symbol" : "symbolz";
    char *ret = NULL;
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 0 && path[n - 1] == '/')
        n--;
    return asprintf(&ret, "%.*s/%s", (int)n, path, name) < 0 ? NULL : ret;
}

/* The URL of a server's symbols: a new string, or NULL. */
static char *symbol_url(const char *source)
{
    CURLU *u = curl_url();
    char *path = NULL, *beside = NULL, *url = NULL, *ret = NULL;
    if (u && curl_url_set(u, CURLUPART_URL, source, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK && (beside = symbol_path(path)) &&
        curl_url_set(u, CURLUPART_PATH, beside, 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_QUERY, NULL, 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_URL, &url, 0) == CURLUE_OK)
        ret = strdup(url);
    curl_free(url);
    curl_free(path);
    free(beside);
    curl_url_cleanup(u);
    return ret;
}

/* No `Expect: 100-continue`: few servers of symbols know it, and curl would wait for its answer. */
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

static int post_failed(const char *url, struct err *err)
{
    char *shown = pprof_url_shown(url);
    err_wrap(err, "http post %s", shown ? shown : "");
    free(shown);
    return err_hint(err, "-symbolize=local does without the server, and -symbolize=none without names");
}

int pprof_post(const struct pprof_options *o, const char *source, struct str addresses, struct buf *ret,
               struct err *err)
{
    struct request r = {.easy = curl_easy_init(), .body = BUF_INIT(ret->max)};
    struct curl_slist *headers = NULL;
    char *url = symbol_url(source);
    int rc = -1;
    if (url && r.easy && set_options(&r, o, url, o->timeout > 0 ? o->timeout : SYMBOLS_TIMEOUT_S) == 0 &&
        set_body(r.easy, addresses, &headers) == 0) {
        if (judge(&r, curl_easy_perform(r.easy), "Post", url, err) == 0)
            rc = 0;
        else
            post_failed(url, err);
    } else {
        err_set(err, ERR_FAILED, "libcurl cannot be set up");
    }
    if (rc == 0) {
        buf_release(ret);
        *ret = r.body;
        r.body = (struct buf)BUF_INIT(ret->max);
    }
    curl_easy_cleanup(r.easy);
    curl_slist_free_all(headers);
    buf_release(&r.body);
    free(url);
    return rc;
}
