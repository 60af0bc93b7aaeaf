/* Accepts and changes the URLs of profiles as Go's pprof does.
 * Source: cmd/pprof of Go, adjustURL; google/pprof internal/symbolz. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/load.h"
#include "base/banned.h"

/* The default path is Go's handler for CPU profiles. */
#define CPU_HANDLER "/debug/pprof/profile"

/* ---- profile URLs -------------------------------------------------------------------------------------- */

/* Escapes a key or value of a query, as Go's url.QueryEscape does. Keeps `%` and `+`, because the text of a
 * URL is escaped already. */
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

/* Copies the query to `to`. If *seconds is positive, it replaces the query's `seconds`. Otherwise sets
 * *seconds to the query's value. */
static void set_seconds(const char *query, long *seconds, struct buf *to)
{
    bool requested = *seconds > 0;
    for (const char *at = query; *at;) {
        size_t n = strcspn(at, "&"), n_key = strcspn(at, "=&");
        bool is_seconds = n_key == 7 && memcmp(at, "seconds", 7) == 0;
        if (is_seconds && !requested && n > 8)
            *seconds = strtol(at + 8, NULL, 10);
        if (n && !(is_seconds && requested)) {
            buf_adds(to, to->len ? "&" : "");
            add_escaped(to, at, n_key);
            buf_addc(to, '=');
            if (n > n_key)
                add_escaped(to, at + n_key + 1, n - n_key - 1);
        }
        at += n + (at[n] == '&');
    }
    if (requested)
        buf_addf(to, "%sseconds=%ld", to->len ? "&" : "", *seconds);
}

static int adjust_url(CURLU *u, long *seconds, char **ret, struct err *err)
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

/* Makes a URL of HOST:PORT/PATH. Returns a new string, or NULL for a word that names a file. */
static char *add_scheme(const char *source)
{
    char *url = NULL;
    if (strstr(source, "://"))
        return strdup(source);
    if (strncmp(source, "file:", 5) == 0 || !strchr(source, ':'))
        return NULL;
    return asprintf(&url, "http://%s", source) < 0 ? NULL : url;
}

int load_url_make(const char *source, long seconds, long timeout_s, struct load_url *ret, struct err *err)
{
    char *text = add_scheme(source), *url = NULL;
    CURLU *u = text ? curl_url() : NULL;
    int rc = 0;
    if (u && curl_url_set(u, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK)
        rc = adjust_url(u, &seconds, &url, err);
    if (url) {
        ret->url = url;
        ret->timeout_s = timeout_s > 0 ? timeout_s : seconds > 0 ? seconds + seconds / 2 : 60;
    }
    curl_url_cleanup(u);
    free(text);
    return rc;
}

/* ---- symbol URLs --------------------------------------------------------------------------------------- */

/* Returns whether the path belongs to Go's handlers, or to those of gperftools, which have the same symbol
 * path. */
static bool is_pprof_path(const char *path)
{
    static const char *const ends[] = {"/pprof/heap", "/pprof/growth", "/pprof/profile", "/pprof/pmuprofile",
                                       "/pprof/contention"};
    size_t n = strlen(path);
    bool is = strstr(path, "/debug/pprof/") != NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is = is || (n >= strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0);
    return is;
}

/* Returns the symbol path next to a profile's path: a new string. */
static char *symbol_path(const char *path)
{
    const char *name = is_pprof_path(path) ? "symbol" : "symbolz";
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

char *load_url_symbols(const char *profile_url)
{
    CURLU *u = curl_url();
    char *path = NULL, *symbols_path = NULL, *url = NULL, *ret = NULL;
    if (u && curl_url_set(u, CURLUPART_URL, profile_url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK && (symbols_path = symbol_path(path)) &&
        curl_url_set(u, CURLUPART_PATH, symbols_path, 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_QUERY, NULL, 0) == CURLUE_OK &&
        curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_URL, &url, 0) == CURLUE_OK)
        ret = strdup(url);
    curl_free(url);
    curl_free(path);
    free(symbols_path);
    curl_url_cleanup(u);
    return ret;
}
