#include "fetch/endpoint.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fetch/fetch.h"
#include "base/banned.h"

/* The name in TLS. A service behind a Unix socket has a host too: localhost by default. */
static const char *get_tls_name(const struct service *s)
{
    return s->tls.server_name ? s->tls.server_name : s->host;
}

static unsigned port_of(const struct service *s)
{
    return s->port ? s->port : s->https ? 443 : 80;
}

/* HOST, or HOST:PORT if the port is not the scheme's default; with brackets around an IPv6 address. */
static void write_authority(const struct service *s, const char *host, char *dst, size_t cap)
{
    bool ipv6 = strchr(host, ':') != NULL;
    char port[16] = "";
    if (port_of(s) != (s->https ? 443 : 80))
        snprintf(port, sizeof port, ":%u", port_of(s));
    snprintf(dst, cap, "%s%s%s%s", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
}

/* The URL without the target: `https://host:port`. */
static void write_origin(const struct service *service, char *dst, size_t cap)
{
    char where[300];
    write_authority(service, get_tls_name(service), where, sizeof where);
    snprintf(dst, cap, "%s://%s", service->https ? "https" : "http", where);
}

int endpoint_url(const struct service *service, const char *target, char *dst, size_t cap, struct err *err)
{
    char own[320];
    const char *query = service->query ? service->query : "";
    const char *before = !*query ? "" : strchr(target, '?') ? "&" : "?";
    write_origin(service, own, sizeof own);
    int n = snprintf(dst, cap, "%s%s%s%s", own, target, before, query);
    return n >= 0 && (size_t)n < cap ? 0 : err_set(err, ERR_FAILED, "the path %.60s... is too long", target);
}

char *fetch_service_url(const struct service *service, char *dst, size_t cap)
{
    char where[300];
    write_authority(service, service->host, where, sizeof where);
    if (service->unix_path)
        snprintf(dst, cap, "unix:%s %s", service->unix_path, service->path);
    else
        snprintf(dst, cap, "%s://%s%s", service->https ? "https" : "http", where, service->path);
    return dst;
}

/* ---- TLS and authentication ---------------------------------------------------------------------------- */

/* Sets the TLS options. The passphrase is empty, so that OpenSSL does not ask for one on the terminal. */
static int apply_tls(CURL *easy, const struct service_tls *tls)
{
    int failed = 0;
    failed |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    failed |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls->insecure ? 0L : 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls->insecure ? 0L : 2L);
    failed |= curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
    if (tls->ca) {
        failed |= curl_easy_setopt(easy, CURLOPT_CAINFO, tls->ca);
        failed |= curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (tls->cert) {
        failed |= curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert);
        failed |= curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key ? tls->key : tls->cert);
    }
    return failed;
}

static int apply_auth(CURL *easy, const struct service_auth *auth, const struct secret *secret)
{
    int failed = 0;
    if (auth->user) {
        failed |= curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
        failed |= curl_easy_setopt(easy, CURLOPT_USERNAME, auth->user);
        failed |= curl_easy_setopt(easy, CURLOPT_PASSWORD, secret->text);
    } else {
        failed |= curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        failed |= curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, secret->text);
    }
    return failed;
}

int endpoint_apply(CURL *easy, const struct service *service, const struct secret *secret,
                   struct curl_slist **ret_headers, struct err *err)
{
    char header[320] = "Host: ";
    size_t n = strlen(header);
    int failed = 0;
    if (service->host_header)
        snprintf(header + n, sizeof header - n, "%s", service->host_header);
    else
        write_authority(service, service->host, header + n, sizeof header - n);
    struct curl_slist *headers = curl_slist_append(NULL, header);
    if (!headers)
        return err_nomem(err);
    failed |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, service->https ? "https" : "http");
    failed |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    if (service->https)
        failed |= apply_tls(easy, &service->tls);
    if (secret)
        failed |= apply_auth(easy, &service->auth, secret);
    if (failed) {
        curl_slist_free_all(headers);
        return err_set(err, ERR_FAILED, "libcurl cannot be set up for the service's TLS or authentication");
    }
    *ret_headers = headers;
    return 0;
}

/* The last part of OpenSSL's error text: "wrong version number". */
static void tls_words(const char *words, char *dst, size_t cap)
{
    const char *last = words;
    for (const char *p; (p = strstr(last, "::"));)
        last = p + 2;
    text_printable(dst, cap, last, strcspn(last, ","));
}

bool endpoint_tls_error(const struct service *service, CURLcode code, const char *words, struct err *err)
{
    char shown[200];
    tls_words(words, shown, sizeof shown);
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
        err_set(err, ERR_DENIED, "its TLS certificate is not accepted: %s", shown);
        err_hint(err,
                 "in the service's `tls:`, `ca: FILE` names whom to trust and `server_name: NAME` the name "
                 "in the certificate");
        return true;
    case CURLE_SSL_CACERT_BADFILE:
        err_set(err, ERR_DENIED, "the certificates of `ca:` cannot be read from %s",
                service->tls.ca ? service->tls.ca : "the system's store");
        return true;
    case CURLE_SSL_CERTPROBLEM:
        err_set(err, ERR_DENIED, "our certificate cannot be used: %s", shown);
        err_hint(err, "`cert:` and `key:` are PEM files that belong together; the key has no passphrase");
        return true;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        /* With TLS 1.3 the client learns of its rejection only after the handshake. */
        if (!service->https || !strstr(words, "alert"))
            return false;
        /* fallthrough */
    case CURLE_SSL_CONNECT_ERROR:
        err_set(err, ERR_FAILED, "no TLS connection: %s", shown);
        err_hint(
            err,
            service->tls.cert
                ? "does it speak TLS (`scheme:`), and does it know our certificate?"
                : "does it speak TLS (`scheme:`), or want a certificate of ours (`tls: { cert: FILE }`)?");
        return true;
    default:
        return false;
    }
}

/* ---- redirects ----------------------------------------------------------------------------------------- */

/* One part of a URL as a string for libcurl to free; NULL if the URL lacks it. */
static char *get_url_part(CURLU *url, CURLUPart which)
{
    char *text = NULL;
    return curl_url_get(url, which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart which)
{
    char *x = get_url_part(a, which), *y = get_url_part(b, which);
    bool same = x && y && strcasecmp(x, y) == 0;
    curl_free(x);
    curl_free(y);
    return same;
}

/* Whether a Host header, HOST or HOST:PORT, names `host`. */
static bool is_header_of(const char *header, const char *host)
{
    size_t n = strlen(host);
    return strncasecmp(header, host, n) == 0 && (header[n] == '\0' || header[n] == ':');
}

static bool same_host(const struct service *service, CURLU *from, CURLU *to)
{
    char *host = get_url_part(to, CURLUPART_HOST);
    /* A server that uses its Host header redirects to that name. */
    bool same = host && (strcasecmp(host, service->host) == 0 ||
                         (service->host_header && is_header_of(service->host_header, host)));
    curl_free(host);
    return same || same_part(from, to, CURLUPART_HOST);
}

static int leads_elsewhere(const struct service *service, const struct secret *secret, CURLU *to,
                           struct err *err)
{
    char *scheme = get_url_part(to, CURLUPART_SCHEME), *host = get_url_part(to, CURLUPART_HOST), *port = NULL,
         *path = get_url_part(to, CURLUPART_PATH);
    if (curl_url_get(to, CURLUPART_PORT, &port, CURLU_NO_DEFAULT_PORT) != CURLUE_OK)
        port = NULL;
    char shown[200], whole[4096];
    snprintf(whole, sizeof whole, "%s://%.100s%s%s%s", scheme ? scheme : "?", host ? host : "?",
             port ? ":" : "", port ? port : "", path ? path : "/");
    endpoint_redact(whole, service, secret);
    text_printable(shown, sizeof shown, whole, strlen(whole));
    err_set(err, ERR_FAILED, "it redirects to %s, which is not this service: not followed", shown);
    if (!service->https && scheme && strcmp(scheme, "https") == 0)
        err_hint(err, "does it want TLS (`scheme: https`, and the port of that), or a login?");
    else
        err_hint(err, "does it want a login (`auth:`), or another `host_header:`?");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(path);
    return -1;
}

static int new_target(CURLU *to, char *dst, size_t cap, struct err *err)
{
    char *path = get_url_part(to, CURLUPART_PATH), *query = get_url_part(to, CURLUPART_QUERY);
    int n = snprintf(dst, cap, "%s%s%s", path ? path : "/", query ? "?" : "", query ? query : "");
    curl_free(path);
    curl_free(query);
    return n >= 0 && (size_t)n < cap ? 0
                                     : err_set(err, ERR_FAILED, "it redirects to a path that is too long");
}

int endpoint_redirect(const struct service *service, const struct secret *secret, const char *url, char *dst,
                      size_t cap, struct err *err)
{
    char own[400];
    CURLU *from = curl_url(), *to = curl_url();
    int rc = -1;
    if (!from || !to) {
        err_nomem(err);
        goto out;
    }
    write_origin(service, own, sizeof own);
    if (curl_url_set(from, CURLUPART_URL, own, 0) != CURLUE_OK ||
        curl_url_set(to, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        err_set(err, ERR_FAILED, "it redirects to an invalid URL: not followed");
        goto out;
    }
    bool here = same_part(from, to, CURLUPART_SCHEME) && same_part(from, to, CURLUPART_PORT) &&
                same_host(service, from, to);
    rc = here ? new_target(to, dst, cap, err) : leads_elsewhere(service, secret, to, err);
out:
    curl_url_cleanup(from);
    curl_url_cleanup(to);
    return rc;
}

/* ---- secrets in answers -------------------------------------------------------------------------------- */

#define TOLD_CHUNK 65536

/* The base64 text of basic authentication; "" for other schemes. The caller wipes it. */
#define ENCODED_SIZE (2 * (SECRET_MAX + 300))
static void encode_basic_auth(const struct service *service, const struct secret *secret,
                              char dst[static ENCODED_SIZE])
{
    char plain[SECRET_MAX + 300];
    *dst = '\0';
    if (!service->auth.user)
        return;
    int n = snprintf(plain, sizeof plain, "%.255s:%s", service->auth.user, secret->text);
    EVP_EncodeBlock((unsigned char *)dst, (const unsigned char *)plain, n);
    explicit_bzero(plain, sizeof plain);
}

void endpoint_redact(char *text, const struct service *service, const struct secret *secret)
{
    char encoded[ENCODED_SIZE];
    if (!secret || !secret->len)
        return;
    secret_mask(text, secret->text);
    encode_basic_auth(service, secret, encoded);
    secret_mask(text, encoded);
    explicit_bzero(encoded, sizeof encoded);
}

static bool contains(const char *p, size_t n, const char *needle)
{
    size_t length = strlen(needle);
    return length > 0 && memmem(p, n, needle, length) != NULL;
}

int endpoint_reflected(int fd, const struct service *service, const struct secret *secret,
                       bool *ret_reflected)
{
    char encoded[ENCODED_SIZE], room[TOLD_CHUNK + ENCODED_SIZE];
    bool found = false;
    size_t kept = 0;
    ssize_t n = 1;
    if (!secret || !secret->len) {
        *ret_reflected = false;
        return 0;
    }
    encode_basic_auth(service, secret, encoded);
    for (off_t at = 0; !found && (n = pread(fd, room + kept, TOLD_CHUNK, at)) > 0; at += n) {
        size_t size = kept + (size_t)n;
        found = contains(room, size, secret->text) || contains(room, size, encoded);
        /* The secret may begin at the end of this piece. */
        kept = size < ENCODED_SIZE ? size : ENCODED_SIZE;
        memmove(room, room + size - kept, kept);
    }
    explicit_bzero(encoded, sizeof encoded);
    explicit_bzero(room, sizeof room);
    if (n < 0)
        return -1;
    *ret_reflected = found;
    return 0;
}
