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

__attribute__((format(printf, 2, 3))) static void print_about(const struct forward_way *w, const char *fmt,
                                                              ...)
{
    char text[2000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    message_print("%s: %s: %s", w->target->host->name, w->target->service->name, text);
}

/* The URL of the pprof page for programs on this workstation. */
static char *url_of(const struct forward_way *w, char *dst, size_t cap)
{
    const struct service *s = w->target->service;
    const struct local_address *a = &w->listener.address;
    char reach[LOCAL_ADDRESS_NAME];
    snprintf(dst, cap, "%s://%s%s/", s->https ? "https" : "http",
             a->path[0] ? "localhost" : local_address_client_name(a, reach), s->path);
    return dst;
}

static int print_json(const struct forward_way *w)
{
    const struct local_address *a = &w->listener.address;
    const struct service *s = w->target->service;
    char url[700];
    json_t *o = json_pack("{s:s, s:s, s:s}", "host", w->target->host->name, "service", s->name, "url",
                          url_of(w, url, sizeof url));
    if (o && a->path[0])
        json_object_set_new(o, "socket", json_string(a->path));
    else if (o)
        json_object_update_new(o, json_pack("{s:s, s:i}", "address", a->ip, "port", (int)a->port));
    int rc = o && json_dumpf(o, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF ? 0 : -1;
    json_decref(o);
    return rc;
}

static int print_places(const struct forward_messages *t, struct err *err)
{
    int failed = 0;
    char url[700];
    for (size_t i = 0; i < t->n; i++) {
        const struct forward_way *w = &t->ways[i];
        const char *path = w->listener.address.path;
        if (t->json)
            failed |= print_json(w) < 0;
        else
            failed |= printf("%s\n", path[0] ? path : url_of(w, url, sizeof url)) < 0;
    }
    int rc = standard_stream_flush(stdout, err);
    return failed && rc == 0 ? err_nomem(err) : rc;
}

static void print_listener(const struct forward_way *w, bool quiet)
{
    const struct local_address *a = &w->listener.address;
    char where[LOCAL_ADDRESS_NAME];
    local_address_name(a, where);
    if (!local_address_is_private(a))
        print_about(
            w,
            "WARNING: listening on %s: any host that can reach this workstation over the network can read "
            "these profiles",
            where);
    else if (!quiet)
        print_about(w, "listening on %s, for %s", where,
                    a->path[0] ? "your own programs only" : "programs on this workstation only");
}

/* The Host header that the service requires: the inventory's, or, for caddy's administration port, the
 * service's own address, because caddy refuses others. NULL: any header works. */
static const char *required_host(const struct forward_way *w, char *dst, size_t cap)
{
    const struct service *s = w->target->service;
    const struct local_address *a = &w->listener.address;
    bool caddy = strstr(s->name, "caddy") || s->port == CADDY_ADMIN_PORT;
    if (s->host_header || !caddy || s->https || a->path[0] || !s->port || a->port == s->port)
        return s->host_header;
    snprintf(dst, cap, "%s:%u", s->host, s->port);
    return dst;
}

/* Adds a command line that fetches a profile through the forward. */
static void add_example(struct buf *b, const struct forward_way *w)
{
    char header[300], sent[320];
    const char *host = required_host(w, header, sizeof header);
    struct service seen = *w->target->service;
    const struct local_address *a = &w->listener.address;
    char url[720], page[700], reach[LOCAL_ADDRESS_NAME];
    url_of(w, page, sizeof page);
    snprintf(url, sizeof url, "%sheap", page);
    if (a->path[0]) {
        buf_adds(b, "curl --unix-socket ");
        quote_add_word(b, a->path);
    } else if (seen.https) {
        /* Use the service's own name, because its certificate has it. */
        seen.host = seen.tls.server_name ? seen.tls.server_name : seen.host;
        fetch_service_url(&seen, page, sizeof page);
        snprintf(url, sizeof url, "%s/heap", page);
        buf_addf(b, "curl --connect-to ::%s", local_address_client_name(a, reach));
    } else if (host) {
        buf_adds(b, "curl");
    } else {
        snprintf(url, sizeof url, "%sprofile", page);
        buf_adds(b, "go tool pprof ");
        quote_add_word(b, url);
        return;
    }
    if (host) {
        snprintf(sent, sizeof sent, "Host: %s", host);
        buf_adds(b, " -H ");
        quote_add_word(b, sent);
    }
    buf_adds(b, " -o heap.pb.gz ");
    quote_add_word(b, url);
}

/* forward carries bytes unchanged: the client itself must handle TLS, secrets and the Host header. */
static void print_usage(const struct forward_way *w)
{
    const struct service *s = w->target->service;
    struct buf example = BUF_INIT(2000);
    char header[300];
    const char *host = required_host(w, header, sizeof header);
    add_example(&example, w);
    print_about(w, "try: %s", buf_str(&example));
    if (s->https)
        print_about(
            w, "TLS ends in the service, and its certificate hardly names an address of this workstation");
    if (s->auth.secret.source != SECRET_NONE)
        print_about(w, "the service requires a secret: forward adds none, so each client must send it");
    if (host)
        print_about(w,
                    "the service expects \"Host: %s\": the forward adds no header, each client must send it; "
                    "`go tool "
                    "pprof` cannot%s",
                    host, s->host_header ? "" : ", unless the forward listens on the service's own port");
    buf_release(&example);
}

int forward_messages_announce(const struct forward_messages *t, struct err *err)
{
    bool quiet = t->quiet;
    if (print_places(t, err) < 0)
        return -1;
    for (size_t i = 0; i < t->n; i++) {
        print_listener(&t->ways[i], quiet);
        if (!quiet)
            print_usage(&t->ways[i]);
    }
    return 0;
}

/* Checks whether the message differs from the last one, and stores it. */
static bool is_new_failure(char complaint[512], const char *msg)
{
    bool news = strcmp(complaint, msg) != 0;
    snprintf(complaint, 512, "%s", msg);
    return news;
}

static void print_failure(const struct forward_messages *t, const struct forward_way *w,
                          const struct err *failure)
{
    struct err told = suggest_check(t->way, NULL, t->host, w->target->service, failure);
    err_wrap(&told, "%s: %s: a connection failed", t->host->name, w->target->service->name);
    message_print_error(stderr, &told);
}

static void print_ended(const struct forward_messages *t, struct forward_way *w,
                        const struct forward_event *e)
{
    char sent[32], received[32], took[32];
    bool usual = e->failure && (e->failure->kind == ERR_LOST || e->failure->kind == ERR_CANCELLED);
    if (t->verbose)
        print_about(w, "%s: ended after %s, %s there, %s back%s%s", e->from,
                    text_duration(took, sizeof took, e->ms), text_bytes(sent, sizeof sent, e->sent),
                    text_bytes(received, sizeof received, e->received), e->failure ? ": " : "",
                    e->failure ? e->failure->msg : "");
    else if (e->failure && !usual && is_new_failure(w->complaint, e->failure->msg))
        print_failure(t, w, e->failure);
    if (!e->failure)
        w->complaint[0] = '\0';
}

static void print_session(struct forward_messages *t, const struct forward_event *e)
{
    char ms[32];
    const char *host = t->host->name, *why = e->failure ? e->failure->msg : "";
    text_duration(ms, sizeof ms, e->ms);
    if (t->quiet)
        return;
    if (e->kind == FORWARD_SESSION_LOST)
        message_print("%s: %s; opening another session", host, why);
    else if (e->kind == FORWARD_RECONNECTED)
        message_print("%s: connected again after %s", host, ms);
    else if (is_new_failure(t->complaint, why) || t->verbose)
        message_print("%s: not connected; trying again in %s: %s", host, ms, why);
    if (e->kind != FORWARD_RECONNECT_FAILED)
        t->complaint[0] = '\0';
}

void forward_messages_print_event(void *ctx, const struct forward_event *e)
{
    struct forward_messages *t = ctx;
    switch (e->kind) {
    case FORWARD_CONNECTED:
        if (t->verbose)
            print_about(&t->ways[e->mapping], "%s: connected", e->from);
        break;
    case FORWARD_CLOSED:
        print_ended(t, &t->ways[e->mapping], e);
        break;
    case FORWARD_SESSION_LOST:
    case FORWARD_RECONNECT_FAILED:
    case FORWARD_RECONNECTED:
        print_session(t, e);
        break;
    }
}
