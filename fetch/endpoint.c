#include "fetch/endpoint.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "fetch/fetch.h"
#include "base/banned.h"

/* Returns the name for TLS. A service behind a Unix socket has a host too: localhost by default. */
static const char *get_tls_name(const struct service *s)
{
    return s->tls.server_name ? s->tls.server_name : s->host;
}

static unsigned get_port(const struct service *s)
{
    return s->port ? s->port : s->https ? 443 : 80;
}

/* Writes HOST, or HOST:PORT if the port is not the scheme's default; with brackets around an IPv6 address. */
static void write_authority(const struct service *s, const char *host, char *dst, size_t cap)
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    char port[16] = "";
    if (get_port(s) != (s->https ? 443 : 80))
        snprintf(port, sizeof port, ":%u", get_port(s));
    snprintf(dst, cap, "%s%s%s%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", port);
}

/* Writes the origin of the service's URL: `https://host:port`. */
static void write_origin(const struct service *service, char *dst, size_t cap)
{
    char authority[300];
    write_authority(service, get_tls_name(service), authority, sizeof authority);
    snprintf(dst, cap, "%s://%s", service->https ? "https" : "http", authority);
}

int endpoint_url(const struct service *service, const char *request_target, char *dst, size_t cap,
                 struct err *err)
{
    char origin[320];
    const char *query = service->query ? service->query : "";
    const char *separator = !*query ? "" : strchr(request_target, '?') ? "&" : "?";
    write_origin(service, origin, sizeof origin);
    int n = snprintf(dst, cap, "%s%s%s%s", origin, request_target, separator, query);
    return n >= 0 && (size_t)n < cap
               ? 0
               : err_set(err, ERR_FAILED, "the path %.60s... is too long", request_target);
}

char *fetch_service_url(const struct service *service, char *dst, size_t cap)
{
    char authority[300];
    write_authority(service, service->host, authority, sizeof authority);
    if (service->unix_path)
        snprintf(dst, cap, "unix:%s %s", service->unix_path, service->path);
    else
        snprintf(dst, cap, "%s://%s%s", service->https ? "https" : "http", authority, service->path);
    return dst;
}

char *endpoint_host(const struct service *service, char *dst, size_t cap)
{
    if (service->host_header)
        snprintf(dst, cap, "%s", service->host_header);
    else
        write_authority(service, service->host, dst, cap);
    return dst;
}

struct http_auth endpoint_auth(const struct endpoint *e)
{
    return (struct http_auth){.user = e->service->auth.user, .secret = e->secret};
}

/* ---- TLS ----------------------------------------------------------------------------------------------- */

/* Writes the last part of OpenSSL's error text: "wrong version number". */
static void write_last_part(const char *text, char *dst, size_t cap)
{
    const char *last = text;
    for (const char *p; (p = strstr(last, "::"));)
        last = p + 2;
    text_printable(dst, cap, last, strcspn(last, ","));
}

bool endpoint_set_tls_error(const struct service *service, enum http_failure failure, const char *text,
                            struct err *err)
{
    char shown[200];
    write_last_part(text, shown, sizeof shown);
    switch (failure) {
    case HTTP_FAILURE_CERTIFICATE:
        err_set(err, ERR_DENIED, "its TLS certificate is not accepted: %s", shown);
        err_hint(
            err,
            "in the inventory, set `ca: FILE` below `tls:` of the service to the authority's certificate, or "
            "`server_name: NAME` to the name in the certificate");
        return true;
    case HTTP_FAILURE_AUTHORITIES:
        err_set(err, ERR_DENIED, "the certificates of `ca:` cannot be read from %s",
                service->tls.ca ? service->tls.ca : "the system's store");
        return true;
    case HTTP_FAILURE_OWN_CERTIFICATE:
        err_set(err, ERR_DENIED, "our certificate cannot be used: %s", shown);
        err_hint(err, "`cert:` and `key:` are PEM files that belong together; the key has no passphrase");
        return true;
    case HTTP_FAILURE_RECEIVE:
    case HTTP_FAILURE_SEND:
        /* With TLS 1.3 the client learns only after the handshake that the server rejects its certificate. */
        if (!service->https || !strstr(text, "alert"))
            return false;
        /* fallthrough */
    case HTTP_FAILURE_TLS:
        err_set(err, ERR_FAILED, "no TLS connection: %s", shown);
        err_hint(
            err,
            service->tls.cert
                ? "does it speak TLS (`scheme:`), and does it accept our certificate?"
                : "does it speak TLS (`scheme:`), or require a client certificate (`tls: { cert: FILE }`)?");
        return true;
    default:
        return false;
    }
}

/* ---- redirects ----------------------------------------------------------------------------------------- */

/* Returns one part of a URL, which curl_free frees; NULL if the URL lacks it. */
static char *get_url_part(CURLU *url, CURLUPart which)
{
    char *text = NULL;
    return curl_url_get(url, which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}

static bool have_same_part(CURLU *a, CURLU *b, CURLUPart which)
{
    char *x = get_url_part(a, which), *y = get_url_part(b, which);
    bool same = x && y && strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

/* Checks whether a Host header, HOST or HOST:PORT, names `host`. */
static bool is_header_of(const char *header, const char *host)
{
    size_t n = strlen(host);
    return strncasecmp(header, host, n) == 0 && (header[n] == '\0' || header[n] == ':');
}

static bool leads_to_same_host(const struct service *service, CURLU *from, CURLU *to)
{
    char *host = get_url_part(to, CURLUPART_HOST);
    /* A server may redirect to the name in the request's Host header. */
    bool same = host && (strcasecmp(host, service->host) == 0 ||
                         (service->host_header && is_header_of(service->host_header, host)));
    curl_free(host);
    return same || have_same_part(from, to, CURLUPART_HOST);
}

static int set_other_service_error(const struct endpoint *e, CURLU *to, struct err *err)
{
    char *scheme = get_url_part(to, CURLUPART_SCHEME), *host = get_url_part(to, CURLUPART_HOST), *port = NULL,
         *path = get_url_part(to, CURLUPART_PATH);
    if (curl_url_get(to, CURLUPART_PORT, &port, CURLU_NO_DEFAULT_PORT) != CURLUE_OK)
        port = NULL;
    char shown[200], location[4096];
    struct http_auth auth = endpoint_auth(e);
    snprintf(location, sizeof location, "%s://%.100s%s%s%s", scheme ? scheme : "?", host ? host : "?",
             port ? ":" : "", port ? port : "", path ? path : "/");
    http_auth_mask(&auth, location);
    text_printable(shown, sizeof shown, location, strlen(location));
    err_set(err, ERR_FAILED, "it redirects to %s, which is not this service: not followed", shown);
    if (!e->service->https && scheme && strcmp(scheme, "https") == 0)
        err_hint(err, "does it want TLS (`scheme: https` and its port), or a login?");
    else
        err_hint(err, "does it want a login (`auth:`), or another `host_header:`?");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(path);
    return -1;
}

static int write_request_target(CURLU *to, char *dst, size_t cap, struct err *err)
{
    char *path = get_url_part(to, CURLUPART_PATH), *query = get_url_part(to, CURLUPART_QUERY);
    int n = snprintf(dst, cap, "%s%s%s", path ? path : "/", query ? "?" : "", query ? query : "");
    curl_free(path);
    curl_free(query);
    return n >= 0 && (size_t)n < cap ? 0
                                     : err_set(err, ERR_FAILED, "it redirects to a path that is too long");
}

int endpoint_redirect(const struct endpoint *e, const char *url, char *dst, size_t cap, struct err *err)
{
    char origin[400];
    CURLU *from = curl_url(), *to = curl_url();
    int rc = -1;
    if (!from || !to) {
        err_nomem(err);
        goto out;
    }
    write_origin(e->service, origin, sizeof origin);
    if (curl_url_set(from, CURLUPART_URL, origin, 0) != CURLUE_OK ||
        curl_url_set(to, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        err_set(err, ERR_FAILED, "it redirects to an invalid URL: not followed");
        goto out;
    }
    bool is_same_service = have_same_part(from, to, CURLUPART_SCHEME) &&
                           have_same_part(from, to, CURLUPART_PORT) &&
                           leads_to_same_host(e->service, from, to);
    rc = is_same_service ? write_request_target(to, dst, cap, err) : set_other_service_error(e, to, err);
out:
    curl_url_cleanup(from);
    curl_url_cleanup(to);
    return rc;
}
