#include "cli/http/serve.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/message.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

#define TOKEN_BYTES 24

/* ---- the address --------------------------------------------------------------------------------------- */

struct address {
    char host[256]; /* without brackets */
    uint16_t port;
};

static int refuse_address(const char *text, const char *why, struct err *err)
{
    err_set(err, ERR_USAGE, "the address \"%.200s\" %s", text, why);
    return err_hint(err, "for example localhost:8080, or :8080 for localhost too");
}

/* Parses HOST:PORT, [HOST]:PORT, :PORT or HOST:. */
static int parse_address(const char *text, struct address *ret, struct err *err)
{
    const char *colon = strrchr(text, ':'), *host = text;
    uint64_t port = 0;
    *ret = (struct address){.host = "localhost"};
    if (!*text)
        return 0;
    if (!colon)
        return refuse_address(text, "has no port", err);
    if (colon[1] && text_to_uint(colon + 1, 65535, &port) < 0)
        return refuse_address(text, "has a port that is no number up to 65535", err);
    size_t n = (size_t)(colon - host);
    if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    } else if (memchr(host, ':', n)) {
        return refuse_address(text, "has an IPv6 address without brackets", err);
    }
    if (n >= sizeof ret->host)
        return refuse_address(text, "has a host name that is too long", err);
    if (n > 0)
        snprintf(ret->host, sizeof ret->host, "%.*s", (int)n, host);
    ret->port = (uint16_t)port;
    return 0;
}

static bool is_wildcard(const char *host)
{
    unsigned char address[16] = {0};
    static const unsigned char zeros[16];
    return (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1) &&
           memcmp(address, zeros, sizeof zeros) == 0;
}

/* ---- the browser --------------------------------------------------------------------------------------- */

/* Writes a page that leads to the URL, in a file that only the user can read. The caller removes the file and
 * frees *ret_path. */
static int write_launcher(const char *url, char **ret_path, struct err *err)
{
    struct buf page = BUF_INIT(65536);
    char *path = NULL;
    int fd = file_create_temporary("profgrab-open", ".html", NULL, &path, err);
    if (fd < 0)
        return -1;
    buf_adds(
        &page,
        "<!doctype html><meta charset=\"utf-8\"><title>profgrab</title>"
        "<meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; url=");
    buf_add_html_escaped(&page, url);
    buf_adds(&page, "\">\n");
    int rc = fd_write_all(fd, buf_str(&page), page.len, err);
    fd_close(&fd);
    buf_release(&page);
    if (rc < 0) {
        unlink(path);
        free(path);
        return -1;
    }
    *ret_path = path;
    return 0;
}

/* ---- serving ------------------------------------------------------------------------------------------- */

struct serve {
    struct serve_options options;
    struct httpd *httpd;
    char token[2 * TOKEN_BYTES + 1];
    char *url; /* of the first page, with the token */
};

static int make_url(struct serve *s, const char *host, struct err *err)
{
    const char *path = s->options.path;
    return asprintf(&s->url, strchr(host, ':') ? "http://[%s]:%u%s%stoken=%s" : "http://%s:%u%s%stoken=%s",
                    host, httpd_port(s->httpd), path, strchr(path, '?') ? "&" : "?", s->token) < 0
               ? err_nomem(err)
               : 0;
}

static int listen_at(struct serve *s, const struct address *a, struct err *err)
{
    char own_name[256] = "";
    bool everywhere = is_wildcard(a->host);
    if (everywhere && gethostname(own_name, sizeof own_name - 1) < 0)
        own_name[0] = '\0';
    const char *name = *own_name ? own_name : a->host;
    const char *names[] = {name, NULL};
    const struct httpd_options o = {.routes = s->options.routes,
                                    .ctx = s->options.ctx,
                                    .limits = HTTPD_LIMITS,
                                    .host_names = names,
                                    .accepts_addresses = !address_is_loopback(a->host),
                                    .token = s->token,
                                    .title = s->options.title};
    return httpd_new(&o, &s->httpd, err) < 0 || httpd_listen(s->httpd, a->host, a->port, err) < 0
               ? -1
               : make_url(s, name, err);
}

int serve_open(const struct serve_options *options, struct serve **ret, struct err *err)
{
    struct address a;
    struct serve *s = calloc(1, sizeof *s);
    if (!s)
        return err_nomem(err);
    s->options = *options;
    if (parse_address(options->address, &a, err) < 0 || secret_make_hex(s->token, TOKEN_BYTES, err) < 0 ||
        listen_at(s, &a, err) < 0) {
        serve_close(s);
        return -1;
    }
    if (httpd_listens_beyond_loopback(s->httpd))
        message_print(
            "warning: other machines can connect to %s, and nothing encrypts the connection; only the token "
            "keeps them from the profiles",
            a.host);
    *ret = s;
    return 0;
}

void serve_close(struct serve *s)
{
    if (!s)
        return;
    httpd_free(s->httpd);
    free(s->url);
    free(s);
}

/* Opens the browser, or prints why it cannot. *ret_launcher: the file to remove at the end, or NULL. */
static void open_browser(const struct serve *s, char **ret_launcher)
{
    struct err err = ERR_INIT;
    if (!s->options.open_browser || (write_launcher(s->url, ret_launcher, &err) == 0 &&
                                     s->options.open_browser(*ret_launcher, &err) == 0))
        return;
    err_hint(&err, "set $BROWSER to a browser, or open the address yourself");
    message_print_error(stderr, &err);
}

int serve_run(struct serve *s, struct err *err)
{
    char *launcher = NULL;
    printf("%s\n", s->url);
    int rc = standard_stream_flush(stdout, err);
    if (rc == 0) {
        open_browser(s, &launcher);
        rc = httpd_run(s->httpd, signals_cancel_fd(), err);
    }
    if (launcher)
        unlink(launcher);
    free(launcher);
    return rc < 0 ? -1 : err_set(err, ERR_CANCELLED, "interrupted");
}
