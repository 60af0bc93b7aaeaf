#include "fetch/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fetch/html.h"
#include "base/banned.h"

#define INFLATE_MAX (UINT64_C(4) << 30)
#define HEAD_SIZE 512

/* runtime.Stack's buffer in net/http/pprof does not grow beyond this; what does not fit is left out. */
#define SERVER_TEXT_MAX (UINT64_C(64) << 20)

struct check {
    enum check_format format;
    uint64_t size;
    char head[HEAD_SIZE]; /* of the body; of what it inflates to, if it is gzip */
    size_t head_len;
    struct profile_scan *scan; /* CHECK_PPROF */
    struct gunzip *gunzip;
    bool is_gzip;
    struct trace_scan *trace; /* CHECK_TRACE */
    bool failed;              /* `why` says what gunzip or a scan found first */
    struct err why;
    bool stopped; /* nothing more to learn from the rest */
    bool has_nul; /* CHECK_TEXT */
    uint64_t nul_at;
    char last;
};

static void head_add(struct check *c, const void *p, size_t n)
{
    size_t room = HEAD_SIZE - c->head_len;
    if (n > room)
        n = room;
    memcpy(c->head + c->head_len, p, n);
    c->head_len += n;
}

/* Does not stop at the scanner's failure before the head is whole: from it the verdict says what this is. */
static int take_inflated(void *ctx, const void *p, size_t n, struct err *err)
{
    struct check *c = ctx;
    (void)err;
    head_add(c, p, n);
    if (!c->failed && profile_scan_feed(c->scan, p, n, &c->why))
        c->failed = true;
    return c->failed && c->head_len == HEAD_SIZE ? -1 : 0;
}

static int readers_new(struct check *c, struct err *err)
{
    if (c->format == CHECK_TRACE) {
        c->trace = trace_scan_new(err);
        return c->trace ? 0 : -1;
    }
    if (c->format != CHECK_PPROF)
        return 0;
    c->scan = profile_scan_new(err);
    c->gunzip = c->scan ? gunzip_new(take_inflated, c, INFLATE_MAX, err) : NULL;
    return c->gunzip ? 0 : -1;
}

struct check *check_new(enum check_format format, struct err *err)
{
    struct check *c = calloc(1, sizeof *c);
    if (!c) {
        err_nomem(err);
        return NULL;
    }
    c->format = format;
    if (readers_new(c, err)) {
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

/* ---- feeding ------------------------------------------------------------------------------------------- */

static int pprof_feed(struct check *c, const void *p, size_t n, struct err *err)
{
    /* gzip's first byte cannot begin a profile: it would be a field of wire type 7. */
    if (c->size == 0)
        c->is_gzip = *(const unsigned char *)p == 0x1f;
    if (c->stopped)
        return 0;
    struct err why = ERR_INIT;
    int rc = c->is_gzip ? gunzip_feed(c->gunzip, p, n, &why) : take_inflated(c, p, n, &why);
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

static void text_feed(struct check *c, const char *p, size_t n)
{
    const char *nul = c->has_nul ? NULL : memchr(p, '\0', n);
    if (nul) {
        c->has_nul = true;
        c->nul_at = c->size + (uint64_t)(nul - p);
    }
    c->last = p[n - 1];
}

int check_feed(struct check *c, const void *p, size_t n, struct err *err)
{
    int rc = 0;
    if (n == 0)
        return 0;
    if (c->format == CHECK_PPROF)
        rc = pprof_feed(c, p, n, err);
    else
        head_add(c, p, n);
    /* What is wrong with a trace the end says. */
    if (c->format == CHECK_TRACE)
        trace_scan_feed(c->trace, p, n, NULL);
    if (c->format == CHECK_TEXT)
        text_feed(c, p, n);
    c->size += n;
    return rc;
}

/* ---- what it looks like -------------------------------------------------------------------------------- */

/* Whether the beginning reads as text: no control characters but white space. */
static bool head_is_text(const struct check *c)
{
    for (size_t i = 0; i < c->head_len; i++) {
        unsigned char ch = (unsigned char)c->head[i];
        if (ch == 0x7f || (ch < 0x20 && !isspace(ch)))
            return false;
    }
    return c->head_len > 0;
}

static int html_error(const struct check *c, const char *wanted, struct err *err)
{
    char title[120];
    if (*html_title(c->head, c->head_len, title, sizeof title))
        err_set(err, ERR_FAILED, "this is an HTML page titled \"%s\", not %s", title, wanted);
    else
        err_set(err, ERR_FAILED, "this is HTML, not %s", wanted);
    return err_hint(err, "does it want a login (`auth:` in the inventory), or is another program there?");
}

/* The usual cause of a bad body is an answer of another kind: says so, or else leaves err as it is. */
static int wrong_answer(const struct check *c, const char *wanted, const struct check_result *result,
                        struct err *err)
{
    if (html_is_page(c->head, c->head_len))
        return html_error(c, wanted, err);
    if (result->beginning[0])
        return err_set(err, ERR_FAILED, "this is text, not %s: %s", wanted, result->beginning);
    return -1;
}

/* ---- verdicts ------------------------------------------------------------------------------------------ */

static int pprof_finish(struct check *c, struct check_result *result, struct err *err)
{
    struct err scan_err = ERR_INIT;
    if (!c->failed && c->is_gzip && gunzip_finish(c->gunzip, &c->why))
        c->failed = true;
    /* Also after gunzip failed: garbage behind a whole profile leaves its numbers known. */
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
    return wrong_answer(c, "a profile", result, err);
}

static int trace_finish(struct check *c, struct check_result *result, struct err *err)
{
    struct trace_summary sum;
    size_t begins = c->head_len < 5 ? c->head_len : 5;
    if (trace_header(c->head, c->head_len, &result->trace_minor, err))
        return memcmp(c->head, "go 1.", begins) == 0 ? -1 : wrong_answer(c, "a trace", result, err);
    return trace_scan_finish(c->trace, &sum, err);
}

static int text_finish(const struct check *c, struct err *err)
{
    if (html_is_page(c->head, c->head_len))
        return html_error(c, "plain text", err);
    if (c->has_nul)
        return err_set(err, ERR_FAILED, "this is no text: byte %llu is a NUL", (unsigned long long)c->nul_at);
    if (c->last != '\n')
        return err_set(err, ERR_FAILED, "the text is cut off in the middle of a line%s",
                       c->size == SERVER_TEXT_MAX ? ": cut by the server at 64 MiB" : "");
    if (c->size == SERVER_TEXT_MAX)
        return err_set(err, ERR_FAILED, "the text is cut off: cut by the server at 64 MiB");
    return 0;
}

int check_finish(struct check *c, struct check_result *ret, struct err *err)
{
    *ret = (struct check_result){0};
    if (c->size == 0)
        return err_set(err, ERR_FAILED, "the body is empty");
    if (head_is_text(c))
        text_printable(ret->beginning, sizeof ret->beginning, c->head, c->head_len);
    switch (c->format) {
    case CHECK_PPROF:
        return pprof_finish(c, ret, err);
    case CHECK_TRACE:
        return trace_finish(c, ret, err);
    case CHECK_TEXT:
        return text_finish(c, err);
    default:
        return 0;
    }
}
