#include "cli/http/serve.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/message.h"
#include "cli/term/signals.h"
#include "cli/term/standard_streams.h"
#include "base/banned.h"

#define TOKEN_BYTES 24
#define LAUNCHER_ENDING ".html"

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

static void add_escaped(struct buf *to, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            buf_adds(to, "&amp;");
        else if (*text == '"')
            buf_adds(to, "&quot;");
        else if (*text == '<')
            buf_adds(to, "&lt;");
        else
            buf_addc(to, *text);
    }
}

/* Writes a page that leads to the URL, in a file that only the user can read. The caller removes the file and
 * frees *ret_path. */
static int write_launcher(const char *url, char **ret_path, struct err *err)
{
    const char *directories[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    struct buf page = BUF_INIT(65536);
    char *path = NULL;
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < sizeof directories / sizeof *directories; i++) {
        if (!directories[i] || directories[i][0] != '/')
            continue;
        free(path);
        if (asprintf(&path, "%s/profgrab-open-XXXXXX" LAUNCHER_ENDING, directories[i]) < 0)
            return err_nomem(err);
        fd = mkostemps(path, sizeof LAUNCHER_ENDING - 1, O_CLOEXEC);
    }
    buf_adds(
        &page,
        "<!doctype html><meta charset=\"utf-8\"><title>profgrab</title>"
        "<meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; url=");
    add_escaped(&page, url);
    buf_adds(&page, "\">\n");
    int rc = fd < 0 ? err_sys(err, "cannot make a file under XDG_RUNTIME_DIR, TMPDIR or /tmp")
                    : fd_write_all(fd, buf_str(&page), page.len, err);
    if (rc < 0 && fd >= 0)
        unlink(path);
    fd_close(&fd);
    buf_release(&page);
    if (rc == 0)
        *ret_path = path;
    else
        free(path);
    return rc;
}

/* Opens the browser, or prints why it cannot. *ret_launcher: the file to remove at the end, or NULL. */
static void open_browser(const struct serve_options *o, const char *url, char **ret_launcher)
{
    struct err err = ERR_INIT;
    if (!o->open_browser ||
        (write_launcher(url, ret_launcher, &err) == 0 && o->open_browser(*ret_launcher, &err) == 0))
        return;
    err_hint(&err, "set $BROWSER to a browser, or open the address yourself");
    message_print_error(stderr, &err);
}

/* ---- serving ------------------------------------------------------------------------------------------- */

static int make_token(char ret[2 * TOKEN_BYTES + 1], struct err *err)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getentropy(bytes, sizeof bytes) < 0)
        return err_sys(err, "the system has no random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Prints the address, opens the browser and serves. */
static int run_server(const struct serve_options *o, struct httpd *httpd, const char *url_prefix,
                      const char *token, struct err *err)
{
    char *url = NULL, *launcher = NULL;
    if (asprintf(&url, "%s:%u%s%stoken=%s", url_prefix, httpd_port(httpd), o->path,
                 strchr(o->path, '?') ? "&" : "?", token) < 0)
        return err_nomem(err);
    printf("%s\n", url);
    int rc = standard_stream_flush(stdout, err);
    if (rc == 0) {
        open_browser(o, url, &launcher);
        rc = httpd_run(httpd, signals_cancel_fd(), err);
    }
    if (launcher)
        unlink(launcher);
    free(launcher);
    free(url);
    return rc < 0 ? -1 : err_set(err, ERR_CANCELLED, "interrupted");
}

int serve_pages(const struct serve_options *options, struct err *err)
{
    char token[2 * TOKEN_BYTES + 1], own_name[256] = "", prefix[300];
    struct address a;
    struct httpd *httpd = NULL;
    if (parse_address(options->address, &a, err) < 0 || make_token(token, err) < 0)
        return -1;
    bool local = address_is_loopback(a.host), everywhere = is_wildcard(a.host);
    if (gethostname(own_name, sizeof own_name - 1) < 0)
        own_name[0] = '\0';
    const char *names[] = {a.host, everywhere && *own_name ? own_name : NULL, NULL};
    const char *shown = everywhere && *own_name ? own_name : a.host;
    snprintf(prefix, sizeof prefix, strchr(shown, ':') ? "http://[%s]" : "http://%s", shown);
    const struct httpd_options o = {.routes = options->routes,
                                    .ctx = options->ctx,
                                    .limits = HTTPD_LIMITS,
                                    .host_names = names,
                                    .accepts_addresses = !local,
                                    .token = token,
                                    .title = options->title};
    int rc = httpd_new(&o, &httpd, err);
    if (rc == 0)
        rc = httpd_listen(httpd, a.host, a.port, err);
    if (rc == 0 && httpd_listens_beyond_loopback(httpd))
        message_print(
            "warning: other machines can connect to %s, and nothing encrypts the connection; only the token "
            "keeps them from the profiles",
            a.host);
    if (rc == 0)
        rc = run_server(options, httpd, prefix, token, err);
    httpd_free(httpd);
    return rc;
}
