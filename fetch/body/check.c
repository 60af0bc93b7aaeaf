#include "fetch/body/check.h"

#include <stdlib.h>
#include <string.h>

#include "fetch/body/format.h"
#include "base/banned.h"

/* A gzip'ed body may inflate to 128 MiB plus 64 times the bytes received so far, and to 4 GiB at most. Real
 * profiles inflate to ten times their size. Without the ratio, a hostile body of 4 MB takes a minute to
 * check. */
#define INFLATE_MAX (UINT64_C(4) << 30)
#define INFLATE_BASE (UINT64_C(128) << 20)
#define INFLATE_RATIO 64
#define HEAD_SIZE 512

/* The buffer for runtime.Stack in net/http/pprof does not grow beyond this; Go drops the rest. */
#define SERVER_TEXT_MAX (UINT64_C(64) << 20)

struct check {
    enum body_format format;
    uint64_t size;
    char head[HEAD_SIZE]; /* of the body; for gzip, of the inflated data */
    size_t head_len;
    struct profile_scan *scan; /* BODY_PPROF */
    struct gunzip *gunzip;
    uint64_t inflated_max; /* the limit of `inflated` for the bytes received so far */
    uint64_t inflated;     /* bytes of the inflated data so far; without gzip, of the body */
    bool is_gzip;
    struct trace_scan *trace; /* BODY_TRACE */
    struct check_time time;
    bool is_out_of_time; /* the check ended early; `why` is the reason */
    bool failed;         /* `why` is the first error of gunzip or a scan */
    bool scan_failed;    /* the scan of the profile failed before the end */
    bool gunzipped;      /* the gzip data is whole */
    struct err why;
    bool stopped;     /* the rest of the body cannot change the result */
    bool is_not_gzip; /* the body does not begin as gzip does */
    bool has_nul;     /* this and the next two: BODY_TEXT */
    uint64_t nul_at;  /* the offset of the first NUL */
    char last;        /* the last byte */
};

static void add_to_head(struct check *c, const void *p, size_t n)
{
    size_t room = HEAD_SIZE - c->head_len;
    if (n > room)
        n = room;
    memcpy(c->head + c->head_len, p, n);
    c->head_len += n;
}

/* Scans a piece of the profile. After a failure of the scan, returns 0 until the head is complete, because
 * the error describes the head. */
static int feed_inflated(void *ctx, const void *p, size_t n, struct err *err)
{
    struct check *c = ctx;
    c->inflated += n;
    if (c->is_gzip && c->inflated > c->inflated_max)
        return err_set(err, ERR_FAILED,
                       "it inflates to more than 128 MiB plus %d times its size, as no real profile does",
                       INFLATE_RATIO);
    add_to_head(c, p, n);
    if (!c->failed && check_time_count(&c->time, err) < 0) {
        c->is_out_of_time = true;
        return -1;
    }
    if (!c->failed && profile_scan_feed(c->scan, p, n, &c->why))
        c->failed = c->scan_failed = true;
    return c->failed && c->head_len == HEAD_SIZE ? -1 : 0;
}

static int create_readers(struct check *c, struct err *err)
{
    if (c->format == BODY_TRACE) {
        c->trace = trace_scan_new(err);
        return c->trace ? 0 : -1;
    }
    if (c->format != BODY_PPROF)
        return 0;
    c->scan = profile_scan_new(err);
    c->gunzip = c->scan ? gunzip_new(feed_inflated, c, INFLATE_MAX, err) : NULL;
    return c->gunzip ? 0 : -1;
}

struct check *check_new(enum body_format format, struct err *err)
{
    struct check *c = calloc(1, sizeof *c);
    if (!c) {
        err_nomem(err);
        return NULL;
    }
    c->format = format;
    if (create_readers(c, err)) {
        check_free(c);
        return NULL;
    }
    return c;
}

void check_free(struct check *c)
{
    if (!c)
        return;
    gunzip_free(c->gunzip);
    profile_scan_free(c->scan);
    trace_scan_free(c->trace);
    free(c);
}

void check_set_limit(struct check *c, struct check_limit *limit)
{
    c->time.limit = limit;
}

/* ---- feeding ------------------------------------------------------------------------------------------- */

/* Returns whether a piece of the body, at offset `at`, contradicts the first four bytes of gzip (RFC 1952):
 * the magic, deflate, and flags of which three are reserved. */
static bool contradicts_gzip(uint64_t at, const unsigned char *p, size_t n)
{
    static const unsigned char expected[4] = {0x1f, 0x8b, 8, 0}, mask[4] = {0xff, 0xff, 0xff, 0xe0};
    for (size_t i = 0; i < n && at + i < sizeof expected; i++)
        if ((p[i] & mask[at + i]) != expected[at + i])
            return true;
    return false;
}

static int feed_pprof(struct check *c, const void *p, size_t n, struct err *err)
{
    /* gzip's first byte cannot begin a profile, because as a protobuf tag it would have wire type 7. */
    if (c->size == 0)
        c->is_gzip = *(const unsigned char *)p == 0x1f;
    c->is_not_gzip = c->is_not_gzip || contradicts_gzip(c->size, p, n);
    if (c->stopped)
        return 0;
    c->inflated_max = INFLATE_BASE + INFLATE_RATIO * (c->size + n);
    struct err why = ERR_INIT;
    int rc = c->is_gzip ? gunzip_feed(c->gunzip, p, n, &why) : feed_inflated(c, p, n, &why);
    if (rc == 0)
        return 0;
    c->stopped = true;
    if (!c->failed)
        c->why = why;
    c->failed = true;
    if (c->why.kind == ERR_FAILED)
        return 0;
    if (err)
        *err = c->why;
    return -1;
}

static void feed_text(struct check *c, const char *p, size_t n)
{
    const char *nul = c->has_nul ? NULL : memchr(p, '\0', n);
    if (nul) {
        c->has_nul = true;
        c->nul_at = c->size + (uint64_t)(nul - p);
    }
    c->last = p[n - 1];
}

/* Checks the next piece of a profile or a trace, unless the limit of time is exceeded. */
static int feed_limited(struct check *c, const void *p, size_t n, struct err *err)
{
    int rc = 0;
    if (c->is_out_of_time)
        return 0;
    check_time_begin(&c->time, n);
    if (c->format == BODY_PPROF)
        rc = feed_pprof(c, p, n, err);
    else
        trace_scan_feed(c->trace, p, n, NULL); /* trace_scan_finish reports the errors */
    struct err why = ERR_INIT;
    bool is_over = check_time_count(&c->time, &why) < 0;
    if (rc == 0 && !c->failed && is_over) {
        c->failed = c->stopped = c->is_out_of_time = true;
        c->why = why;
    }
    return rc;
}

int check_feed(struct check *c, const void *p, size_t n, struct err *err)
{
    int rc = 0;
    if (n == 0)
        return 0;
    if (c->format != BODY_PPROF)
        add_to_head(c, p, n);
    if (c->format == BODY_PPROF || c->format == BODY_TRACE)
        rc = feed_limited(c, p, n, err);
    else if (c->format == BODY_TEXT)
        feed_text(c, p, n);
    c->size += n;
    return rc;
}

/* ---- other formats ------------------------------------------------------------------------------------- */

static int set_html_error(const struct check *c, const char *expected, struct err *err)
{
    char title[120];
    if (*format_html_title(c->head, c->head_len, title, sizeof title))
        err_set(err, ERR_FAILED, "this is an HTML page titled \"%s\", not %s", title, expected);
    else
        err_set(err, ERR_FAILED, "this is HTML, not %s", expected);
    return err_hint(err, "does it want a login (`auth:` in the inventory), or is another program there?");
}

/* Sets the error for the usual cause of a bad body: the service sent another format. Adds the error of the
 * scan if the format is unknown. Returns -1. */
static int explain_other_format(const struct check *c, const char *expected, struct check_result *result,
                                struct err *err)
{
    const char *what = format_name(c->head, c->head_len), *gzip = c->is_gzip ? "gzip of " : "";
    struct err detail = err ? *err : (struct err)ERR_INIT;
    result->has_other_format = true;
    if (format_is_html(c->head, c->head_len))
        return set_html_error(c, expected, err);
    if (c->is_gzip && c->head_len == 0 && c->gunzipped)
        return err_set(err, ERR_FAILED, "this is gzip of nothing, not %s", expected);
    if (what && result->beginning[0])
        return err_set(err, ERR_FAILED, "this is %s%s, not %s: %s", gzip, what, expected, result->beginning);
    if (what)
        return err_set(err, ERR_FAILED, "this is %s%s, not %s", gzip, what, expected);
    return err_set(err, ERR_FAILED, "this is not %s: %.300s", expected, detail.msg);
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* Returns whether a body that failed the check has another format, and is not a damaged profile. Every
 * profile begins with its sample types, as field 1. Cut-off gzip may contain a profile. Other bytes without a
 * whole sample type, or with sample types only, do not count as a profile. */
static bool is_other_format(const struct check *c)
{
    bool whole = !c->is_gzip || c->gunzipped;
    if (c->head_len == 0)
        return c->gunzipped || c->is_not_gzip;
    /* A line feed at the beginning of text equals the tag of field 1. */
    if (format_is_text(c->head, c->head_len))
        return true;
    if (profile_scan_has_type(c->scan))
        return whole && !c->scan_failed && !profile_scan_has_data(c->scan);
    return whole || c->scan_failed || c->head[0] != 0x0a;
}

static int finish_pprof(struct check *c, struct check_result *result, struct err *err)
{
    struct err scan_err = ERR_INIT;
    if (!c->failed && c->is_gzip) {
        c->failed = gunzip_finish(c->gunzip, &c->why) < 0;
        c->gunzipped = !c->failed;
    }
    /* Scan even if gunzip failed, because garbage behind a whole profile does not change its numbers. */
    if (profile_scan_finish(c->scan, &result->profile, &scan_err) == 0)
        result->has_profile = true;
    else if (!c->failed) {
        c->failed = true;
        c->why = scan_err;
    }
    if (!c->failed)
        return 0;
    if (err)
        *err = c->why;
    return is_other_format(c) ? explain_other_format(c, "a profile", result, err) : -1;
}

static int finish_trace(struct check *c, struct check_result *result, struct err *err)
{
    struct trace_summary summary;
    size_t prefix_size = c->head_len < 5 ? c->head_len : 5;
    if (trace_parse_header(c->head, c->head_len, &result->trace_minor, err))
        return memcmp(c->head, "go 1.", prefix_size) == 0 ? -1
                                                          : explain_other_format(c, "a trace", result, err);
    return trace_scan_finish(c->trace, &summary, err);
}

static int finish_text(const struct check *c, struct check_result *result, struct err *err)
{
    const char *what = format_name(c->head, c->head_len);
    bool binary = what && !format_is_text(c->head, c->head_len);
    if (binary || format_is_html(c->head, c->head_len))
        return explain_other_format(c, "plain text", result, err);
    result->has_other_format = c->has_nul;
    if (c->has_nul)
        return err_set(err, ERR_FAILED, "this is no text: byte %llu is a NUL", (unsigned long long)c->nul_at);
    if (c->last != '\n')
        return err_set(err, ERR_FAILED, "the text is cut off in the middle of a line%s",
                       c->size == SERVER_TEXT_MAX ? ": cut by the server at 64 MiB" : "");
    if (c->size == SERVER_TEXT_MAX)
        return err_set(err, ERR_FAILED, "the text is cut off: cut by the server at 64 MiB");
    return 0;
}

static int finish_raw(const struct check *c, struct check_result *result, struct err *err)
{
    if (!format_is_html(c->head, c->head_len))
        return 0;
    explain_other_format(c, "what was asked for", result, err);
    return err_hint(err, "is the path right? a program may answer every path with one page, or want a login "
                         "(`auth:` in the inventory)");
}

int check_finish(struct check *c, struct check_result *ret, struct err *err)
{
    *ret = (struct check_result){0};
    if (c->size == 0)
        return err_set(err, ERR_FAILED, "the body is empty");
    if (format_is_text(c->head, c->head_len))
        text_printable(ret->beginning, sizeof ret->beginning, c->head, c->head_len);
    if (c->is_out_of_time) {
        if (err)
            *err = c->why;
        return -1;
    }
    switch (c->format) {
    case BODY_PPROF:
        return finish_pprof(c, ret, err);
    case BODY_TRACE:
        return finish_trace(c, ret, err);
    case BODY_TEXT:
        return finish_text(c, ret, err);
    case BODY_RAW:
        return finish_raw(c, ret, err);
    case BODY_ANY:
        break;
    }
    return 0;
}
