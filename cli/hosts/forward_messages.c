#include "cli/hosts/forward_messages.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/hosts/suggest.h"
#include "cli/args/quote.h"
#include "cli/term/standard_streams.h"
#include "cli/term/message.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* The default port of caddy's administration API. */
#define CADDY_ADMIN_PORT 2019

/* Prints a message on a service. */
__attribute__((format(printf, 2, 3))) static void print_about(const struct forward_service *f,
                                                              const char *fmt, ...)
{
    char text[2000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    message_print("%s: %s: %s", f->target->host->name, f->target->service->name, text);
}

/* Writes the URL by which programs on this workstation reach the pprof page through the forward. Returns dst.
 */
static char *format_url(const struct forward_service *f, char *dst, size_t cap)
{
    const struct service *s = f->target->service;
    const struct local_address *a = &f->listener.address;
    char client_address[LOCAL_ADDRESS_NAME];
    snprintf(dst, cap, "%s://%s%s/", s->https ? "https" : "http",
             a->path[0] ? "localhost" : local_address_client_name(a, client_address), s->path);
    return dst;
}

static int print_json(const struct forward_service *f)
{
    const struct local_address *a = &f->listener.address;
    const struct service *s = f->target->service;
    char url[700];
    json_t *o = json_pack("{s:s, s:s, s:s}", "host", f->target->host->name, "service", s->name, "url",
                          format_url(f, url, sizeof url));
    if (o && a->path[0])
        json_object_set_new(o, "socket", json_string(a->path));
    else if (o)
        json_object_update_new(o, json_pack("{s:s, s:i}", "address", a->ip, "port", (int)a->port));
    int rc = o && json_dumpf(o, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF ? 0 : -1;
    json_decref(o);
    return rc;
}

static int print_addresses(const struct forward_messages *m, struct err *err)
{
    int failed = 0;
    char url[700];
    for (size_t i = 0; i < m->n; i++) {
        const struct forward_service *f = &m->services[i];
        const char *path = f->listener.address.path;
        if (m->json)
            failed |= print_json(f) < 0;
        else
            failed |= printf("%s\n", path[0] ? path : format_url(f, url, sizeof url)) < 0;
    }
    int rc = standard_stream_flush(stdout, err);
    return failed && rc == 0 ? err_nomem(err) : rc;
}

static void print_listener(const struct forward_service *f, bool quiet)
{
    const struct local_address *a = &f->listener.address;
    char where[LOCAL_ADDRESS_NAME];
    local_address_name(a, where);
    if (!local_address_is_private(a))
        print_about(
            f,
            "WARNING: listening on %s: any host that can reach this workstation over the network can read "
            "these profiles",
            where);
    else if (!quiet)
        print_about(f, "listening on %s, for %s", where,
                    a->path[0] ? "your own programs only" : "programs on this workstation only");
}

/* Returns the Host header that the service requires, or NULL if it accepts any. The inventory can set the
 * header. caddy's administration API accepts only the service's own address. */
static const char *find_required_host(const struct forward_service *f, char *dst, size_t cap)
{
    const struct service *s = f->target->service;
    const struct local_address *a = &f->listener.address;
    bool is_caddy = strstr(s->name, "caddy") || s->port == CADDY_ADMIN_PORT;
    if (s->host_header || !is_caddy || s->https || a->path[0] || !s->port || a->port == s->port)
        return s->host_header;
    snprintf(dst, cap, "%s:%u", s->host, s->port);
    return dst;
}

/* Adds a command line that fetches a profile through the forward. */
static void add_example(struct buf *b, const struct forward_service *f)
{
    char header[300], line[320];
    const char *host = find_required_host(f, header, sizeof header);
    struct service service = *f->target->service;
    const struct local_address *a = &f->listener.address;
    char url[720], page[700], client_address[LOCAL_ADDRESS_NAME];
    format_url(f, page, sizeof page);
    snprintf(url, sizeof url, "%sheap", page);
    if (a->path[0]) {
        buf_adds(b, "curl --unix-socket ");
        quote_add_word(b, a->path);
    } else if (service.https) {
        /* Use the service's own name, because the certificate contains that name. */
        service.host = service.tls.server_name ? service.tls.server_name : service.host;
        fetch_service_url(&service, page, sizeof page);
        snprintf(url, sizeof url, "%s/heap", page);
        buf_addf(b, "curl --connect-to ::%s", local_address_client_name(a, client_address));
    } else if (host) {
        buf_adds(b, "curl");
    } else {
        snprintf(url, sizeof url, "%sprofile", page);
        buf_adds(b, "go tool pprof ");
        quote_add_word(b, url);
        return;
    }
    if (host) {
        snprintf(line, sizeof line, "Host: %s", host);
        buf_adds(b, " -H ");
        quote_add_word(b, line);
    }
    buf_adds(b, " -o heap.pb.gz ");
    quote_add_word(b, url);
}

/* Prints an example command. Then prints whether the client must handle TLS, a secret or the Host header,
 * because forward carries bytes unchanged. */
static void print_usage(const struct forward_service *f)
{
    const struct service *s = f->target->service;
    struct buf example = BUF_INIT(2000);
    char header[300];
    const char *host = find_required_host(f, header, sizeof header);
    add_example(&example, f);
    print_about(f, "try: %s", buf_str(&example));
    if (s->https)
        print_about(f, "the client must use TLS, and the service's certificate is not for an address of this "
                       "workstation");
    if (s->auth.secret.kind != SECRET_NONE)
        print_about(f, "the service requires a secret: forward adds none, so each client must send it");
    if (host)
        print_about(f,
                    "the service expects \"Host: %s\": the forward adds no header, each client must send it; "
                    "`go tool "
                    "pprof` cannot%s",
                    host, s->host_header ? "" : ", unless the forward listens on the service's own port");
    buf_release(&example);
}

int forward_messages_announce(const struct forward_messages *m, struct err *err)
{
    bool quiet = m->quiet;
    if (print_addresses(m, err) < 0)
        return -1;
    for (size_t i = 0; i < m->n; i++) {
        print_listener(&m->services[i], quiet);
        if (!quiet)
            print_usage(&m->services[i]);
    }
    return 0;
}

/* Stores the message as the last failure. Returns whether it differs from the failure before. */
static bool replace_last_failure(char last_failure[512], const char *msg)
{
    bool is_new = strcmp(last_failure, msg) != 0;
    snprintf(last_failure, 512, "%s", msg);
    return is_new;
}

static void print_failure(const struct forward_messages *m, const struct forward_service *f,
                          const struct err *failure)
{
    struct err explained = suggest_check(m->options, NULL, m->host, f->target->service, failure);
    err_wrap(&explained, "%s: %s: a connection failed", m->host->name, f->target->service->name);
    message_print_error(stderr, &explained);
}

static void print_ended(const struct forward_messages *m, struct forward_service *f,
                        const struct forward_event *e)
{
    char sent[32], received[32], duration[32];
    bool expected = e->failure && (e->failure->kind == ERR_LOST || e->failure->kind == ERR_CANCELLED);
    if (m->verbose)
        print_about(f, "%s: ended after %s, sent %s, received %s%s%s", e->from,
                    text_duration(duration, sizeof duration, e->ms), text_bytes(sent, sizeof sent, e->sent),
                    text_bytes(received, sizeof received, e->received), e->failure ? ": " : "",
                    e->failure ? e->failure->msg : "");
    else if (e->failure && !expected && replace_last_failure(f->last_failure, e->failure->msg))
        print_failure(m, f, e->failure);
    if (!e->failure)
        f->last_failure[0] = '\0';
}

static void print_session(struct forward_messages *m, const struct forward_event *e)
{
    char ms[32];
    const char *host = m->host->name, *why = e->failure ? e->failure->msg : "";
    text_duration(ms, sizeof ms, e->ms);
    if (m->quiet)
        return;
    if (e->kind == FORWARD_SESSION_LOST)
        message_print("%s: %s; opening another session", host, why);
    else if (e->kind == FORWARD_RECONNECTED)
        message_print("%s: connected again after %s", host, ms);
    else if (replace_last_failure(m->last_failure, why) || m->verbose)
        message_print("%s: not connected; trying again in %s: %s", host, ms, why);
    if (e->kind != FORWARD_RECONNECT_FAILED)
        m->last_failure[0] = '\0';
}

void forward_messages_print_event(void *ctx, const struct forward_event *e)
{
    struct forward_messages *m = ctx;
    switch (e->kind) {
    case FORWARD_CONNECTED:
        if (m->verbose)
            print_about(&m->services[e->mapping], "%s: connected", e->from);
        break;
    case FORWARD_CLOSED:
        print_ended(m, &m->services[e->mapping], e);
        break;
    case FORWARD_SESSION_LOST:
    case FORWARD_RECONNECT_FAILED:
    case FORWARD_RECONNECTED:
        print_session(m, e);
        break;
    }
}
