#include "httpd/access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>

#include "base/banned.h"

int access_begin(struct httpd *server, struct err *err)
{
    static const char prefix[] = "visitor-";
    memcpy(server->cookie_name, prefix, sizeof prefix);
    return secret_make_hex(server->cookie_name + sizeof prefix - 1, 4, err) < 0
               ? -1
               : secret_make_hex(server->cookie_value, HTTPD_COOKIE_BYTES, err);
}

/* ---- Host and Origin ----------------------------------------------------------------------------------- */

/* Copies the name of HOST or HOST:PORT without brackets and without a full stop at its end. */
static bool copy_name(const char *host, char *ret, size_t cap)
{
    bool bracketed = *host == '[';
    const char *start = host + bracketed, *end = bracketed ? strchr(start, ']') : start + strcspn(start, ":");
    if (!end || end == start || (size_t)(end - start) >= cap)
        return false;
    const char *rest = end + bracketed;
    if (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1))
        rest += strlen(rest);
    if (*rest)
        return false;
    if (!bracketed && end - start > 1 && end[-1] == '.')
        end--;
    memcpy(ret, start, (size_t)(end - start));
    ret[end - start] = '\0';
    return true;
}

static bool is_address(const char *name)
{
    unsigned char unused[16];
    return inet_pton(AF_INET, name, unused) == 1 || inet_pton(AF_INET6, name, unused) == 1;
}

static bool is_loopback_name(const char *name)
{
    static const char suffix[] = ".localhost";
    size_t n = strlen(name), n_suffix = sizeof suffix - 1;
    return strcasecmp(name, "localhost") == 0 || address_is_loopback(name) ||
           (n > n_suffix && strcasecmp(name + n - n_suffix, suffix) == 0);
}

bool access_host_is_ours(const struct httpd *server, const char *host)
{
    char name[256];
    if (!host || !copy_name(host, name, sizeof name))
        return false;
    if (is_loopback_name(name) || (server->options.accepts_addresses && is_address(name)))
        return true;
    for (size_t i = 0; i < server->host_names.n; i++)
        if (strcasecmp(server->host_names.items[i], name) == 0)
            return true;
    return false;
}

bool access_origin_is_ours(const struct httpd *server, const char *origin, const char *host)
{
    const char *scheme = server->tls ? "https://" : "http://";
    size_t n = strlen(scheme);
    return !origin || (host && strncasecmp(origin, scheme, n) == 0 && strcasecmp(origin + n, host) == 0);
}

/* ---- the token ----------------------------------------------------------------------------------------- */

/* Compares in a time that does not depend on the bytes. */
static bool equals_secret(struct str given, const char *secret)
{
    size_t n = strlen(secret);
    return given.n == n && CRYPTO_memcmp(given.p, secret, n) == 0;
}

static bool has_cookie(const struct httpd_request *r)
{
    const char *p = httpd_header(r, "Cookie");
    size_t n_name = strlen(r->server->cookie_name);
    while (p && *p) {
        p += strspn(p, "; ");
        size_t n = strcspn(p, ";");
        if (n > n_name && p[n_name] == '=' && memcmp(p, r->server->cookie_name, n_name) == 0 &&
            equals_secret((struct str){p + n_name + 1, n - n_name - 1}, r->server->cookie_value))
            return true;
        p += n;
    }
    return false;
}

static bool has_bearer_token(const struct httpd_request *r)
{
    static const char scheme[] = "Bearer ";
    const char *p = httpd_header(r, "Authorization");
    return p && strncasecmp(p, scheme, sizeof scheme - 1) == 0 &&
           equals_secret(str_of(p + sizeof scheme - 1), r->server->token);
}

static bool has_form_token(struct httpd_request *r)
{
    static const char name[] = "token=";
    struct str body = r->method == HTTPD_POST ? httpd_body(r) : STR("");
    char value[HTTPD_FORM_MAX + 1];
    if (!str_begins(body, name) || body.n > HTTPD_FORM_MAX)
        return false;
    ptrdiff_t n = request_decode(body.p + sizeof name - 1, body.n - (sizeof name - 1), true, value);
    if (n < 0)
        return false;
    /* The visitor may have entered the whole address. */
    const char *in_address = strstr(value, name), *token = in_address ? in_address + strlen(name) : value;
    size_t length = in_address ? strcspn(token, "&# \t\r\n") : (size_t)n;
    return equals_secret(str_trim((struct str){token, length}), r->server->token);
}

static void answer_page(struct httpd_request *r, int status, const struct buf *page)
{
    httpd_answer_bytes(r,
                       &(struct httpd_answer){.status = status,
                                              .type = "text/html; charset=utf-8",
                                              .policy =
                                                  "default-src 'none'; base-uri 'none'; form-action 'self'; "
                                                  "frame-ancestors 'none'"},
                       page->data, page->len);
}

/* Returns whether n bytes of a query are the parameter `token`. */
static bool is_token_parameter(const char *p, size_t n)
{
    const char *equals = memchr(p, '=', n);
    char name[64];
    size_t n_name = equals ? (size_t)(equals - p) : n;
    return n_name < sizeof name && request_decode(p, n_name, true, name) >= 0 && strcmp(name, "token") == 0;
}

/* Adds the address of the request without the token. A path such as //example.org would lead to another
 * server. */
static void add_address_without_token(struct buf *to, const struct httpd_request *r)
{
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(r->ev)), *query = r->query_string;
    buf_adds(to, path && path[0] == '/' && path[1] != '/' && path[1] != '\\' ? path : "/");
    for (char before = '?'; *query;) {
        size_t n = strcspn(query, "&");
        if (n > 0 && !is_token_parameter(query, n)) {
            buf_addc(to, before);
            buf_add(to, query, n);
            before = '&';
        }
        query += n + (query[n] == '&');
    }
}

/* Leads the visitor to an address by a page, because a browser would not send a cookie with SameSite=Strict
 * after a redirect (303) whose first address another site or a file has given. */
static void send_page_to(struct httpd_request *r, const char *to)
{
    struct buf page = BUF_INIT(12 * r->server->options.limits.header_bytes + 4096);
    buf_adds(&page, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                    "<meta name=\"referrer\" content=\"no-referrer\"><title>");
    buf_add_html_escaped(&page, r->server->title);
    buf_adds(&page, "</title>\n<meta http-equiv=\"refresh\" content=\"0; url=");
    buf_add_html_escaped(&page, to);
    buf_adds(&page, "\">\n<p><a href=\"");
    buf_add_html_escaped(&page, to);
    buf_adds(&page, "\">Continue</a></p>\n");
    answer_page(r, 200, &page);
    buf_release(&page);
}

/* Sets the cookie, and leads the visitor to the same address without the token. */
static void send_cookie(struct httpd_request *r)
{
    struct buf to = BUF_INIT(r->server->options.limits.header_bytes);
    struct evkeyvalq *headers = evhttp_request_get_output_headers(r->ev);
    char cookie[200];
    add_address_without_token(&to, r);
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", r->server->cookie_name,
             r->server->cookie_value, r->server->tls ? "; Secure" : "");
    evhttp_add_header(headers, "Set-Cookie", cookie);
    if (r->method == HTTPD_POST) {
        /* The form is the server's own, so that the browser sends the cookie; it also keeps the address's
         * fragment. */
        evhttp_add_header(headers, "Location", buf_str(&to));
        httpd_answer_text(r, 303, "%s\n", buf_str(&to));
    } else {
        send_page_to(r, buf_str(&to));
    }
    buf_release(&to);
}

static void ask_for_token(struct httpd_request *r, bool was_wrong)
{
    struct buf page = BUF_INIT(8192);
    buf_adds(&page, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                    "<meta name=\"viewport\" content=\"width=device-width\"><title>");
    buf_add_html_escaped(&page, r->server->title);
    buf_adds(&page, "</title>\n<h1>");
    buf_add_html_escaped(&page, r->server->title);
    buf_adds(&page, "</h1>\n");
    if (was_wrong)
        buf_adds(&page, "<p role=\"alert\">This is not the token.</p>\n");
    buf_adds(
        &page,
        "<p>The program that serves this page printed an address with a token. Open that address, or enter "
        "the token.</p>\n<form method=\"post\"><label>Token <input name=\"token\" type=\"password\" "
        "autofocus "
        "autocomplete=\"off\"></label> <button>Open</button></form>\n");
    answer_page(r, 403, &page);
    buf_release(&page);
}

bool access_is_visitor(struct httpd_request *r)
{
    if (!r->server->token)
        return true;
    const char *given = httpd_parameter(r, "token");
    if ((given && equals_secret(str_of(given), r->server->token)) || has_form_token(r)) {
        send_cookie(r);
        return false;
    }
    if (has_cookie(r) || has_bearer_token(r))
        return true;
    ask_for_token(r, given || r->method == HTTPD_POST);
    return false;
}
