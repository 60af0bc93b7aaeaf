#include "http/url_origin.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

static bool has_part(CURLU *url, CURLUPart which)
{
    char *part = NULL;
    bool found = curl_url_get(url, which, &part, 0) == CURLUE_OK;
    curl_free(part);
    return found;
}

int url_origin_parse(const char *url, struct url_origin *ret, struct err *err)
{
    CURLU *u = curl_url();
    char *host = NULL;
    if (!u)
        return err_nomem(err);
    bool https = strncasecmp(url, "https://", 8) == 0, http = strncasecmp(url, "http://", 7) == 0;
    bool is_http = (https || http) && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                   curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    if (is_http && *host == '[') { /* an IPv6 address */
        size_t n = strlen(host) - 2;
        memmove(host, host + 1, n);
        host[n] = '\0';
    }
    *ret = (struct url_origin){.is_http = is_http,
                               .https = https,
                               .is_loopback = is_http && address_is_loopback(host),
                               .has_credentials =
                                   has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD)};
    curl_free(host);
    curl_url_cleanup(u);
    return 0;
}

static bool has_same_part(CURLU *a, CURLU *b, CURLUPart which)
{
    char *x = NULL, *y = NULL;
    bool same = curl_url_get(a, which, &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                curl_url_get(b, which, &y, CURLU_DEFAULT_PORT) == CURLUE_OK && strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

bool url_origin_is_same(const char *a, const char *b)
{
    CURLU *x = curl_url(), *y = curl_url();
    bool same = x && y && curl_url_set(x, CURLUPART_URL, a, 0) == CURLUE_OK &&
                curl_url_set(y, CURLUPART_URL, b, 0) == CURLUE_OK && has_same_part(x, y, CURLUPART_SCHEME) &&
                has_same_part(x, y, CURLUPART_HOST) && has_same_part(x, y, CURLUPART_PORT);
    curl_url_cleanup(x);
    curl_url_cleanup(y);
    return same;
}

bool url_origin_may_redirect(const char *from, const char *to)
{
    struct url_origin source, target;
    if (url_origin_parse(from, &source, NULL) < 0 || url_origin_parse(to, &target, NULL) < 0)
        return false;
    return target.is_http && !target.has_credentials &&
           (target.https || (source.is_loopback && target.is_loopback));
}

/* Writes the URL without `parts` into dst, or "" if the text is not a URL. Returns dst. */
static char *strip_parts(const char *url, const CURLUPart *parts, size_t n, char *dst, size_t cap)
{
    CURLU *u = curl_url();
    char *shown = NULL;
    bool done = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK;
    for (size_t i = 0; done && i < n; i++)
        done = curl_url_set(u, parts[i], NULL, 0) == CURLUE_OK;
    if (done && curl_url_get(u, CURLUPART_URL, &shown, 0) != CURLUE_OK)
        shown = NULL;
    text_printable(dst, cap, shown ? shown : "", shown ? strlen(shown) : 0);
    curl_free(shown);
    curl_url_cleanup(u);
    return dst;
}

char *url_origin_strip_secrets(const char *url, char *dst, size_t cap)
{
    static const CURLUPart parts[] = {CURLUPART_QUERY, CURLUPART_FRAGMENT, CURLUPART_USER,
                                      CURLUPART_PASSWORD};
    return strip_parts(url, parts, sizeof parts / sizeof *parts, dst, cap);
}

char *url_origin_text(const char *url, char *dst, size_t cap)
{
    static const CURLUPart parts[] = {CURLUPART_QUERY, CURLUPART_FRAGMENT, CURLUPART_USER, CURLUPART_PASSWORD,
                                      CURLUPART_PATH};
    strip_parts(url, parts, sizeof parts / sizeof *parts, dst, cap);
    size_t n = strlen(dst);
    if (n && dst[n - 1] == '/')
        dst[n - 1] = '\0';
    return dst;
}
