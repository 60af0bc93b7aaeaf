#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pprof/out.h"
#include "base/banned.h"

/* Sets each member by itself: clearing the whole struct would write 16 pages of `block` that a small report
 * does not use. */
void out_init(struct out *o, report_sink_fn *sink, void *ctx, struct err *err)
{
    o->sink = sink;
    o->ctx = ctx;
    o->err = err;
    o->n = 0;
    o->failed = false;
}

static void flush_block(struct out *o)
{
    if (!o->failed && o->n && o->sink(o->ctx, o->block, o->n, o->err) < 0)
        o->failed = true;
    o->n = 0;
}

void out_add(struct out *o, const void *p, size_t n)
{
    const char *from = p;
    while (n > sizeof o->block - o->n) {
        size_t fits = sizeof o->block - o->n;
        memcpy(o->block + o->n, from, fits);
        o->n += fits;
        from += fits;
        n -= fits;
        flush_block(o);
    }
    memcpy(o->block + o->n, from, n);
    o->n += n;
}

void out_str(struct out *o, struct str s)
{
    out_add(o, s.p, s.n);
}

void out_text(struct out *o, const char *s)
{
    out_add(o, s, strlen(s));
}

/* The length of the character at p; 1 if it is invalid. */
static size_t character_length(const char *p, size_t n)
{
    uint32_t c;
    size_t length = text_decode(p, n, &c);
    return length ? length : 1;
}

size_t out_columns(struct str s)
{
    size_t columns = 0;
    for (size_t at = 0; at < s.n; columns++)
        at += character_length(s.p + at, s.n - at);
    return columns;
}

void out_json(struct out *o, struct str s)
{
    out_text(o, "\"");
    for (size_t at = 0, n; at < s.n; at += n) {
        const unsigned char *c = (const unsigned char *)s.p + at;
        n = character_length(s.p + at, s.n - at);
        if (*c < ' ')
            out_format(o, "\\u%04x", *c);
        else if (n == 1 && *c >= 0x80)
            out_text(o, "\\ufffd");
        else if (*c == '"' || *c == '\\')
            out_format(o, "\\%c", *c);
        else
            out_add(o, c, n);
    }
    out_text(o, "\"");
}

void out_right(struct out *o, size_t columns, struct str s)
{
    for (size_t n = out_columns(s); n < columns; n++)
        out_add(o, " ", 1);
    out_str(o, s);
}

void out_format(struct out *o, const char *fmt, ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0)
        out_add(o, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

int out_end(struct out *o)
{
    flush_block(o);
    return o->failed ? -1 : 0;
}
