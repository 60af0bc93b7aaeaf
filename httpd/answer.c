/* Answers: headers, conditions, ranges, compression. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <event2/http.h>
#include <event2/http_struct.h>

#include "httpd/body.h"
#include "httpd/range.h"
#include "httpd/request.h"
#include "base/banned.h"

/* A smaller body is not compressed: it fits into one packet. */
#define COMPRESS_MIN 1200
/* A body of this size is copied into the output at once, with its headers. */
#define SMALL_BODY ((uint64_t)65536)
#define TEXT_MAX 8192

/* ---- headers ------------------------------------------------------------------------------------------- */

static void set_header(struct httpd_request *r, const char *name, const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(r->ev), name, value);
}

static void set_number(struct httpd_request *r, const char *name, uint64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, n);
    set_header(r, name, text);
}

/* Sets Content-Disposition. Other bytes than visible ASCII without quotes become underscores in the name. */
static void set_download(struct httpd_request *r, const char *name)
{
    char text[300];
    int n = snprintf(text, sizeof text, "attachment; filename=\"%.255s\"", name);
    for (int i = (int)strlen("attachment; filename=\""); i < n - 1; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            text[i] = '_';
    set_header(r, "Content-Disposition", text);
}

static void set_common_headers(struct httpd_request *r, const struct httpd_answer *a)
{
    if (a->type)
        set_header(r, "Content-Type", a->type);
    set_header(r, "Content-Security-Policy", a->policy ? a->policy : HTTPD_CLOSED_POLICY);
    set_header(r, "X-Content-Type-Options", "nosniff");
    set_header(r, "Referrer-Policy", "same-origin");
    set_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    set_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    set_header(r, "Cache-Control", a->etag ? "private, no-cache" : "no-store");
    if (a->download)
        set_download(r, a->download);
    if (a->compress)
        set_header(r, "Vary", "Accept-Encoding");
    if (r->server->stopping || r->connection->ends)
        set_header(r, "Connection", "close");
}

/* ---- conditions ---------------------------------------------------------------------------------------- */

/* Returns the next element of a header's list, without blanks around it, and moves *rest. Empty at the end.
 */
static struct str next_element(const char **rest)
{
    const char *p = *rest + strspn(*rest, ", \t");
    size_t n = strcspn(p, ",");
    *rest = p + n;
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    return (struct str){p, n};
}

/* Returns whether a header with a list of tags has the tag. `weak`: W/"tag" counts too. */
static bool has_tag(const char *list, const char *tag, bool weak)
{
    size_t n = strlen(tag);
    for (struct str e; list && (e = next_element(&list)).n > 0;) {
        if (weak && str_is(e, "*"))
            return true;
        if (weak && str_begins(e, "W/"))
            e = (struct str){e.p + 2, e.n - 2};
        if (e.n == n + 2 && e.p[0] == '"' && e.p[n + 1] == '"' && memcmp(e.p + 1, tag, n) == 0)
            return true;
    }
    return false;
}

/* Returns whether a coding of Accept-Encoding has a weight of 0. */
static bool is_excluded(struct str coding)
{
    const char *q = memchr(coding.p, ';', coding.n);
    if (!q)
        return false;
    struct str weight = {q + 1, coding.n - (size_t)(q + 1 - coding.p)};
    while (weight.n > 0 && (*weight.p == ' ' || *weight.p == '\t'))
        weight = (struct str){weight.p + 1, weight.n - 1};
    if (weight.n < 3 || strncasecmp(weight.p, "q=0", 3) != 0)
        return false;
    for (size_t i = 3; i < weight.n; i++)
        if (weight.p[i] != '0' && weight.p[i] != '.')
            return false;
    return true;
}

static bool accepts_gzip(const struct httpd_request *r)
{
    const char *list = httpd_header(r, "Accept-Encoding");
    bool any = false;
    for (struct str e; list && (e = next_element(&list)).n > 0;) {
        const char *end = memchr(e.p, ';', e.n);
        struct str name = str_trim((struct str){e.p, end ? (size_t)(end - e.p) : e.n});
        if (name.n == 4 && strncasecmp(name.p, "gzip", 4) == 0)
            return !is_excluded(e);
        any = any || (str_is(name, "*") && !is_excluded(e));
    }
    return any;
}

/* ---- sending ------------------------------------------------------------------------------------------- */

static void done(struct evhttp_request *ev, void *ctx)
{
    (void)ev;
    request_end(ctx);
}

static void release_source(struct body_source *s)
{
    fd_close(&s->fd);
    free(s->data);
    s->data = NULL;
}

/* Sends status and headers without a body. */
static void send_headers(struct httpd_request *r, int status, struct body_source *s)
{
    release_source(s);
    evhttp_send_reply(r->ev, status, NULL, NULL);
}

/* Sends a part of a file with sendfile(2), which needs no memory. Takes the descriptor. */
static void send_file(struct httpd_request *r, int status, struct body_source *s)
{
    struct evbuffer *body = evbuffer_new();
    struct evbuffer_file_segment *segment =
        evbuffer_file_segment_new(s->fd, (ev_off_t)s->at, (ev_off_t)s->n, EVBUF_FS_CLOSE_ON_FREE);
    if (segment)
        s->fd = -1; /* the segment owns it */
    bool added = body && segment && evbuffer_set_flags(body, EVBUFFER_FLAG_DRAINS_TO_FD) == 0;
    if (added && evbuffer_add_file_segment(body, segment, 0, (ev_off_t)s->n) < 0) {
        segment = NULL; /* libevent has freed it */
        added = false;
    }
    if (added)
        evhttp_send_reply(r->ev, status, NULL, body);
    else
        evhttp_connection_free(evhttp_request_get_connection(r->ev));
    release_source(s);
    if (segment)
        evbuffer_file_segment_free(segment);
    if (body)
        evbuffer_free(body);
}

static void send_small(struct httpd_request *r, int status, struct body_source *s)
{
    int rc = evbuffer_add(evhttp_request_get_output_buffer(r->ev), s->data + s->at, (size_t)s->n);
    release_source(s);
    if (rc < 0)
        evhttp_connection_free(evhttp_request_get_connection(r->ev));
    else
        evhttp_send_reply(r->ev, status, NULL, NULL);
}

static void send_body(struct httpd_request *r, int status, struct body_source *s)
{
    bool is_head = evhttp_request_get_command(r->ev) == EVHTTP_REQ_HEAD;
    if (s->gzip)
        set_header(r, "Content-Encoding", "gzip");
    else
        set_number(r, "Content-Length", s->n);
    if (is_head || (s->n == 0 && !s->gzip))
        send_headers(r, status, s);
    else if (s->fd >= 0 && !s->gzip && !r->server->tls)
        send_file(r, status, s);
    else if (s->fd < 0 && !s->gzip && s->n <= SMALL_BODY)
        send_small(r, status, s);
    else
        body_send(r, status, s);
}

/* Chooses the part of the body that the request asks for. Returns the status. */
static int choose_range(struct httpd_request *r, const struct httpd_answer *a, struct body_source *s)
{
    const char *if_range = httpd_header(r, "If-Range");
    uint64_t size = s->n, first = 0, n = 0;
    if (if_range && !(a->etag && has_tag(if_range, a->etag, false)))
        return 200;
    char text[80];
    switch (range_parse(httpd_header(r, "Range"), size, &first, &n)) {
    case RANGE_PART:
        snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first, first + n - 1, size);
        s->at = first;
        s->n = n;
        break;
    case RANGE_UNSATISFIABLE:
        snprintf(text, sizeof text, "bytes */%" PRIu64, size);
        break;
    case RANGE_NONE:
    default:
        return 200;
    }
    set_header(r, "Content-Range", text);
    return s->n == n && n > 0 ? 206 : 416;
}

/* Sets the tag: the compressed body has another one, because its bytes differ. Returns whether the client has
 * the body. */
static bool set_tag(struct httpd_request *r, const char *etag, bool gzip)
{
    char tag[200];
    snprintf(tag, sizeof tag, "%.180s%s", etag, gzip ? "-gzip" : "");
    char quoted[210];
    snprintf(quoted, sizeof quoted, "\"%s\"", tag);
    set_header(r, "ETag", quoted);
    return has_tag(httpd_header(r, "If-None-Match"), tag, true);
}

/* Answers with a source, which it takes. */
static void answer(struct httpd_request *r, const struct httpd_answer *a, struct body_source *s)
{
    int status = a->status;
    request_stop_waiting(r);
    if (r->answered) {
        release_source(s);
        return;
    }
    r->answered = true;
    evhttp_request_set_on_complete_cb(r->ev, done, r);
    set_common_headers(r, a);
    bool is_get = evhttp_request_get_command(r->ev) == EVHTTP_REQ_GET;
    bool has_range = status == 200 && is_get && httpd_header(r, "Range");
    /* Before HTTP/1.1 nothing tells the end of a body without a length. */
    s->gzip = a->compress && status == 200 && !has_range && s->n >= COMPRESS_MIN && r->ev->major == 1 &&
              r->ev->minor >= 1 && accepts_gzip(r);
    if (status == 200 && r->method == HTTPD_GET) {
        set_header(r, "Accept-Ranges", "bytes");
        if (a->etag && set_tag(r, a->etag, s->gzip)) {
            send_headers(r, 304, s);
            return;
        }
        if (has_range)
            status = choose_range(r, a, s);
    }
    if (status == 416)
        s->n = 0;
    send_body(r, status, s);
}

void httpd_answer_bytes(struct httpd_request *request, const struct httpd_answer *a, const void *p, size_t n)
{
    struct body_source s = {.fd = -1, .data = malloc(n + 1), .n = n};
    request_stop_waiting(request);
    if (!s.data) {
        evhttp_connection_free(request->connection->evcon);
        return;
    }
    memcpy(s.data, p, n);
    answer(request, a, &s);
}

void httpd_answer_file(struct httpd_request *request, const struct httpd_answer *a, int fd, uint64_t size)
{
    struct body_source s = {.fd = fd, .n = size};
    answer(request, a, &s);
}

void httpd_answer_text(struct httpd_request *request, int status, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    httpd_answer_bytes(request, &(struct httpd_answer){.status = status, .type = "text/plain; charset=utf-8"},
                       text, strlen(text));
}

void httpd_answer_redirect(struct httpd_request *request, int status, const char *to)
{
    struct buf location = BUF_INIT(request->server->options.limits.header_bytes + 1024);
    const char *query = httpd_query_string(request);
    buf_addf(&location, "%s%s%s", to, *query ? "?" : "", query);
    if (buf_check(&location, "the address", NULL) == 0)
        set_header(request, "Location", buf_str(&location));
    httpd_answer_text(request, status, "%s\n", to);
    buf_release(&location);
}
